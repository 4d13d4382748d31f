//! How clusters fare: whether they answer, have what is required, and pass the checks of the program.
//!
//! ```text
//! liveness  /readyz ----\
//! breaker tripped -------+--> Condition --> Health --> breaker, FleetEvent, lanes
//! readiness, checks ----/
//! ```
//! One condition decides over all of it, so that the breaker, what is told and what runs never disagree.
mod application;
mod condition;
mod liveness;
mod questions;
mod readiness;
mod settings;
#[cfg(test)]
mod tests;

pub use settings::{ApplicationSettings, HealthSettings, LivenessSettings, ReadinessSettings};

pub(crate) use application::HealthCheck;
pub(super) use condition::Condition;
pub(crate) use readiness::Required;

use super::{Cluster, Fleet, supervisor::Participants};
use crate::{connect::Breaker, jitter::around};
use futures::future::join3;
use std::time::Duration;
use tokio::{sync::watch, time::Instant};

/// No interval is shorter, whatever is set: a zero is not to keep a cluster busy.
const SHORTEST: Duration = Duration::from_millis(10);

/// An interval as it is waited for.
fn shaken(interval: Duration) -> Duration {
    around(interval.max(SHORTEST))
}

/// Looks after one cluster.
pub(super) struct Watchdog<'a> {
    fleet: &'a Fleet,
    cluster: &'a Cluster,
    settings: &'a HealthSettings,
    participants: watch::Receiver<Participants>,
}

impl<'a> Watchdog<'a> {
    pub(super) fn new(
        fleet: &'a Fleet,
        cluster: &'a Cluster,
        participants: watch::Receiver<Participants>,
    ) -> Self {
        Self {
            fleet,
            cluster,
            settings: &fleet.settings().health,
            participants,
        }
    }

    /// Goes on until it is dropped. Whatever hangs in it has a deadline, and holds up nothing else in it.
    pub(super) async fn watch(&self) {
        join3(self.liveness(), self.readiness(), self.applications()).await;
    }

    fn breaker(&self) -> &Breaker {
        self.cluster.transport().breaker()
    }

    fn observe<T>(&self, note: impl FnOnce(&mut Condition, Instant) -> T) -> T {
        self.fleet.observe(self.cluster, note)
    }

    /// Resolves once requests may be sent.
    async fn takes_requests(&self) {
        let mut health = self.cluster.health_changes();
        // The sender is in the cluster.
        let _ = health.wait_for(|health| health.takes_requests()).await;
    }
}
