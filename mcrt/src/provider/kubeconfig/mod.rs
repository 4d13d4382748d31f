//! Clusters from kubeconfigs in Secrets of the host.
#[cfg(test)]
mod tests;

use super::{
    Change, ClusterSpec, Provider, ProviderContext,
    host::{self, Described, HostReader, HostSource, Names},
    secret,
};
use crate::{
    cache::{Store, WatchScope},
    cluster::{ObjectKey, Properties},
    connect::Policy,
};
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Secret;
use kube::core::ApiResource;
use std::sync::Arc;

/// Every Secret of the host with a label and a kubeconfig in it is a cluster.
///
/// By default the label is `sigs.k8s.io/multicluster-runtime-kubeconfig: "true"` and the key of the data `kubeconfig`, as
/// for the provider of multicluster-runtime. Secrets without the label are not read, let alone kept.
///
/// A cluster is called like its Secret where one namespace is read, else `namespace/name`, so that Secrets of one name in
/// two namespaces are two clusters. The labels of the Secret are the labels of the cluster.
///
/// # Guarantees
/// - A Secret whose kubeconfig cannot be used (no such key, empty, not a kubeconfig, or more than the policy allows) is
///   told of by [`Change::Rejected`], and its cluster stays as it was described last.
/// - A Secret that is deleted, being deleted, or loses its label takes its cluster with it.
/// - Where only a token, password or client certificate changes, the cluster's life goes on with it. Another server,
///   authority or kind of user is another life, and so is a Secret that was deleted and made again.
///
/// # Assumptions
/// Whoever can write such a Secret has the controller work on a cluster of theirs, so kubeconfigs may hold nothing but
/// inline data: [`Policy::strict`], unless [`policy`](Self::policy) says otherwise.
///
/// ```
/// use mcrt::{connect::Policy, providers::Kubeconfig};
///
/// let every_namespace = Kubeconfig::new();
/// let one = Kubeconfig::new()
///     .in_namespace("fleet")
///     .labels("example.com/member,example.com/stage!=test")
///     .key("value")
///     .policy(Policy::strict().allow_command("aws-iam-authenticator"));
/// ```
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    namespaces: Vec<String>,
    labels: String,
    key: String,
    context: Option<String>,
    names: Option<Names>,
    policy: Policy,
}

/// As the provider of multicluster-runtime looks for them.
const LABELS: &str = "sigs.k8s.io/multicluster-runtime-kubeconfig=true";
const KEY: &str = "kubeconfig";

impl Kubeconfig {
    /// The Secrets of every namespace.
    pub fn new() -> Self {
        Self {
            namespaces: Vec::new(),
            labels: LABELS.to_owned(),
            key: KEY.to_owned(),
            context: None,
            names: None,
            policy: Policy::strict(),
        }
    }

    /// The Secrets of this namespace. Repeat for more; each has a watch of its own.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        if !self.namespaces.contains(&namespace) {
            self.namespaces.push(namespace);
        }
        self
    }

    /// Which Secrets count: a label selector, instead of `sigs.k8s.io/multicluster-runtime-kubeconfig=true`. An empty one
    /// takes every Secret, and each without a kubeconfig is a cluster that cannot be used.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = selector.into();
        self
    }

    /// The key of the data that holds the kubeconfig, instead of `kubeconfig`.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// Which context counts, instead of the current or the only one of each kubeconfig.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        self.context = Some(context.into());
        self
    }

    /// How the clusters are called, instead of [`Names::Short`] for one namespace and [`Names::Namespaced`] for several.
    #[must_use]
    pub fn names(mut self, names: Names) -> Self {
        self.names = Some(names);
        self
    }

    /// What the kubeconfigs may ask for, [`Policy::strict`] if nothing is said.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    fn called(&self) -> Names {
        self.names.unwrap_or(match self.namespaces[..] {
            [_] => Names::Short,
            _ => Names::Namespaced,
        })
    }
}

impl Default for Kubeconfig {
    fn default() -> Self {
        Self::new()
    }
}

impl HostSource for Kubeconfig {
    type View = Store<Secret>;

    async fn open(&self, reader: &mut HostReader) -> Result<Self::View, String> {
        let mut scope = WatchScope::all(ApiResource::erase::<Secret>(&()));
        scope.namespaces.clone_from(&self.namespaces);
        scope.labels = Some(self.labels.clone()).filter(|selector| !selector.is_empty());
        let itself = |secret: &Secret| vec![ObjectKey::of(secret)];
        Ok(reader.watch(scope, (), itself).await)
    }

    fn describe(&self, secrets: &Self::View, object: &ObjectKey) -> Vec<Described> {
        let Some(secret) = secrets.get(object) else {
            return Vec::new();
        };
        if secret.metadata.deletion_timestamp.is_some() {
            return Vec::new();
        }
        let name = match self.called().of(object) {
            Ok(name) => name,
            Err(reason) => return vec![Described::Nameless(format!("Secret {reason}"))],
        };
        let connection = secret::connection(&secret, &self.key, self.context.as_deref(), &self.policy);
        vec![match connection {
            Err(reason) => Described::Unusable { name, reason },
            Ok(connection) => {
                let properties = Properties {
                    labels: secret.metadata.labels.clone().unwrap_or_default(),
                    ..Properties::default()
                };
                let uid = secret.metadata.uid.clone().unwrap_or_default();
                Described::Cluster(ClusterSpec::new(name, uid, connection).with_properties(properties))
            }
        }]
    }
}

impl Provider for Kubeconfig {
    fn name(&self) -> &'static str {
        "kubeconfig"
    }

    fn needs_host(&self) -> bool {
        true
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        host::changes(self, cx)
    }
}
