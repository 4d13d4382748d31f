//! The engaged clusters: who they are, how they fare, and who takes part in their lives.
//!
//! ```text
//! provider --Upsert/Remove/Synced--> discovery --> Fleet --> one supervisor per cluster
//!                                                              publish, attach, probe, start ... leave, detach, end
//! ```
mod assignment;
mod cluster;
mod described;
mod discovery;
mod event;
mod health;
mod host_duty;
mod participant;
mod registry;
mod rejected;
mod selection;
mod self_reported;
mod settled;
mod standing;
mod supervisor;

pub use cluster::Cluster;
pub use event::FleetEvent;
pub use health::{ApplicationSettings, HealthSettings, LivenessSettings, ReadinessSettings};
#[doc(hidden)]
pub use participant::{Step, Steps};
pub use registry::Fleet;
pub use self_reported::SelfReported;

pub(crate) use assignment::Leaving;
pub(crate) use discovery::discover;
pub(crate) use health::{HealthCheck, Required};
pub(crate) use host_duty::{HeldDuty, HostDuty};
pub(crate) use participant::Participant;
pub(crate) use selection::Selection;
pub(crate) use self_reported::Listener;

use crate::{cache::CacheSettings, connect::TransportSettings};
use std::{fmt, time::Duration};

/// How the fleet treats its clusters.
#[derive(Clone)]
#[non_exhaustive]
pub struct FleetSettings {
    /// Deadlines and manners of every connection.
    pub transport: TransportSettings,
    /// How clusters are looked after.
    pub health: HealthSettings,
    /// How long running reconciles of a cluster that leaves may go on (10 s).
    pub grace: Duration,
    /// How many lists may run at once in the whole fleet (16).
    pub lists: usize,
    /// How many lists may run at once in one cluster (4).
    pub lists_per_cluster: usize,
    /// How kinds are watched.
    pub caches: CacheSettings,
    /// Called at each step of an engagement; for tests.
    #[doc(hidden)]
    pub steps: Steps,
}

impl Default for FleetSettings {
    fn default() -> Self {
        Self {
            transport: TransportSettings::default(),
            health: HealthSettings::default(),
            grace: Duration::from_secs(10),
            lists: 16,
            lists_per_cluster: 4,
            caches: CacheSettings::default(),
            steps: None,
        }
    }
}

impl fmt::Debug for FleetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetSettings")
            .field("transport", &self.transport)
            .field("health", &self.health)
            .field("grace", &self.grace)
            .finish_non_exhaustive()
    }
}
