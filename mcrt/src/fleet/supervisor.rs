//! One task per cluster: reach it, start what takes part, watch over it, and take it down again.
use super::{Cluster, Fleet, Step, health::Watchdog, participant::Participant};
use crate::panic::panic_text;
use futures::{
    FutureExt, StreamExt,
    future::{BoxFuture, join, join_all},
    stream::FuturesUnordered,
};
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
    pub(super) parts: Parts,
    /// Dropped at the very end.
    pub(super) ended: watch::Sender<()>,
}

/// Who works on the cluster now.
#[derive(Default)]
pub(super) struct Parts {
    /// Who has been attached, at least in part.
    attached: Vec<Attached>,
    /// Who is being detached while the cluster stays: each ends on its own, and holds up nobody else.
    leaving: Participants,
    detaching: FuturesUnordered<BoxFuture<'static, Arc<dyn Participant>>>,
}

struct Attached {
    participant: Arc<dyn Participant>,
    started: bool,
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
        let attached = std::mem::take(&mut self.parts.attached);
        let detaching = attached
            .iter()
            .map(|attached| reported(&cluster, attached.participant.detach(&cluster)));
        let detached = async { while self.parts.detaching.next().await.is_some() {} };
        join(join_all(detaching), detached).await;
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

    /// Attaches whoever takes part, starts them once the cluster has been reached, and detaches them when they no
    /// longer do. Neither is broken off: what is half attached could not be detached.
    async fn take_part(&mut self) {
        self.cluster.reach(Step::Published).await;
        let mut health = self.cluster.health_changes();
        let mut reached = false;
        while !self.leave.is_cancelled() {
            self.detach_others();
            self.attach_all().await;
            if !reached && health.borrow_and_update().takes_requests() {
                self.cluster.reach(Step::Reached).await;
                reached = true;
            }
            if reached {
                self.start_all().await;
            }
            tokio::select! {
                () = self.leave.cancelled() => break,
                changed = self.participants.changed() => if changed.is_err() { break },
                () = self.cluster.selection() => {}
                Some(detached) = self.parts.detaching.next() => {
                    self.parts.leaving.retain(|other| !Arc::ptr_eq(other, &detached));
                    self.cluster.look_soon();
                }
                // The sender is in the cluster.
                _ = health.changed(), if !reached => {}
            }
        }
    }

    /// Begins to detach those who do not take part any more.
    fn detach_others(&mut self) {
        let (cluster, parts) = (&self.cluster, &mut self.parts);
        let others = |attached: &mut Attached| !attached.participant.takes_part(cluster);
        for Attached { participant, .. } in parts.attached.extract_if(.., others) {
            let cluster = cluster.clone();
            parts.leaving.push(participant.clone());
            let detaching = async move {
                reported(&cluster, participant.detach(&cluster)).await;
                participant
            };
            parts.detaching.push(detaching.boxed());
        }
    }

    async fn attach_all(&mut self) {
        let wanted = self.participants.borrow_and_update().clone();
        for participant in wanted {
            if self.parts.knows(&participant) || !participant.takes_part(&self.cluster) {
                continue;
            }
            // Known before it is attached: whatever attaching left behind is detached.
            self.parts.attached.push(Attached {
                participant: participant.clone(),
                started: false,
            });
            participant.attach(&self.cluster).await;
        }
    }

    async fn start_all(&mut self) {
        for attached in self.parts.attached.iter_mut().filter(|it| !it.started) {
            attached.participant.start(&self.cluster).await;
            attached.started = true;
        }
    }
}

impl Parts {
    /// Whether it is attached, or still being detached.
    fn knows(&self, participant: &Arc<dyn Participant>) -> bool {
        let attached = self.attached.iter().map(|it| &it.participant);
        attached
            .chain(&self.leaving)
            .any(|it| Arc::ptr_eq(it, participant))
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
