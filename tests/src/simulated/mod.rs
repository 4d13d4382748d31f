//! Tests on simulated servers: a fleet in a line, a reconciler that writes down what it is asked, a manager that is
//! joined whatever becomes of the test.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
//! use mcrt_tests::simulated::{Recorder, Sims, config};
//!
//! let sims = Sims::of(["a", "b"]);
//! sims.server("a").create(config("first")).unwrap();
//! let seen: Recorder = Recorder::default();
//! sims.manager()
//!     .controller(seen.controller("seen"))
//!     .run(async |running| {
//!         running.until("the object is reconciled", async || seen.expect("a", "first", 1)).await;
//!     })
//!     .await;
//! # });
//! ```

mod hooks;
mod objects;
mod recorder;
mod running;
mod servers;
mod steps;

pub use hooks::{fail_kind, hang, hang_kind};
pub use objects::{
    config, deployment, in_namespace, labelled, namespace, node, owned_by, secret, widget, widget_resource,
    widgets, with_data,
};
pub use recorder::{Call, Recorder, Run, What};
pub use running::{Running, Setup, alive_tasks, nothing_left};
pub use servers::{Sims, name, spec};
pub use steps::Holds;
