//! Requests that cannot be queued yet, by the cluster that they wait for.
use super::runtime::Shared;
use crate::{
    cluster::{ClusterName, ObjectKey},
    queue::Priority,
};
use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
};

/// A request by the names of its clusters: it means the same in every life of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    pub(crate) home: ClusterName,
    pub(crate) target: ClusterName,
    pub(crate) object: ObjectKey,
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} in {}", self.object, self.home, self.target)
    }
}

/// Each request once, however often it was made: no more than there are objects and clusters to name.
#[derive(Default)]
pub(crate) struct Waiting(HashMap<ClusterName, HashMap<Route, Priority>>);

impl Waiting {
    fn park(&mut self, until: ClusterName, route: Route, priority: Priority) {
        match self.0.entry(until).or_default().entry(route) {
            Entry::Occupied(mut known) => *known.get_mut() = priority.max(*known.get()),
            Entry::Vacant(new) => drop(new.insert(priority)),
        }
    }

    fn take(&mut self, until: &ClusterName) -> HashMap<Route, Priority> {
        self.0.remove(until).unwrap_or_default()
    }

    fn retain(&mut self, known: impl Fn(&ClusterName) -> bool) {
        self.0.retain(|until, routes| {
            routes.retain(|route, _| known(&route.home) && known(&route.target));
            known(until) && !routes.is_empty()
        });
    }
}

impl Shared {
    /// Queues a request, or keeps it until the clusters that it names have lanes. Of a cluster that the fleet does
    /// not know there may never be one: the request is dropped.
    pub(crate) fn request(&self, route: Route, priority: Priority) {
        if let Some(unselected) = self.place(route, priority)
            && self.engaged.write().unselected.insert(unselected.clone())
        {
            tracing::warn!(
                controller = %self.name, cluster = %unselected,
                "requests name a cluster that the controller does not select: they are dropped, and this is said once",
            );
        }
    }

    /// Gives the cluster of the fleet, if there is one, that is not selected.
    fn place(&self, route: Route, priority: Priority) -> Option<ClusterName> {
        {
            // Held while adding: a lane that ends is not published any more, so its purge finds all of it.
            let engaged = self.engaged.read();
            if let Ok((home, target)) = engaged.lanes_of(&route) {
                self.queue.add(home, target, route.object, priority);
                return None;
            }
        }
        let mut engaged = self.engaged.write();
        match engaged.lanes_of(&route) {
            Ok((home, target)) => self.queue.add(home, target, route.object, priority),
            // Asked under the lock: whoever drops what waits for a cluster that left asks under it, later.
            Err(missing) if self.expects(&route.home) && self.expects(&route.target) => {
                engaged.waiting.park(missing, route, priority);
            }
            Err(missing) => {
                tracing::debug!(
                    controller = %self.name, %missing, %route,
                    "a request names a cluster in which the controller does not work: dropped",
                );
                let names = [route.home, route.target].into_iter();
                let mut engaged = names.filter_map(|name| self.fleet.get(&name));
                let unselected = engaged.find(|cluster| !cluster.is_host() && !self.selects(cluster));
                return unselected.map(|cluster| cluster.name().clone());
            }
        }
        None
    }

    /// Whether the cluster has a lane of this controller or will have one.
    pub(crate) fn expects(&self, name: &ClusterName) -> bool {
        if name.is_host() && !self.uses_host {
            return false;
        }
        if let Some(cluster) = self.fleet.get(name) {
            return self.selects(&cluster);
        }
        // Before the provider has told which clusters there are, each may be one.
        let clusters = self.clusters.as_ref();
        let may_be = clusters.is_none_or(|clusters| clusters.may_select(name));
        !name.is_host() && may_be && !self.fleet.is_synced()
    }

    /// Whether the controller may select a cluster that is described in a way that cannot be used.
    pub(crate) fn may_select(&self, name: &ClusterName) -> bool {
        match (&self.clusters, self.fleet.get(name)) {
            (_, Some(cluster)) => self.selects(&cluster),
            (clusters, None) => clusters.as_ref().is_none_or(|clusters| clusters.may_select(name)),
        }
    }

    /// Keeps a request until a cluster other than its target has told what exists there, or is back.
    pub(crate) fn await_cluster(&self, name: &ClusterName, route: Route, priority: Priority) {
        let mut engaged = self.engaged.write();
        engaged.awaiting.park(name.clone(), route, priority);
    }

    /// The cluster has told what exists, is back, or ends: the requests that waited for it are made again.
    pub(crate) fn release_waiting(&self, name: &ClusterName) {
        let routes = self.engaged.write().awaiting.take(name);
        self.request_all(routes);
    }

    /// Makes requests again that were made before. One for a cluster that is not selected any more is no mistake.
    pub(crate) fn request_all(&self, routes: impl IntoIterator<Item = (Route, Priority)>) {
        for (route, priority) in routes {
            self.place(route, priority);
        }
    }

    /// Drops the requests that wait for clusters which have left the fleet or the controller, or are not in it now that
    /// it is synced.
    pub(crate) fn drop_unexpected(&self) {
        let mut engaged = self.engaged.write();
        engaged.unselected.retain(|name| self.fleet.get(name).is_some());
        engaged.waiting.retain(|name| self.expects(name));
        engaged.awaiting.retain(|name| self.expects(name));
    }
}

/// What waits for a lane is handed over under the lock that publishes it.
impl super::engagement::Engaged {
    pub(crate) fn take_waiting(&mut self, name: &ClusterName) -> HashMap<Route, Priority> {
        self.waiting.take(name)
    }

    /// The lanes of a request, or a cluster that has none.
    fn lanes_of(&self, route: &Route) -> Result<(crate::queue::Lane, crate::queue::Lane), ClusterName> {
        let lane = |name: &ClusterName| self.lane(name).ok_or_else(|| name.clone());
        Ok((lane(&route.home)?, lane(&route.target)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(home: &str, target: &str) -> Route {
        Route {
            home: ClusterName::new(home).unwrap(),
            target: ClusterName::new(target).unwrap(),
            object: ObjectKey::namespaced("default", "object"),
        }
    }

    #[test]
    fn a_request_waits_once_with_its_highest_priority_until_a_cluster_that_it_names_is_unknown() {
        let mut waiting = Waiting::default();
        let b = ClusterName::new("b").unwrap();
        for priority in [Priority::Low, Priority::High, Priority::Normal] {
            waiting.park(b.clone(), route("a", "b"), priority);
        }
        waiting.park(b.clone(), route("c", "b"), Priority::Low);
        waiting.retain(|name| name.as_str() != "c");
        let left: Vec<_> = waiting.take(&b).into_iter().collect();
        assert_eq!(left, [(route("a", "b"), Priority::High)]);
        waiting.park(b.clone(), route("a", "b"), Priority::Low);
        waiting.retain(|name| *name != b);
        assert!(waiting.0.is_empty());
    }
}
