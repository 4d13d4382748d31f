//! Clusters of Cluster API, from the host that manages them.
mod read;
#[cfg(test)]
mod tests;

use super::{
    Change, Provider, ProviderContext,
    host::{self, Names},
};
use crate::connect::Policy;
use futures::stream::BoxStream;
use std::sync::Arc;

/// Every [`Cluster`](crate::apis::cluster_api::Cluster) of Cluster API whose control plane has answered once is a cluster.
///
/// It is read in `v1beta2`, or in `v1beta1` where the host serves no other, and reached by the kubeconfig in the key
/// `value` of the Secret `NAME-kubeconfig` beside it. Both are watched. A cluster is called `namespace/name`. The labels
/// of the Cluster are its labels; its properties are `topology.class` and `topology.version`, `paused`, and the status
/// of the conditions `ControlPlaneAvailable` and `RemoteConnectionProbe`, as far as they are given.
///
/// # Guarantees
/// - A cluster is engaged once its control plane is initialized, which Cluster API never takes back, and disengaged when
///   its Cluster is being deleted or gone. Neither phase, nor workers, nor a failing condition disengage it: the fleet
///   asks the API server itself.
/// - A Secret that changes is seen without any change of the Cluster. One that is gone for a while, or cannot be used,
///   is told of by [`Change::Rejected`], and the cluster stays as it was described last.
/// - A Secret counts only if its label `cluster.x-k8s.io/cluster-name` names this cluster, and if it is owned by nobody,
///   by this Cluster, by its control plane or infrastructure, or by another object of Cluster API: other products put
///   Secrets of the same name beside Clusters, see [`allow_owner`](Self::allow_owner).
///
/// # Assumptions
/// Whoever can write such Clusters and Secrets has the controller work on a cluster of theirs, so kubeconfigs may hold
/// nothing but inline data: [`Policy::strict`], unless [`policy`](Self::policy) says otherwise.
///
/// ```
/// use mcrt::providers::ClusterApi;
///
/// let every_namespace = ClusterApi::new();
/// let some = ClusterApi::new()
///     .in_namespace("team-a")
///     .labels("stage!=test")
///     .leave_when_paused();
/// ```
#[derive(Clone, Debug)]
pub struct ClusterApi {
    namespaces: Vec<String>,
    labels: Option<String>,
    secret_labels: String,
    owners: Vec<String>,
    names: Names,
    policy: Policy,
    leave_when_paused: bool,
}

impl ClusterApi {
    /// The Clusters of every namespace.
    pub fn new() -> Self {
        Self {
            namespaces: Vec::new(),
            labels: None,
            secret_labels: crate::apis::cluster_api::CLUSTER_NAME_LABEL.to_owned(),
            owners: Vec::new(),
            names: Names::Namespaced,
            policy: Policy::strict(),
            leave_when_paused: false,
        }
    }

    /// The Clusters of this namespace. Repeat for more; each has watches of its own.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        if !self.namespaces.contains(&namespace) {
            self.namespaces.push(namespace);
        }
        self
    }

    /// Which Clusters count: a label selector, instead of all.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into()).filter(|selector| !selector.is_empty());
        self
    }

    /// Which Secrets are read: a label selector, instead of `cluster.x-k8s.io/cluster-name`, which Cluster API itself
    /// asks of Secrets that a person writes. An empty one reads every Secret, for those without the label.
    #[must_use]
    pub fn secret_labels(mut self, selector: impl Into<String>) -> Self {
        self.secret_labels = selector.into();
        self
    }

    /// Takes Secrets too that are owned by objects of this API group, such as `provisioning.cattle.io`: on a hub of
    /// Rancher, Cluster API itself uses the Secrets that Rancher writes. Repeat for more.
    #[must_use]
    pub fn allow_owner(mut self, group: impl Into<String>) -> Self {
        self.owners.push(group.into());
        self
    }

    /// How the clusters are called, instead of [`Names::Namespaced`].
    #[must_use]
    pub fn names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// What the kubeconfigs may ask for, [`Policy::strict`] if nothing is said.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Disengages a cluster while its Cluster is paused, by field or annotation. Unsaid, it stays: what is paused is the
    /// work of Cluster API on it, and the cluster goes on.
    #[must_use]
    pub fn leave_when_paused(mut self) -> Self {
        self.leave_when_paused = true;
        self
    }
}

impl Default for ClusterApi {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for ClusterApi {
    fn name(&self) -> &'static str {
        "cluster-api"
    }

    fn needs_host(&self) -> bool {
        true
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        host::changes(self, cx)
    }
}
