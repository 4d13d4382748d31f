//! How many lists may run at once, over the fleet and in one cluster.
use crate::jitter::NEVER;
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// Bounds the lists that run at the same time: a list holds a page of objects twice over, as text and decoded, and
/// mass reconnects would otherwise list everything at once.
///
/// Clusters that do not answer must not hold the permits of those that do. So a cluster lists one thing at a time
/// until it has answered once, a list that takes too long gives its permit of the fleet back, and clusters where that
/// happened share a quarter of the permits until they answer.
#[derive(Debug)]
pub struct ListLimits {
    fleet: Arc<Semaphore>,
    silent: Arc<Semaphore>,
    fleet_permits: usize,
    per_cluster: usize,
}

impl ListLimits {
    /// At most `fleet` lists at once, at most `per_cluster` of them in one cluster. Zero counts as one.
    pub fn new(fleet: usize, per_cluster: usize) -> Self {
        let permits = |wanted: usize| wanted.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            fleet: Arc::new(Semaphore::new(permits(fleet))),
            silent: Arc::new(Semaphore::new(permits(fleet / 4))),
            fleet_permits: permits(fleet),
            per_cluster: permits(per_cluster),
        }
    }

    /// The lists that hold a permit of the fleet now.
    pub fn running(&self) -> usize {
        self.fleet_permits.saturating_sub(self.fleet.available_permits())
    }
}

/// 16 lists at once, 4 of them in one cluster.
impl Default for ListLimits {
    fn default() -> Self {
        Self::new(16, 4)
    }
}

/// The lists of one cluster.
#[derive(Clone)]
pub(super) struct ClusterLists {
    limits: Arc<ListLimits>,
    cluster: Arc<ClusterPermits>,
}

struct ClusterPermits {
    lists: Arc<Semaphore>,
    /// Whether it answered a list, ever.
    answered: AtomicBool,
    /// Whether a list took too long since it answered last.
    silent: AtomicBool,
}

impl ClusterLists {
    pub(super) fn new(limits: Arc<ListLimits>) -> Self {
        let cluster = Arc::new(ClusterPermits {
            lists: Arc::new(Semaphore::new(1)),
            answered: AtomicBool::new(false),
            silent: AtomicBool::new(false),
        });
        Self { limits, cluster }
    }

    /// Waits for a permit of the cluster, then for one of the fleet, so that a cluster with many lists queues with
    /// few of them before the fleet's.
    pub(super) async fn permit(&self, overdue_after: Duration) -> Result<ListPermit, AcquireError> {
        let cluster = Arc::clone(&self.cluster.lists).acquire_owned().await?;
        let fleet = loop {
            let silent = self.cluster.silent.load(Relaxed);
            let quarter = if silent {
                Some(Arc::clone(&self.limits.silent).acquire_owned().await?)
            } else {
                None
            };
            let fleet = Arc::clone(&self.limits.fleet).acquire_owned().await?;
            // It may have fallen silent while this one waited among those that answer.
            if silent || !self.cluster.silent.load(Relaxed) {
                break (fleet, quarter);
            }
        };
        Ok(ListPermit {
            lists: self.clone(),
            _cluster: cluster,
            fleet: Some(fleet),
            overdue: Instant::now() + overdue_after.min(NEVER),
        })
    }

    fn answered(&self) {
        self.cluster.silent.store(false, Relaxed);
        if !self.cluster.answered.swap(true, Relaxed) {
            self.cluster.lists.add_permits(self.limits.per_cluster - 1);
        }
    }
}

/// The right to list. Dropping it gives all permits back.
pub(super) struct ListPermit {
    lists: ClusterLists,
    _cluster: OwnedSemaphorePermit,
    fleet: Option<(OwnedSemaphorePermit, Option<OwnedSemaphorePermit>)>,
    overdue: Instant,
}

impl ListPermit {
    /// Waits until the list holds the fleet up, then gives the fleet's permit back and keeps the cluster's.
    pub(super) async fn yield_when_overdue(&mut self) -> Infallible {
        if self.fleet.is_some() {
            tokio::time::sleep_until(self.overdue).await;
            self.fleet = None;
            self.lists.cluster.silent.store(true, Relaxed);
        }
        std::future::pending().await
    }

    /// The list ends with an answer, be it a refusal.
    pub(super) fn answered(self) {
        self.lists.answered();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    const OVERDUE: Duration = Duration::from_secs(10);

    fn at_once(lists: &ClusterLists) -> Option<ListPermit> {
        lists.permit(OVERDUE).now_or_never().map(Result::unwrap)
    }

    async fn falls_silent(permit: &mut ListPermit) {
        let yielded = tokio::time::timeout(OVERDUE * 2, permit.yield_when_overdue()).await;
        assert!(yielded.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_overdue_list_gives_the_permit_of_the_fleet_back_and_keeps_its_clusters() {
        let limits = Arc::new(ListLimits::new(1, 1));
        let (slow, other) = (ClusterLists::new(Arc::clone(&limits)), ClusterLists::new(limits));
        let mut permit = at_once(&slow).unwrap();
        assert!(at_once(&other).is_none());
        falls_silent(&mut permit).await;
        assert!(at_once(&other).is_some());
        assert!(at_once(&slow).is_none());
        drop(permit);
        assert!(at_once(&slow).is_some());
    }

    #[test]
    fn a_cluster_lists_one_thing_at_a_time_until_it_answers() {
        let lists = ClusterLists::new(Arc::new(ListLimits::new(16, 2)));
        let first = at_once(&lists).unwrap();
        assert!(at_once(&lists).is_none());
        first.answered();
        let _two = [(); 2].map(|()| at_once(&lists).unwrap());
        assert!(at_once(&lists).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn silent_clusters_share_a_quarter_of_the_permits() {
        let limits = Arc::new(ListLimits::new(4, 1));
        let silent = [(); 4].map(|()| ClusterLists::new(Arc::clone(&limits)));
        let mut permits = silent.each_ref().map(|lists| at_once(lists).unwrap());
        for permit in &mut permits {
            falls_silent(permit).await;
        }
        drop(permits);
        let _one = at_once(&silent[0]).unwrap();
        assert!(silent[1..].iter().all(|lists| at_once(lists).is_none()));
        let well = [(); 3].map(|()| ClusterLists::new(Arc::clone(&limits)));
        let _three = well.each_ref().map(|lists| at_once(lists).unwrap());
        assert_eq!(limits.running(), 4);
    }
}
