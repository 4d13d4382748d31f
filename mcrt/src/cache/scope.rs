//! What a cache holds, and how its watch fares.
use kube::{Resource, core::ApiResource};
use serde::de::DeserializeOwned;
use std::fmt;

/// What one cache of one cluster holds. Equal scopes share a cache.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchScope {
    /// The kind.
    pub resource: ApiResource,
    /// The namespaces to watch, each with a watch of its own; none means all of them with one watch.
    pub namespaces: Vec<String>,
    /// A label selector.
    pub labels: Option<String>,
    /// A field selector.
    pub fields: Option<String>,
    /// Whether only the metadata of each object is fetched and kept. A cache sets it from the type that it holds.
    pub metadata_only: bool,
}

impl WatchScope {
    /// Every object of a kind, whole.
    pub fn all(resource: ApiResource) -> Self {
        Self {
            resource,
            namespaces: Vec::new(),
            labels: None,
            fields: None,
            metadata_only: false,
        }
    }

    /// The same scope whatever the order and repetition in which its namespaces were written; the form is that of
    /// the type that holds the objects.
    pub(super) fn of<K: Resource>(mut self) -> Self {
        self.metadata_only = K::metadata_api();
        self.namespaces.sort_unstable();
        self.namespaces.dedup();
        self
    }
}

/// `configmaps`, or `configmaps.example.com in a, b with team=x (metadata)`.
impl fmt::Display for WatchScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource.plural)?;
        if !self.resource.group.is_empty() {
            write!(f, ".{}", self.resource.group)?;
        }
        if !self.namespaces.is_empty() {
            write!(f, " in {}", self.namespaces.join(", "))?;
        }
        for selector in [&self.labels, &self.fields].into_iter().flatten() {
            write!(f, " with {selector}")?;
        }
        if self.metadata_only {
            f.write_str(" (metadata)")?;
        }
        Ok(())
    }
}

/// How the watch of a cache fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WatchState {
    /// Created and not started.
    Idle,
    /// Started; the first list is not complete.
    Syncing,
    /// The store holds everything that the server listed, and follows it. It stays so during a relist.
    Synced,
    /// The server refuses to list or watch the kind. Retried slowly; what the store held before stays readable.
    Forbidden,
    /// The server does not serve the kind. Retried slowly; what the store held before stays readable.
    Absent,
    /// The cache was closed: nothing follows the server any more, the store stays readable.
    Closed,
}

impl WatchState {
    /// The word for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Syncing => "syncing",
            Self::Synced => "synced",
            Self::Forbidden => "forbidden",
            Self::Absent => "absent",
            Self::Closed => "closed",
        }
    }
}

impl fmt::Display for WatchState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A kind, or the metadata of a kind, that a cache can hold. Implemented for all that qualify.
pub trait Cacheable:
    Resource<DynamicType: Clone + Send + Sync + 'static> + Clone + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> Cacheable for K where
    K: Resource<DynamicType: Clone + Send + Sync + 'static>
        + Clone
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}
