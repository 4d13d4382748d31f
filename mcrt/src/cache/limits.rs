//! How many lists may run at once, over the fleet and in one cluster.
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// Bounds the lists that run at the same time: a list holds a page of objects twice over, as text and decoded, and
/// mass reconnects would otherwise list everything at once.
#[derive(Debug)]
pub struct ListLimits {
    fleet: Arc<Semaphore>,
    fleet_permits: usize,
    per_cluster: usize,
}

impl ListLimits {
    /// At most `fleet` lists at once, at most `per_cluster` of them in one cluster. Zero counts as one.
    pub fn new(fleet: usize, per_cluster: usize) -> Self {
        let permits = |wanted: usize| wanted.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            fleet: Arc::new(Semaphore::new(permits(fleet))),
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
    cluster: Arc<Semaphore>,
}

impl ClusterLists {
    pub(super) fn new(limits: Arc<ListLimits>) -> Self {
        let cluster = Arc::new(Semaphore::new(limits.per_cluster));
        Self { limits, cluster }
    }

    /// Waits for a permit of the cluster, then for one of the fleet, so that a cluster with many lists queues with
    /// few of them before the fleet's.
    pub(super) async fn permit(&self, overdue_after: Duration) -> Result<ListPermit, AcquireError> {
        let cluster = Arc::clone(&self.cluster).acquire_owned().await?;
        let fleet = Arc::clone(&self.limits.fleet).acquire_owned().await?;
        Ok(ListPermit {
            _cluster: cluster,
            fleet: Some(fleet),
            overdue: Instant::now() + overdue_after,
        })
    }
}

/// The right to list. Dropping it gives both permits back.
pub(super) struct ListPermit {
    _cluster: OwnedSemaphorePermit,
    fleet: Option<OwnedSemaphorePermit>,
    overdue: Instant,
}

impl ListPermit {
    /// Waits until the list holds the fleet up, then gives the fleet's permit back and keeps the cluster's: clusters
    /// that do not answer must not hold the permits of those that do.
    pub(super) async fn yield_when_overdue(&mut self) -> Infallible {
        if self.fleet.is_some() {
            tokio::time::sleep_until(self.overdue).await;
            self.fleet = None;
        }
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test(start_paused = true)]
    async fn an_overdue_list_gives_the_permit_of_the_fleet_back_and_keeps_its_clusters() {
        let limits = Arc::new(ListLimits::new(1, 1));
        let (slow, other) = (ClusterLists::new(Arc::clone(&limits)), ClusterLists::new(limits));
        let mut permit = slow.permit(Duration::from_secs(10)).await.unwrap();
        assert!(other.permit(Duration::ZERO).now_or_never().is_none());
        let overdue = tokio::time::timeout(Duration::from_secs(11), permit.yield_when_overdue()).await;
        assert!(overdue.is_err());
        assert!(other.permit(Duration::ZERO).now_or_never().is_some());
        assert!(slow.permit(Duration::ZERO).now_or_never().is_none());
        drop(permit);
        assert!(slow.permit(Duration::ZERO).now_or_never().is_some());
    }
}
