//! Waiting for a fleet to be as far as it gets: for a program that says when it is ready itself.
use super::{Cluster, Fleet, FleetEvent};
use crate::cluster::ClusterName;
use futures::StreamExt;
use std::time::Duration;
use tokio::time::timeout;

impl Fleet {
    /// Waits until the provider has named its clusters and each of them, and the host, can be worked with; for
    /// `patience` at the longest. Gives those that cannot, or `None` if the provider has not even named its clusters.
    /// Clusters that no controller selects are nobody's concern: they do not count, unless there is no controller.
    ///
    /// A program whose own readiness waits for every cluster is not ready while one of them is down, and one that
    /// does not wait at all answers from stores that know nothing yet. What never comes is known from here, and its
    /// stores say that they were never synced.
    pub async fn settled(&self, patience: Duration) -> Option<Vec<ClusterName>> {
        let settling = async {
            let mut events = self.events();
            while let Some(event) = events.next().await {
                if matches!(event, FleetEvent::Synced) {
                    break;
                }
            }
            for cluster in self.in_use() {
                let mut health = cluster.health_changes();
                // The sender is in the cluster. One that leaves is not waited for.
                let settled = health.wait_for(|health| health.takes_requests());
                tokio::select! {
                    _ = settled => {}
                    () = cluster.left() => {}
                }
            }
        };
        // Late or not, what is so now counts.
        let _ = timeout(patience, settling).await;
        self.is_synced().then(|| {
            self.in_use()
                .filter(|cluster| !cluster.health().takes_requests())
                .map(|cluster| cluster.name().clone())
                .collect()
        })
    }

    fn in_use(&self) -> impl Iterator<Item = Cluster> {
        let clusters = self.clusters().into_iter().chain(self.host());
        clusters.filter(|cluster| self.is_of_use(cluster))
    }
}
