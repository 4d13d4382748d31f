//! Kubernetes controllers that work across a fleet of clusters, declared.
//!
//! ```text
//!                    provider: which clusters exist, how to reach each
//!                        |
//!   host                 v
//!    |      +---------- fleet ----------+      one supervisor per cluster
//!    +----->|  alpha     beta    gamma  |
//!           +----|---------|-------|----+
//!                v         v       v           cache: one watch per kind and cluster, store, indexes
//!           +---------------------------+
//!           |  queue: a lane a cluster  |      fair: no cluster hurts another
//!           +-------------|-------------+
//!                         v
//!              runner --> your reconciler(object, context)
//! ```
//!
//! A controller is a struct with `#[multicluster_controller(...)]` and an impl block with `#[reconciler]`, or a
//! [`Reconciler`] wired by a [`ControllerBuilder`]. [`run`] starts a program with one controller, [`Launch`] one
//! with more to say, [`Manager`] is for those who bring their own program around it.
pub mod apis;
pub mod cache;
mod child;
pub mod cluster;
pub mod connect;
mod controller;
mod coordinator;
mod error;
pub mod fleet;
mod jitter;
mod manager;
pub mod observe;
mod panic;
pub mod provider;
pub mod queue;
mod redaction;
mod start;

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "sim")]
pub mod testing;

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    //! What fuzz targets call; not for programs.

    /// Asserts what must hold of vetting a text: the first byte stands for a policy.
    pub fn vetting(data: &[u8]) {
        crate::connect::vetting_holds(data);
    }
}

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use cache::{CacheSettings, CacheStats, Cacheable, InitialList, ListChoice, Store, WatchState};
pub use cluster::{
    ClusterName, ClusterSelector, Epoch, Health, InvalidSelector, ObjectKey, Properties, Property,
    PropertyOrigin,
};
pub use controller::{
    Action, ApiKind, ApiScope, BuildError, ClusterContext, Context, Controller, ControllerBuilder,
    ControllerCounters, ControllerHandle, Gating, HandWired, Index, IndexKey, IndexReader, MapContext,
    MulticlusterController, NeverSynced, Place, ReconcileFailure, Reconciler, Request, Requests, Uses, Watch,
    place, predicate,
};
pub use coordinator::{LostHost, Sharding};
pub use error::{Error, ErrorClass, Result};
pub use fleet::{Cluster, Fleet, FleetEvent, FleetSettings, SelfReported};
pub use manager::{Manager, ManagerBuilder, ManagerHandle};
pub use provider::{Provider, ProviderExt, providers};
pub use queue::Backoff;
pub use start::StartError;

#[cfg(feature = "cli")]
pub use cli::{Launch, LaunchArgs, LogFormat, SelectionArgs, SharingArgs, providers as provider_args, run};

pub use mcrt_macros::{error_policy, gone, index, map, multicluster_controller, reconcile, reconciler};

/// What a file with a controller usually names.
pub mod prelude {
    pub use crate::{
        Action, Context, MapContext, ProviderExt as _, Request, multicluster_controller, reconciler,
    };
}

pub use k8s_openapi;
pub use kube;
