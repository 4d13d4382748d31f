//! Clusters from the profiles of an inventory: `ClusterProfile` (KEP-4322), reached by access providers (KEP-5339).
//!
//! ```text
//! ClusterProfile --links--> the profiles of one cluster --choose--> one --name, engage?--> access --> Described
//!                                                                                            |
//!                    provider file + status.accessProviders -> program, run when needed <----+
//!                    Secret with a kubeconfig (deprecated)                              <----+
//! ```
mod fields;
mod file;
mod links;
mod memory;
mod naming;
mod options;
mod program;
mod secrets;
mod source;
#[cfg(test)]
mod tests;

pub use file::{ProviderFile, ProviderFileError};
pub use options::{EngageWhen, SameCluster, SecretLayout, UnknownOption};

use super::{Change, Provider, ProviderContext, host};
use crate::{apis::cluster_profile::ClusterProfile, cluster::ObjectKey, connect::Policy};
use futures::stream::BoxStream;
use kube::core::DynamicObject;
use links::Links;
use memory::Memory;
use options::Engage;
use parking_lot::Mutex;
use std::sync::Arc;

/// Every `ClusterProfile` of the host is a cluster, called `namespace/name`.
///
/// How a cluster is reached is said by two: the profile offers access providers (`status.accessProviders`, or the former
/// `status.credentialProviders`), and the operator's [`ProviderFile`] has a program for each that may be used. The first
/// of the file that the profile offers counts. The program runs when a request needs what it gives, not in the provider:
/// one that hangs holds up its own cluster alone.
///
/// # Guarantees
/// - A profile chooses no program. Arguments and variables that it brings are passed on only where the file says so for
///   that program, and to that profile's cluster alone.
/// - A cluster is engaged once its profile is healthy ([`EngageWhen`]) and offers a server. From then on it stays,
///   whatever `ControlPlaneHealthy` becomes: mcrt probes clusters itself. The condition is a property of the cluster
///   ([`leave_when_unhealthy`](Self::leave_when_unhealthy) has it leave).
/// - A profile that cannot be used is told of by [`Change::Rejected`], and its cluster stays as it was described last. One
///   that is deleted, being deleted, or no longer selected takes its cluster with it.
/// - `status.properties`, `status.version.kubernetes` (as `kubernetes-version`) and `ControlPlaneHealthy` are properties
///   of the cluster, by the inventory; the labels of the profile are its labels.
///
/// # Assumptions
/// Whoever can write a profile has the controller show credentials to servers of theirs. So profiles may ask for nothing
/// but inline data over verified TLS: [`Policy::strict`], unless [`policy`](Self::policy) says otherwise.
///
/// ```no_run
/// use mcrt::{provider::cluster_profile::ProviderFile, providers::ClusterProfiles};
///
/// let file = ProviderFile::read("/etc/mcrt/clusterprofile-provider-file.json")?;
/// let profiles = ClusterProfiles::new(file).in_namespace("fleet").manager("open-cluster-management");
/// # Ok::<(), mcrt::provider::cluster_profile::ProviderFileError>(())
/// ```
#[derive(Debug)]
pub struct ClusterProfiles {
    way: Way,
    namespaces: Vec<String>,
    labels: Option<String>,
    managers: Vec<String>,
    cluster_sets: Vec<String>,
    engage: Engage,
    leave: bool,
    same: Option<SameCluster>,
    named_by_cluster_id: bool,
    policy: Policy,
    /// Held for look-ups and changes of it alone.
    state: Arc<Mutex<State>>,
}

/// How clusters are reached.
#[derive(Debug)]
enum Way {
    Programs(ProviderFile),
    Secrets { consumer: String, layout: SecretLayout },
}

/// What all streams of the provider share.
#[derive(Debug, Default)]
struct State {
    links: Links,
    memory: Memory,
}

impl State {
    /// A profile has appeared, changed or gone: the groups to describe again.
    fn profile(&mut self, profile: &DynamicObject, same: Option<SameCluster>) -> Vec<ObjectKey> {
        let mut affected = self.links.profile(profile, same);
        // Others may wait for the name that its cluster has.
        if let Some((id, _)) = self.memory.held(&ObjectKey::of(profile)) {
            let waiting = self.links.claimants(id);
            affected.extend(waiting.iter().map(|key| self.links.group(key)));
        }
        affected
    }
}

impl ClusterProfiles {
    /// The clusters of all profiles, reached by the programs of this file.
    pub fn new(file: ProviderFile) -> Self {
        Self::by(Way::Programs(file))
    }

    /// The clusters of all profiles, reached by Secrets that hold a kubeconfig as `Config`, exactly one for each profile
    /// and consumer.
    ///
    /// Deprecated: KEP-4322 has given this way up for access providers; it is for inventories that know no other.
    pub fn from_secrets(consumer: impl Into<String>, layout: SecretLayout) -> Self {
        let consumer = consumer.into();
        Self::by(Way::Secrets { consumer, layout })
    }

    fn by(way: Way) -> Self {
        Self {
            way,
            namespaces: Vec::new(),
            labels: None,
            managers: Vec::new(),
            cluster_sets: Vec::new(),
            engage: Engage::When(EngageWhen::default()),
            leave: false,
            same: None,
            named_by_cluster_id: false,
            policy: Policy::strict(),
            state: Arc::default(),
        }
    }

    /// The profiles of this namespace. Repeat for more; each has a watch of its own.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        if !self.namespaces.contains(&namespace) {
            self.namespaces.push(namespace);
        }
        self
    }

    /// The profiles with these labels: a label selector.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into()).filter(|selector| !selector.is_empty());
        self
    }

    /// The profiles of this manager, by `spec.clusterManager.name`. Repeat for more.
    #[must_use]
    pub fn manager(mut self, name: impl Into<String>) -> Self {
        self.managers.push(name.into());
        self
    }

    /// The profiles of this cluster set: the label `multicluster.x-k8s.io/clusterset`, or
    /// `clusterset.multicluster.x-k8s.io`, on the profile or on its namespace. Repeat for more. Namespaces are watched
    /// for it.
    #[must_use]
    pub fn cluster_set(mut self, name: impl Into<String>) -> Self {
        self.cluster_sets.push(name.into());
        self
    }

    /// When a cluster is engaged for the first time, instead of [`EngageWhen::Healthy`].
    #[must_use]
    pub fn engage_when(mut self, when: EngageWhen) -> Self {
        self.engage = Engage::When(when);
        self
    }

    /// When a cluster is engaged for the first time, by a question of one's own in place of [`EngageWhen`]. It must not
    /// block.
    #[must_use]
    pub fn ready_when(mut self, ready: impl Fn(&ClusterProfile) -> bool + Send + Sync + 'static) -> Self {
        self.engage = Engage::If(Arc::new(ready));
        self
    }

    /// Has a cluster leave when its profile is no longer as it must be to be engaged, and begin anew when it is. Without
    /// it the cluster stays, and nothing is listed again.
    #[must_use]
    pub fn leave_when_unhealthy(mut self) -> Self {
        self.leave = true;
        self
    }

    /// Takes several profiles for one cluster. The one that stands for it is the first that can be used, in the order of
    /// namespace and name, and does so as long as it is there; then the next does, as another life of the cluster.
    #[must_use]
    pub fn same_cluster_by(mut self, same: SameCluster) -> Self {
        self.same = Some(same);
        self
    }

    /// Calls a cluster by its id, the property `cluster.clusterset.k8s.io` of its profile, instead of `namespace/name`.
    ///
    /// The id is what the member says of itself, so it is believed as far as nobody disputes it. A cluster keeps the name
    /// that it has: an id that changes is told of, and the name stays until the profile is deleted. An id that another
    /// cluster has for its name is not given to a second. Of two profiles that come with one id, where neither has the
    /// name yet, neither gets it. What waits for its name is told of as `namespace/name`.
    #[must_use]
    pub fn named_by_cluster_id(mut self) -> Self {
        self.named_by_cluster_id = true;
        self
    }

    /// What profiles may ask for of how their clusters are reached, [`Policy::strict`] if nothing is said: such as
    /// `insecure-skip-tls-verify` and `proxy-url`. The programs of the file may run in any case.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

impl Provider for ClusterProfiles {
    fn name(&self) -> &'static str {
        "cluster-profile"
    }

    fn needs_host(&self) -> bool {
        true
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        host::changes(self, cx)
    }
}
