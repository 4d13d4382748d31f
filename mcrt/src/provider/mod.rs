//! Where clusters come from: the provider trait, providers that are always there, and those of features.
use crate::{
    cluster::{ClusterName, Properties},
    connect::Access,
};
use futures::stream::BoxStream;
use std::sync::Arc;

mod claims;
#[cfg(feature = "cluster-api")]
mod cluster_api;
#[cfg(feature = "cluster-profile")]
pub mod cluster_profile;
mod clusters;
#[cfg(feature = "command")]
mod command;
mod context;
mod dedupe;
mod extension;
#[cfg(feature = "file")]
mod file;
mod filter;
pub mod host;
#[cfg(feature = "kcp")]
mod kcp;
#[cfg(feature = "kind")]
mod kind;
#[cfg(feature = "kubeconfig")]
mod kubeconfig;
mod merge;
#[cfg(feature = "namespace")]
mod namespace;
mod none;
mod rename;
mod restart;
#[cfg(any(feature = "kind", feature = "command"))]
mod said;
#[cfg(any(feature = "kubeconfig", feature = "cluster-api", feature = "cluster-profile"))]
mod secret;
#[cfg(feature = "sim")]
mod sim;
mod single;
mod stepwise;
#[cfg(test)]
mod tests;

pub use context::ProviderContext;
pub use extension::ProviderExt;
pub(crate) use restart::{Event, restarting};

/// The providers of this crate.
pub mod providers {
    #[cfg(feature = "cluster-api")]
    pub use super::cluster_api::ClusterApi;
    #[cfg(feature = "cluster-profile")]
    pub use super::cluster_profile::ClusterProfiles;
    #[cfg(feature = "command")]
    pub use super::command::Command;
    #[cfg(feature = "file")]
    pub use super::file::File;
    #[cfg(feature = "kcp")]
    pub use super::kcp::Kcp;
    #[cfg(feature = "kind")]
    pub use super::kind::Kind;
    #[cfg(feature = "kubeconfig")]
    pub use super::kubeconfig::Kubeconfig;
    #[cfg(feature = "namespace")]
    pub use super::namespace::Namespaces;
    #[cfg(feature = "sim")]
    pub use super::sim::Sim;
    pub use super::{
        clusters::{Clusters, NameTaken},
        dedupe::Dedupe,
        filter::Filter,
        merge::{Merge, SourceTaken},
        none::None,
        rename::{Prefix, Rename},
        single::Single,
    };
}

/// Says which clusters exist and how to reach each.
///
/// A provider neither dials nor probes: the fleet does, in a task per cluster. So a provider is a stream and little
/// more, and providers compose like streams ([`ProviderExt`], [`Merge`](providers::Merge)).
///
/// # Guarantees
/// - A stream begins with the whole current set, an [`Upsert`](Change::Upsert) each, then [`Synced`](Change::Synced),
///   then changes as they come.
/// - Every call of `changes` gives such a stream; several may run at once and each sees all.
/// - Whatever a stream starts (watches, timers, threads) ends when it is dropped.
///
/// # Assumptions
/// - A stream may end, and may be dropped at any time. The fleet then keeps its clusters, calls `changes` again after
///   a pause that grows, and at the next `Synced` removes what was not named again.
/// - [`Rejected`](Change::Rejected) leaves a cluster as it was described last, or out of the fleet if it never was.
/// - `Upsert` of a known name with equal uid and equal [`Access::identity`] goes on with the cluster's life, with the
///   secret material of the newest description; with equal [`Access::fingerprint`] it changes nothing.
///
/// # Errors
/// A stream has no error that ends it: what went wrong is said by [`Failed`](Change::Failed), and what was good
/// before stays. Error is never read as absence.
pub trait Provider: Send + Sync + 'static {
    /// A short name for logs, such as `file`.
    fn name(&self) -> &str;

    /// Whether it reads the host: then a manager without one does not start.
    fn needs_host(&self) -> bool {
        false
    }

    /// The clusters: first all, then every change.
    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change>;
}

/// A shared provider is a provider.
impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn needs_host(&self) -> bool {
        (**self).needs_host()
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        Arc::clone(&*self).changes(cx)
    }
}

/// What a provider says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// This cluster exists, reached this way; replaces what was said of the name before.
    Upsert(ClusterSpec),
    /// No cluster of that name exists any more.
    Remove(ClusterName),
    /// The cluster is there, but cannot be used as it is described now; what was said of it before stays, and the
    /// fleet tells of the reason until the cluster is described otherwise. Counts as named.
    Rejected {
        /// Which one.
        name: ClusterName,
        /// What is wrong, where, and what to do about it, without any secret value.
        reason: String,
    },
    /// All that exists has been named.
    Synced,
    /// Something could not be read that is no single cluster; what was said before stays.
    Failed(String),
}

/// A cluster as its provider describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClusterSpec {
    /// Unique among the provider's clusters.
    pub name: ClusterName,
    /// Tells two clusters apart that bear the same name one after the other, such as the UID of an object.
    pub uid: String,
    /// How to reach it.
    pub access: Access,
    /// What the host side says of it.
    pub properties: Properties,
}

impl ClusterSpec {
    /// A cluster without properties.
    pub fn new(name: ClusterName, uid: impl Into<String>, access: impl Into<Access>) -> Self {
        Self {
            name,
            uid: uid.into(),
            access: access.into(),
            properties: Properties::default(),
        }
    }

    /// The same with these properties.
    #[must_use]
    pub fn with_properties(mut self, properties: Properties) -> Self {
        self.properties = properties;
        self
    }

    /// Whether the other says the same, so that naming it again would change nothing.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.uid == other.uid
            && self.properties == other.properties
            && self.access.fingerprint() == other.access.fingerprint()
    }
}
