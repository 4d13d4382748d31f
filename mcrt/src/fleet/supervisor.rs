//! One task per cluster: reach it, start what takes part, watch over it, and take it down again.
use super::{Cluster, Fleet, Step, health::Watchdog, participant::Participant};
use crate::panic::panic_text;
use futures::{FutureExt, future::join_all};
use std::{panic::AssertUnwindSafe, sync::Arc};
use tokio::sync::watch;
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

    /// Runs until the cluster is to leave. What is asked of the cluster meanwhile is dropped then, wherever it is.
    async fn live(&mut self) {
        let (fleet, cluster) = (self.fleet.clone(), self.cluster.clone());
        let watchdog = Watchdog::new(&fleet, &cluster, self.participants.clone());
        tokio::select! {
            biased;
            () = self.take_part() => {}
            () = watchdog.watch() => {}
        }
    }

    /// Attaches whoever takes part, and starts them once the cluster has been reached. Neither is broken off: what
    /// is half attached could not be detached.
    async fn take_part(&mut self) {
        self.cluster.reach(Step::Published).await;
        let mut health = self.cluster.health_changes();
        let (mut reached, mut started) = (false, 0);
        while !self.leave.is_cancelled() {
            let wanted = self.participants.borrow_and_update().clone();
            for participant in wanted {
                if !self.attached.iter().any(|known| Arc::ptr_eq(known, &participant)) {
                    // Known before it is attached: whatever attaching left behind is detached.
                    self.attached.push(participant.clone());
                    participant.attach(&self.cluster).await;
                }
            }
            if !reached && health.borrow_and_update().takes_requests() {
                self.cluster.reach(Step::Reached).await;
                reached = true;
            }
            if reached {
                for participant in &self.attached[started..] {
                    participant.start(&self.cluster).await;
                }
                started = self.attached.len();
            }
            tokio::select! {
                () = self.leave.cancelled() => break,
                changed = self.participants.changed() => if changed.is_err() { break },
                // The sender is in the cluster.
                _ = health.changed(), if !reached => {}
            }
        }
    }
}

/// Runs a part of a cluster's life and says so if it panics, which nobody else would.
///
/// No `async fn`: that would keep room for the part twice, in every cluster.
fn reported(cluster: &Cluster, part: impl Future<Output = ()>) -> impl Future<Output = ()> {
    AssertUnwindSafe(part).catch_unwind().map(move |outcome| {
        if let Err(panic) = outcome {
            tracing::error!(
                cluster = %cluster, panic = panic_text(&*panic),
                "the supervision of the cluster panicked: nothing works on it until it is described anew",
            );
        }
    })
}
