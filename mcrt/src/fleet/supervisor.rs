//! One task per cluster: reach it, start what takes part, watch over it, and take it down again.
use super::{Cluster, Fleet, FleetSettings, Step, participant::Participant};
use crate::{cluster::Health, connect, jitter::around, panic::panic_text};
use futures::{FutureExt, future::join_all};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

pub(super) type Participants = Vec<Arc<dyn Participant>>;

/// Closes when a supervisor has ended.
pub(super) type Ended = watch::Receiver<()>;

pub(super) struct Supervisor {
    pub(super) fleet: Fleet,
    pub(super) cluster: Cluster,
    /// The previous life of the same name: its work must have stopped before this one's starts, or one object
    /// could be reconciled twice at once.
    pub(super) predecessor: Option<Ended>,
    pub(super) participants: watch::Receiver<Participants>,
    pub(super) leave: CancellationToken,
    /// Who has been attached, at least in part.
    pub(super) attached: Participants,
    /// Dropped at the very end.
    pub(super) ended: watch::Sender<()>,
}

impl Supervisor {
    /// A panic on the way ends this life early, but never leaves anything of it behind.
    pub(super) async fn run(mut self) {
        if let Some(mut predecessor) = self.predecessor.take() {
            while predecessor.changed().await.is_ok() {}
        }
        let cluster = self.cluster.clone();
        reported(&cluster, self.live()).await;
        reported(&cluster, cluster.reach(Step::Leaving)).await;
        let attached = std::mem::take(&mut self.attached);
        let detaching = attached
            .iter()
            .map(|participant| reported(&cluster, participant.detach(&cluster)));
        join_all(detaching).await;
        self.cluster.end().await;
        self.fleet.forget(&self.cluster);
        tracing::debug!(cluster = %self.cluster, epoch = %self.cluster.epoch(), "disengaged");
        drop(self.ended);
    }

    /// Runs until the cluster is to leave.
    async fn live(&mut self) {
        self.cluster.reach(Step::Published).await;
        let mut started = 0;
        let mut probe = Probe::new(self.fleet.settings());
        while !self.leave.is_cancelled() {
            let wanted = self.participants.borrow_and_update().clone();
            for participant in wanted {
                if !self.attached.iter().any(|known| Arc::ptr_eq(known, &participant)) {
                    // Known before it is attached: whatever attaching left behind is detached.
                    self.attached.push(participant.clone());
                    participant.attach(&self.cluster).await;
                }
            }
            if probe.reached {
                for participant in &self.attached[started..] {
                    participant.start(&self.cluster).await;
                }
                started = self.attached.len();
            }
            tokio::select! {
                () = self.leave.cancelled() => break,
                changed = self.participants.changed() => if changed.is_err() { break },
                () = probe.next(&self.fleet, &self.cluster) => {}
            }
        }
    }
}

/// Runs a part of a cluster's life and says so if it panics, which nobody else would.
async fn reported(cluster: &Cluster, part: impl Future<Output = ()>) {
    if let Err(panic) = AssertUnwindSafe(part).catch_unwind().await {
        tracing::error!(
            cluster = %cluster, panic = panic_text(&*panic),
            "the supervision of the cluster panicked: nothing works on it until it is described anew",
        );
    }
}

/// Asks the API server for its version, again and again.
struct Probe {
    /// It has answered at least once.
    reached: bool,
    failures: u32,
    due: Instant,
    settings: FleetSettings,
}

impl Probe {
    fn new(settings: &FleetSettings) -> Self {
        Self {
            reached: false,
            failures: 0,
            due: Instant::now(),
            settings: settings.clone(),
        }
    }

    /// Waits until the next probe is due, and probes. Dropped and called again, it starts over.
    async fn next(&mut self, fleet: &Fleet, cluster: &Cluster) {
        tokio::time::sleep_until(self.due).await;
        let outcome = connect::probe(&cluster.client(), self.settings.probe_deadline).await;
        self.due = Instant::now() + self.delay(outcome.is_ok());
        let health = match outcome {
            Ok(_) => {
                if !self.reached {
                    cluster.reach(Step::Reached).await;
                }
                self.failures = 0;
                self.reached = true;
                Health::Ready
            }
            Err(error) => {
                self.failures += 1;
                tracing::debug!(cluster = %cluster, %error, failures = self.failures, "probe failed");
                // One lost answer of a cluster that was reached is not an outage.
                if self.reached && self.failures < self.settings.probe_failures {
                    return;
                }
                if self.failures == 1 || self.failures == self.settings.probe_failures {
                    tracing::warn!(cluster = %cluster, %error, "cannot reach the API server; going on trying");
                }
                Health::Unreachable {
                    since: Instant::now(),
                }
            }
        };
        fleet.set_health(cluster, health);
    }

    fn delay(&self, answered: bool) -> Duration {
        if answered {
            return around(self.settings.probe_interval);
        }
        let exponent = self.failures.min(5);
        around((self.settings.retry_initial * 2_u32.pow(exponent)).min(self.settings.probe_interval))
    }
}
