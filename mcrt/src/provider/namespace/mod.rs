//! The namespaces of the host as clusters.
#[cfg(test)]
mod tests;

use super::{
    Change, ClusterSpec, Provider, ProviderContext,
    host::{self, Described, HostReader, HostSource},
};
use crate::{
    cache::{Store, WatchScope},
    cluster::{ClusterName, ObjectKey, Properties},
    connect::{Access, SharedServer},
};
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::ApiResource;
use parking_lot::Mutex;
use std::{fmt, sync::Arc};

/// Every namespace of the host is a cluster of the same name, but for those called `kube-*`.
///
/// All of them share the connections of one [`SharedServer`] and one watch per kind, however many there are. The labels
/// of the namespace are the labels of the cluster.
///
/// # Guarantees
/// - A namespace that is terminating takes its cluster with it at once: nothing new can be made in it. One that was
///   deleted and made again is another cluster of the same name.
/// - Requests outside of the namespace are refused on this side: see [`SharedServer::namespaces`].
///
/// # Assumptions
/// Who runs the controller may list and watch, in all namespaces, the kinds that it watches: the watches are shared.
///
/// ```
/// use mcrt::providers::Namespaces;
///
/// let tenants = Namespaces::new().labels("example.com/tenant").skip("sandbox-*");
/// let every_one = Namespaces::new().skip_none();
/// # let _ = (tenants, every_one);
/// ```
pub struct Namespaces {
    labels: Option<String>,
    skipped: Vec<String>,
    /// That of all streams: clusters that stay while a stream is started again stay on its watches.
    server: Mutex<Option<SharedServer>>,
}

/// The namespaces of Kubernetes itself.
const SYSTEM: &str = "kube-*";

impl Namespaces {
    /// Every namespace that is not called `kube-*`.
    pub fn new() -> Self {
        Self {
            labels: None,
            skipped: vec![SYSTEM.to_owned()],
            server: Mutex::default(),
        }
    }

    /// Which namespaces count: a label selector. An empty one takes every namespace.
    #[must_use]
    pub fn labels(mut self, selector: impl Into<String>) -> Self {
        self.labels = Some(selector.into()).filter(|selector| !selector.is_empty());
        self
    }

    /// Leaves out namespaces of this name too, beside `kube-*`; `*` stands for any characters. Repeat for more.
    #[must_use]
    pub fn skip(mut self, name: impl Into<String>) -> Self {
        self.skipped.push(name.into());
        self
    }

    /// Leaves out none, not even `kube-*`, but for what is said from here on.
    #[must_use]
    pub fn skip_none(mut self) -> Self {
        self.skipped.clear();
        self
    }

    /// The server that all these clusters are parts of, for its counts; none before the provider runs.
    pub fn shared(&self) -> Option<SharedServer> {
        self.server.lock().clone()
    }

    fn is_skipped(&self, name: &str) -> bool {
        self.skipped.iter().any(|pattern| fits(pattern, name))
    }

    /// The server of this host: the same as before, with newer credentials, where it is the same host.
    fn server(&self, host: &Access) -> SharedServer {
        let mut known = self.server.lock();
        if let Some(server) = &*known {
            match server.renew(host.clone()) {
                Ok(true) => return server.clone(),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "the host keeps its credentials: the new ones cannot be used");
                    return server.clone();
                }
            }
        }
        known.insert(SharedServer::namespaces(host.clone())).clone()
    }
}

/// Whether a name fits a pattern, in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    ends.any(|at| fits(rest, &name[at..]))
}

impl Default for Namespaces {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Namespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Namespaces")
            .field("labels", &self.labels)
            .field("skipped", &self.skipped)
            .finish_non_exhaustive()
    }
}

impl Provider for Namespaces {
    fn name(&self) -> &'static str {
        "namespace"
    }

    fn needs_host(&self) -> bool {
        true
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let server = cx.host().map(|host| self.server(host));
        let source = Source {
            provider: self,
            server,
        };
        host::changes(Arc::new(source), cx)
    }
}

/// One stream of the provider.
struct Source {
    provider: Arc<Namespaces>,
    /// None without a host, and then nothing is read.
    server: Option<SharedServer>,
}

impl HostSource for Source {
    type View = (Store<Namespace>, SharedServer);

    async fn open(&self, reader: &mut HostReader) -> Result<Self::View, String> {
        let server = self.server.clone().ok_or("there is no host to read")?;
        let mut scope = WatchScope::all(ApiResource::erase::<Namespace>(&()));
        scope.labels.clone_from(&self.provider.labels);
        let itself = |namespace: &Namespace| vec![ObjectKey::of(namespace)];
        Ok((reader.watch(scope, (), itself).await, server))
    }

    fn describe(&self, (namespaces, server): &Self::View, object: &ObjectKey) -> Vec<Described> {
        let Some(namespace) = namespaces.get(object) else {
            return Vec::new();
        };
        if self.provider.is_skipped(&object.name) || is_leaving(&namespace) {
            return Vec::new();
        }
        let name = match ClusterName::new(&*object.name) {
            Ok(name) => name,
            Err(error) => return vec![Described::Nameless(format!("Namespace `{object}`: {error}"))],
        };
        let uid = namespace.metadata.uid.clone().unwrap_or_default();
        let properties = Properties {
            labels: namespace.metadata.labels.clone().unwrap_or_default(),
            ..Properties::default()
        };
        let member = server.member(&*object.name);
        vec![Described::Cluster(
            ClusterSpec::new(name, uid, member).with_properties(properties),
        )]
    }
}

fn is_leaving(namespace: &Namespace) -> bool {
    let phase = namespace
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    namespace.metadata.deletion_timestamp.is_some() || phase == Some("Terminating")
}
