//! How the clusters of a fleet fare: asked, changed by hand, and told.
use super::{Cluster, Fleet, FleetEvent, health::Condition};
use crate::cluster::{ClusterName, Health};
use tokio::time::Instant;

impl Fleet {
    /// How the cluster of that name fares; [`Health::NotFound`] if none is engaged.
    pub fn health(&self, name: &ClusterName) -> Health {
        self.get(name)
            .map_or(Health::NotFound, |cluster| cluster.health())
    }

    /// Suspends a cluster: nothing is sent to it but probes, and nothing of it is reconciled, until it is
    /// [resumed](Self::resume) or leaves the fleet. Its stores stay readable, its requests are kept. What is under
    /// way there fails.
    ///
    /// It holds for the name: another life of it, of which the provider tells meanwhile, is suspended too. False if
    /// no cluster of that name is engaged.
    pub fn suspend(&self, name: &ClusterName) -> bool {
        let cluster = {
            let mut state = self.0.state.lock();
            let Some(member) = state.members.get(name) else {
                return false;
            };
            let cluster = member.cluster.clone();
            state.suspended.insert(name.clone());
            cluster
        };
        tracing::info!(cluster = %name, "suspended by hand");
        self.follow_suspension(&cluster);
        true
    }

    /// Ends a suspension. False if no cluster of that name is suspended.
    pub fn resume(&self, name: &ClusterName) -> bool {
        let cluster = {
            let mut state = self.0.state.lock();
            if !state.suspended.remove(name) {
                return false;
            }
            state.members.get(name).map(|member| member.cluster.clone())
        };
        tracing::info!(cluster = %name, "resumed by hand");
        if let Some(cluster) = cluster {
            self.follow_suspension(&cluster);
        }
        true
    }

    /// Suspends or resumes the cluster, whichever was asked for last: of two who ask at once, the later one to come here
    /// need not be the one who asked last.
    fn follow_suspension(&self, cluster: &Cluster) {
        self.observe(cluster, |condition, now| {
            if self.0.state.lock().suspended.contains(cluster.name()) {
                condition.suspend(now);
            } else {
                condition.resume();
            }
        });
    }

    /// Takes note of something about a cluster; then its breaker, its health and what is told of it follow.
    ///
    /// Under the lock of the condition throughout, so that all of them follow in the same order. A breaker opens
    /// before and closes before its health says so: whoever is told can rely on it.
    pub(super) fn observe<T>(&self, cluster: &Cluster, note: impl FnOnce(&mut Condition, Instant) -> T) -> T {
        let now = Instant::now();
        let mut condition = cluster.condition().lock();
        let before = condition.stops();
        let noted = note(&mut condition, now);
        condition.steer(cluster.transport().breaker(), before);
        let health = condition.health(now);
        if cluster.set_health(health) {
            let complaints = condition.complaints().join("; ");
            tracing::info!(cluster = %cluster, %health, complaints, "health changed");
            self.tell_health(cluster, health);
        }
        noted
    }

    fn tell_health(&self, cluster: &Cluster, health: Health) {
        let mut state = self.0.state.lock();
        let current = state
            .members
            .get(cluster.name())
            .is_some_and(|member| member.cluster == *cluster);
        if current {
            state.listeners.tell(&FleetEvent::Health(cluster.clone(), health));
        }
    }
}
