//! Controllers: what is declared, what runs on a change, and what a reconcile can reach.
//!
//! ```text
//! declarations --replayed per cluster--> engagement: caches, indexes, triggers
//! delta --> trigger (for / owns / watches + map) --> queue --> runner --> Reconciler --> outcome --> queue
//! ```
mod action;
mod build;
mod builder;
mod context;
mod declaration;
mod engagement;
mod erased;
mod failures;
mod fleet_events;
mod gate;
mod index;
mod keeper;
mod lane_gate;
mod map;
mod outcome;
pub(crate) mod outputs;
pub mod place;
pub mod predicate;
mod reach;
mod reconciler;
pub(crate) mod relations;
mod request;
mod runner;
mod runtime;
mod settings;
mod tombstones;
mod trigger;
mod waiting;
mod watch;

pub use action::Action;
pub use build::BuildError;
pub use builder::ControllerBuilder;
pub use context::Context;
pub use erased::{Controller, ControllerCounters, ControllerHandle};
pub use failures::ReconcileFailure;
pub use gate::Gating;
pub use index::{IndexKey, IndexReader};
pub use map::MapContext;
pub use place::Place;
pub use reach::{ApiKind, ApiScope, ClusterContext, NeverSynced};
pub use reconciler::{MulticlusterController, Reconciler};
pub use relations::HandWired;
pub use request::{Request, Requests};
pub use watch::{Index, Uses, Watch};

pub(crate) use erased::Bound;
