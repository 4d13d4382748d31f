//! Tests of controllers on a simulated fleet: started in a line, waited on with deadlines, stopped without leftovers.
//!
//! ```
//! # #[cfg(feature = "latest")]
//! # mod example {
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use mcrt::{Action, Context, multicluster_controller, reconciler, testing::TestFleet};
//! use serde_json::json;
//! use std::sync::Arc;
//!
//! /// Marks every ConfigMap as seen.
//! #[multicluster_controller(for(ConfigMap, labels = "app=web"))]
//! struct Marker;
//!
//! #[reconciler]
//! impl Marker {
//!     #[reconcile]
//!     async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
//!         let mut mark = ConfigMap::default();
//!         mark.metadata.name = config.metadata.name.clone();
//!         mark.data = Some([("seen".to_owned(), "yes".to_owned())].into());
//!         cx.apply(&mark).await?;
//!         Ok(Action::await_change())
//!     }
//! }
//!
//! # /*
//! #[tokio::test(start_paused = true)]
//! # */
//! # pub async fn a_config_map_is_marked_in_every_cluster() {
//! # /*
//! async fn a_config_map_is_marked_in_every_cluster() {
//! # */
//!     let fleet = TestFleet::start(["eu", "us"]).controller(Marker).await;
//!     for cluster in fleet.clusters() {
//!         cluster.create(json!({
//!             "apiVersion": "v1", "kind": "ConfigMap",
//!             "metadata": { "name": "web", "labels": { "app": "web" } },
//!         }));
//!     }
//!     fleet.settled().await;
//!     let web: ConfigMap = fleet.cluster("us").get("web").expect("it is there");
//!     assert_eq!(web.data.expect("it has data")["seen"], "yes");
//!     fleet.stop().await;
//! }
//! # }
//! # fn main() {
//! # #[cfg(feature = "latest")]
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
//! #     .block_on(example::a_config_map_is_marked_in_every_cluster());
//! # }
//! ```
//!
//! Nothing here uses a socket, so tests run under paused time: `#[tokio::test(start_paused = true)]`, with tokio's
//! feature `test-util`. Time then jumps to whatever is due next, and an hour of backoff takes milliseconds.
//!
//! A [`TestFleet`] is a [`Running`] manager over simulated clusters, each of which is a [`TestCluster`]. Tests with
//! a manager, a provider or servers of their own begin with [`Running::start`].
#![expect(clippy::panic, reason = "this is how a test fails")]
mod cluster;
pub mod conformance;
mod fleet;
mod leaks;
mod running;
mod start;
mod state;
mod waiting;

pub use cluster::TestCluster;
pub use fleet::TestFleet;
pub use leaks::{alive_tasks, nothing_left};
pub use running::{Running, Servers};
pub use start::Setup;
pub use waiting::{eventually, eventually_in, within};

/// The simulation: what faults are made of, for one.
pub use mcrt_sim;
