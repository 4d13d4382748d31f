//! Which clusters of those that a provider names are engaged at all, and which of them somebody selects.
use super::{Cluster, Fleet, FleetEvent};
use crate::{
    cluster::{ClusterName, ClusterSelector},
    provider::ClusterSpec,
};
use std::collections::{BTreeMap, BTreeSet};

/// What the operator of a fleet says of its clusters.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Which ones are engaged: those that each of these selects.
    pub(crate) clusters: Vec<ClusterSelector>,
    /// Names of properties for which a cluster's own word counts.
    pub(crate) trusted: BTreeSet<String>,
}

impl Fleet {
    /// Whether a selector selects an engaged cluster, as the fleet knows it now: what a cluster says of itself counts
    /// where the operator trusts it. The host is no matter of selection: it is not selected.
    pub fn selects(&self, selector: &ClusterSelector, cluster: &Cluster) -> bool {
        let trusted = &self.selection().trusted;
        !cluster.is_host() && selector.selects_trusting(cluster.name(), &cluster.properties(), trusted)
    }

    /// The clusters that the provider names and [`ManagerBuilder::clusters`](crate::ManagerBuilder::clusters) leaves
    /// out, in the order of their names: nothing is sent to them.
    pub fn left_out(&self) -> Vec<ClusterName> {
        self.0.state.lock().left_out.iter().cloned().collect()
    }

    /// Takes note of what a cluster says of itself.
    pub(super) fn take_word(&self, cluster: &Cluster, reported: BTreeMap<String, String>) {
        // Under the lock, so that listeners hear of changes in their order.
        let mut state = self.0.state.lock();
        let current = state.members.get(cluster.name());
        if current.is_some_and(|member| member.cluster == *cluster) && cluster.report(reported) {
            state.listeners.tell(&FleetEvent::Properties(cluster.clone()));
        }
    }

    /// Whether a cluster described like this is to be engaged. Nobody has asked it anything, so what it might say of
    /// itself does not count.
    pub(super) fn admits(&self, spec: &ClusterSpec) -> bool {
        let mut clusters = self.selection().clusters.iter();
        clusters.all(|selector| selector.selects(&spec.name, &spec.properties))
    }

    /// A cluster is selected, whether or not it can be engaged.
    pub(super) fn admit(&self, name: &ClusterName) {
        self.0.state.lock().left_out.remove(name);
    }

    /// Whether a cluster of which nothing but the name can be used might be engaged.
    pub(super) fn may_admit(&self, name: &ClusterName) -> bool {
        let mut clusters = self.selection().clusters.iter();
        clusters.all(|selector| selector.may_select(name)) && !self.0.state.lock().left_out.contains(name)
    }

    /// A cluster is there, and not to be engaged. One that was leaves the fleet.
    pub(super) fn leave_out(&self, name: &ClusterName) {
        if self.0.state.lock().left_out.contains(name) {
            return;
        }
        self.remove(name);
        tracing::info!(cluster = %name, "not selected: it is left out of the fleet");
        self.0.state.lock().left_out.insert(name.clone());
    }
}
