//! A provider for mcrt: every [vcluster](https://www.vcluster.com) of the host is a cluster.
//!
//! It uses nothing of mcrt that is not public: take it as a pattern for a provider of your own. `read` has what there is
//! to know of vcluster; the order of events, relists, names that clash and outages of the host are the matter of
//! [`mcrt::provider::host`].
//!
//! ```no_run
//! # use mcrt::{HandWired, Manager};
//! use mcrt_vcluster::Vcluster;
//!
//! # async fn start(controller: mcrt::Controller) -> mcrt::Result<()> {
//! let manager = Manager::builder()
//!     .provider(Vcluster::new())
//!     .controller(controller);
//! # drop(manager); Ok(()) }
//! ```
mod address;
mod read;
#[cfg(test)]
mod tests;

pub use address::Address;

use futures::stream::BoxStream;
use mcrt::{
    Provider,
    connect::Policy,
    provider::{
        Change, ProviderContext,
        host::{self, Names},
    },
};
use std::sync::Arc;

/// Every vcluster of the host is a cluster, by the Secret `vc-NAME` with a kubeconfig that each vcluster writes.
///
/// By default the Secrets with the label `app=vcluster` are read, in every namespace. Releases before 0.24 write none:
/// see [`without_labels`](Self::without_labels). A cluster is called `namespace/name`; the labels of the Secret are its
/// labels.
///
/// The kubeconfig names `https://localhost:8443` unless `exportKubeConfig.server` is set, which is where
/// `vcluster connect` forwards a port. So a server on this machine is replaced by `https://NAME.NAMESPACE:443`, the
/// Service of the vcluster, to which its certificate belongs: good for a controller in the host. See [`Address`] for
/// others.
///
/// # Guarantees
/// - A Secret whose kubeconfig cannot be used is told of by [`Change::Rejected`], and its cluster stays as it was
///   described last. A Secret that is deleted takes its cluster with it.
/// - A new client certificate or token is the same life of the cluster. A vcluster that was deleted and made again has
///   another authority, and is another life.
///
/// # Assumptions
/// - A vcluster that is paused keeps its Secret: to the fleet it is a cluster that cannot be reached, until it is
///   resumed.
/// - Whoever can write such Secrets has the controller work on a cluster of theirs, so kubeconfigs may hold nothing but
///   inline data: [`Policy::strict`], unless [`policy`](Self::policy) says otherwise.
#[derive(Clone, Debug)]
pub struct Vcluster {
    namespaces: Vec<String>,
    labels: Option<String>,
    names: Names,
    address: Address,
    tls_server_name: Option<String>,
    policy: Policy,
}

impl Vcluster {
    /// The vclusters of every namespace.
    pub fn new() -> Self {
        Self {
            namespaces: Vec::new(),
            labels: Some("app=vcluster".to_owned()),
            names: Names::Namespaced,
            address: Address::Service,
            tls_server_name: None,
            policy: Policy::strict(),
        }
    }

    /// The vclusters of this namespace. Repeat for more; each has a watch of its own.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        if !self.namespaces.contains(&namespace) {
            self.namespaces.push(namespace);
        }
        self
    }

    /// Which Secrets are read: a label selector, instead of `app=vcluster`.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into());
        self
    }

    /// Reads every Secret of the type `Opaque` in the namespaces, for vclusters of before 0.24. Those called `vc-NAME` with a key `config`
    /// count. Name the namespaces then: whatever else is in them is read too.
    #[must_use]
    pub fn without_labels(mut self) -> Self {
        self.labels = None;
        self
    }

    /// How the clusters are called, instead of [`Names::Namespaced`].
    #[must_use]
    pub fn names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// Where the API servers are reached, [`Address::Service`] if nothing is said.
    #[must_use]
    pub fn address(mut self, address: Address) -> Self {
        self.address = address;
        self
    }

    /// The name that the servers' certificates are for, where the address is not among them: `localhost` is in all.
    #[must_use]
    pub fn tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls_server_name = Some(name.into());
        self
    }

    /// What the kubeconfigs may ask for, [`Policy::strict`] if nothing is said. Addresses are vetted by it after they
    /// were replaced.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

impl Default for Vcluster {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for Vcluster {
    fn name(&self) -> &'static str {
        "vcluster"
    }

    fn needs_host(&self) -> bool {
        true
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        host::changes(self, cx)
    }
}
