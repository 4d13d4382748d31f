//! Providers made of others, as methods.
use super::{
    ClusterSpec, Provider,
    providers::{Dedupe, Filter, Prefix, Rename},
};
use crate::cluster::ClusterName;
use std::fmt::Display;

/// Makes providers of others, as `Iterator` makes iterators: usable wherever a provider is, such as in
/// `provider = ...`.
///
/// ```
/// use mcrt::{ClusterName, ProviderExt, providers::Clusters};
///
/// let ours = Clusters::new();
/// let provider = ours
///     .filter(|cluster| cluster.properties.labels.get("env").is_some_and(|env| env == "prod"))
///     .rename(|name| ClusterName::new(name.as_str().to_lowercase()))
///     .prefix("eu/")
///     .dedupe();
/// # mcrt::Manager::builder().provider(provider).build().unwrap();
/// ```
pub trait ProviderExt: Provider + Sized {
    /// The same clusters with a prefix before each name; it includes its separator: `eu/` makes `prod` into `eu/prod`.
    fn prefix(self, prefix: impl Into<String>) -> Prefix<Self> {
        Prefix::new(prefix, self)
    }

    /// Those clusters alone for which `passes` is true, as they are described now.
    fn filter<F>(self, passes: F) -> Filter<Self, F>
    where
        F: Fn(&ClusterSpec) -> bool + Send + Sync + 'static,
    {
        Filter::new(self, passes)
    }

    /// The same clusters under the names that `rename` makes of theirs.
    fn rename<F, E>(self, rename: F) -> Rename<Self, F>
    where
        F: Fn(&ClusterName) -> Result<ClusterName, E> + Send + Sync + 'static,
        E: Display,
    {
        Rename::new(self, rename)
    }

    /// The same clusters, each under the first of its names alone.
    fn dedupe(self) -> Dedupe<Self> {
        Dedupe::new(self)
    }
}

impl<P: Provider> ProviderExt for P {}
