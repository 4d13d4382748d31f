//! What keeps a controller's lane in a cluster closed: required kinds whose objects nobody has told of.
use super::engagement::{Engagement, Opened};
use crate::{
    cache::{Lease, WatchState},
    cluster::ClusterName,
};
use futures::{FutureExt, future::select_all};
use parking_lot::Mutex;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// How long the first list of an optional kind is waited for, once the watches have begun.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What a kind is to its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The reconciled kind: where it is not served there is nothing to reconcile, so nothing waits for it.
    Primary,
    /// Without it a reconcile would take what it does not see for what does not exist.
    Required,
    /// The author looks at the state of its store.
    Optional,
}

/// A cache that a controller opened, and what it is to it.
pub(crate) struct Part {
    pub(crate) cache: Box<dyn Opened>,
    pub(crate) need: Need,
    /// Keeps the watch going until the engagement ends, whoever holds it longer.
    lease: Mutex<Option<Lease>>,
    /// Whether it was synced since the controller opened it.
    synced: AtomicBool,
}

impl Part {
    pub(crate) fn new(cache: Box<dyn Opened>, lease: Lease, need: Need) -> Self {
        Self {
            cache,
            need,
            lease: Mutex::new(Some(lease)),
            synced: AtomicBool::new(false),
        }
    }

    /// Lets go of the cache: its watch ends unless others use it.
    pub(super) fn release(&self) {
        let lease = self.lease.lock().take();
        drop(lease);
    }

    /// Whether the lane may open as far as this one goes.
    fn passes(&self, state: WatchState, patience: Instant) -> bool {
        if state == WatchState::Synced {
            self.synced.store(true, Relaxed);
        }
        if self.synced.load(Relaxed) {
            return true;
        }
        match (self.need, state) {
            // It closes with the engagement.
            (_, WatchState::Closed)
            | (Need::Primary | Need::Optional, WatchState::Absent)
            | (Need::Optional, WatchState::Forbidden) => true,
            (Need::Optional, _) => Instant::now() >= patience,
            (Need::Primary | Need::Required, _) => false,
        }
    }
}

/// Follows the watches of one engagement.
pub(crate) struct Gate {
    engagement: Arc<Engagement>,
    states: Vec<watch::Receiver<WatchState>>,
}

impl Gate {
    pub(crate) fn of(engagement: &Arc<Engagement>) -> Self {
        let states = engagement.parts().iter().map(|part| part.cache.state());
        Self {
            states: states.collect(),
            engagement: engagement.clone(),
        }
    }

    /// Whether every kind that gates is known.
    pub(crate) fn is_open(&mut self) -> bool {
        let patience = self.engagement.patience();
        let mut open = true;
        // All of them, so that each change is seen.
        for (part, state) in self.engagement.parts().iter().zip(&mut self.states) {
            open &= part.passes(*state.borrow_and_update(), patience);
        }
        open
    }

    /// Resolves once it may be another; may be dropped and called again.
    pub(crate) async fn changed(&mut self) {
        let patience = self.engagement.patience();
        let unsynced = self.engagement.parts().iter().zip(&mut self.states);
        let unsynced = unsynced.filter(|(part, _)| !part.synced.load(Relaxed));
        let mut impatient = false;
        let changes: Vec<_> = unsynced
            .map(|(part, state)| {
                impatient |= part.need == Need::Optional && Instant::now() < patience;
                // A cache that is gone changes no more.
                async move {
                    if state.changed().await.is_err() {
                        std::future::pending::<()>().await;
                    }
                }
                .boxed()
            })
            .collect();
        let change = async {
            if changes.is_empty() {
                std::future::pending::<()>().await;
            }
            select_all(changes).await;
        };
        tokio::select! {
            () = change => {}
            () = tokio::time::sleep_until(patience), if impatient => {}
        }
    }
}

impl Engagement {
    /// The watches that keep the lane closed, with how they fare.
    pub(crate) fn waits_for(&self) -> Vec<Gating> {
        let patience = self.patience();
        let watches = self
            .parts()
            .iter()
            .map(|part| (part, *part.cache.state().borrow()));
        watches
            .filter(|(part, state)| !part.passes(*state, patience))
            .map(|(part, state)| Gating {
                cluster: self.cluster.name().clone(),
                watch: part.cache.scope().to_string(),
                state,
            })
            .collect()
    }
}

/// A watch that keeps a controller from working in a cluster: of a kind that it requires, and that nothing is known
/// of yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gating {
    /// The cluster.
    pub cluster: ClusterName,
    /// What is watched, such as `widgets.example.com in team-a`.
    pub watch: String,
    /// How the watch fares.
    pub state: WatchState,
}

impl fmt::Display for Gating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.watch, self.state)
    }
}
