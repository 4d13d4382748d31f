//! Where clusters come from: the provider trait, and the providers that are always there.
use crate::{
    cluster::{ClusterName, Properties},
    connect::Access,
};
use futures::stream::BoxStream;
use std::sync::Arc;

mod clusters;
#[cfg(feature = "file")]
mod file;
mod merge;
mod none;
mod prefix;
mod restart;
#[cfg(feature = "sim")]
mod sim;
mod single;
#[cfg(test)]
mod tests;

pub(crate) use restart::{Event, restarting};

/// The providers of this crate.
pub mod providers {
    #[cfg(feature = "file")]
    pub use super::file::File;
    #[cfg(feature = "sim")]
    pub use super::sim::Sim;
    pub use super::{
        clusters::{Clusters, NameTaken},
        merge::Merge,
        none::None,
        prefix::Prefix,
        single::Single,
    };
}

/// Says which clusters exist and how to reach each.
///
/// A provider neither dials nor probes: the fleet does, in a task per cluster. So a provider is a stream and little
/// more, and providers compose like streams ([`Merge`](providers::Merge), [`Prefix`](providers::Prefix)).
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
/// - `Upsert` of a known name with equal uid and equal [`Access::identity`] goes on with the cluster's life, with the
///   secret material of the newest description; with equal [`Access::fingerprint`] it changes nothing.
///
/// # Errors
/// A stream has no error that ends it: what went wrong is said by [`Failed`](Change::Failed), and what was good
/// before stays. Error is never read as absence.
pub trait Provider: Send + Sync + 'static {
    /// A short name for logs, such as `file`.
    fn name(&self) -> &str;

    /// The clusters: first all, then every change.
    fn changes(self: Arc<Self>) -> BoxStream<'static, Change>;
}

/// A shared provider is a provider.
impl<P: Provider + ?Sized> Provider for Arc<P> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn changes(self: Arc<Self>) -> BoxStream<'static, Change> {
        Arc::clone(&*self).changes()
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
    /// All that exists has been named.
    Synced,
    /// Something could not be read or used; what was said before stays.
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
