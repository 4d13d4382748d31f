//! For providers whose clusters are described by objects of the host.
//!
//! ```text
//! host --watch--> stores --objects that changed--> describe --Described--> claims --Upsert/Rejected/Remove--> stream
//! ```
//! Such a provider says what it watches ([`HostSource::open`]) and what one object describes now
//! ([`HostSource::describe`]); [`changes`] makes a stream of it that is right whatever the order of events, across
//! relists and outages of the host. Every object is described again when it, or what it refers to, has changed.
//!
//! A provider of clusters that `ConfigMap`s with a label describe, each by a kubeconfig:
//! ```
//! use futures::stream::BoxStream;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::core::ApiResource;
//! use mcrt::{
//!     ClusterName, ObjectKey, Provider, Store,
//!     cache::WatchScope,
//!     connect::{Connection, Policy},
//!     provider::{Change, ClusterSpec, ProviderContext, host::{self, Described, HostReader, HostSource}},
//! };
//! use std::sync::Arc;
//!
//! struct Maps;
//!
//! impl HostSource for Maps {
//!     type View = Store<ConfigMap>;
//!
//!     async fn open(&self, reader: &mut HostReader) -> Result<Self::View, String> {
//!         let mut scope = WatchScope::all(ApiResource::erase::<ConfigMap>(&()));
//!         scope.labels = Some("example.com/cluster".into());
//!         Ok(reader.watch(scope, (), |map: &ConfigMap| vec![ObjectKey::of(map)]).await)
//!     }
//!
//!     fn describe(&self, maps: &Self::View, object: &ObjectKey) -> Vec<Described> {
//!         let Some(map) = maps.get(object) else { return Vec::new() };
//!         let name = match ClusterName::new(object.to_string()) {
//!             Ok(name) => name,
//!             Err(error) => return vec![Described::Nameless(format!("ConfigMap `{object}`: {error}"))],
//!         };
//!         let data = map.data.clone().unwrap_or_default();
//!         let kubeconfig = data.get("kubeconfig").map(String::as_str).unwrap_or_default();
//!         vec![match Connection::from_bytes(kubeconfig, None, &Policy::strict()) {
//!             Ok(connection) => {
//!                 let uid = map.metadata.uid.clone().unwrap_or_default();
//!                 Described::Cluster(ClusterSpec::new(name, uid, connection))
//!             }
//!             Err(error) => Described::Unusable { name, reason: format!("ConfigMap `{object}`: {error}") },
//!         }]
//!     }
//! }
//!
//! impl Provider for Maps {
//!     fn name(&self) -> &str { "maps" }
//!     fn needs_host(&self) -> bool { true }
//!     fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
//!         host::changes(self, cx)
//!     }
//! }
//! ```
use super::{Change, ClusterSpec, ProviderContext};
use crate::cluster::{ClusterName, ObjectKey};
use futures::{StreamExt, stream, stream::BoxStream};
use std::{future::Future, sync::Arc};

mod claims;
mod following;
mod names;
mod reader;
#[cfg(test)]
mod tests;

pub use names::Names;
pub use reader::HostReader;

/// Where a provider's clusters are described: objects of the host.
pub trait HostSource: Send + Sync + 'static {
    /// What it reads from: the stores that it opened.
    type View: Send + 'static;

    /// Opens the watches. Called once for each stream; it may ask the host first, such as for the versions of a kind
    /// that it serves.
    ///
    /// # Errors
    /// In words, what is wrong and what to do. The stream ends with it, and is started again after a pause.
    fn open(&self, reader: &mut HostReader) -> impl Future<Output = Result<Self::View, String>> + Send;

    /// What the object of this key describes now: nothing if it is gone, or describes no cluster (any more). What it
    /// described before and does not describe again leaves the fleet.
    ///
    /// It is called when every watch has synced, and must not block: it looks into the stores. If it panics, that is
    /// told of the object alone, whose clusters stay as they were.
    fn describe(&self, view: &Self::View, object: &ObjectKey) -> Vec<Described>;
}

/// What an object of the host says of one cluster.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Described {
    /// There is this cluster.
    Cluster(ClusterSpec),
    /// There is this cluster, but it cannot be used as it is described: it goes on as it was before.
    Unusable {
        /// Which one.
        name: ClusterName,
        /// What is wrong, where, and what to do, without any secret value.
        reason: String,
    },
    /// There is this cluster, but it is not to be used any more: it leaves.
    Left {
        /// Which one.
        name: ClusterName,
        /// Why, without any secret value.
        reason: String,
    },
    /// There is something that gives no cluster a name: what is wrong, where, and what to do, without any secret value.
    /// It may be about any cluster that the object described before: those that it does not describe now stay.
    Nameless(String),
}

/// The stream of a provider that reads the host.
///
/// `Synced` is said once every watch has synced. A kind that the host does not serve or does not show is reported, and
/// holds `Synced` back: not seeing is not the same as nothing being there. Of two objects that claim one name the one
/// described first has it, in the order of namespace and name at the start; the other is reported, and gets the name
/// when the first gives it up.
///
/// A host that cannot be reached changes nothing: what was read stays, and what changed meanwhile is told when it is
/// back. A kind that is no longer served ends the stream, so that the source is opened again and can ask what is served
/// instead; until then the clusters stay.
pub fn changes<S: HostSource>(source: Arc<S>, cx: ProviderContext) -> BoxStream<'static, Change> {
    let begun = async move { following::Following::begin(source, &cx).await };
    let stream = stream::once(begun).flat_map(|begun| match begun {
        Ok(following) => stream::unfold(following, async |mut following| {
            let change = following.next().await?;
            Some((change, following))
        })
        .boxed(),
        Err(reason) => stream::iter([Change::Failed(reason)]).boxed(),
    });
    stream.boxed()
}
