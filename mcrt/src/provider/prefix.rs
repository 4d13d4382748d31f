//! A provider whose clusters get a common prefix.
use super::{Change, ClusterSpec, Provider, ProviderContext};
use crate::cluster::{ClusterName, InvalidClusterName};
use futures::{StreamExt, stream::BoxStream};
use std::sync::Arc;

/// Puts a prefix before the name of every cluster of a provider.
///
/// A name that gets too long leaves its cluster out, which is said once per description.
#[derive(Debug)]
pub struct Prefix<P> {
    prefix: String,
    inner: Arc<P>,
}

impl<P: Provider> Prefix<P> {
    /// The prefix includes its separator: `eu/` makes `prod` into `eu/prod`.
    pub fn new(prefix: impl Into<String>, inner: P) -> Self {
        Self {
            prefix: prefix.into(),
            inner: Arc::new(inner),
        }
    }
}

impl<P: Provider> Provider for Prefix<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn needs_host(&self) -> bool {
        self.inner.needs_host()
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let inner = Arc::clone(&self.inner).changes(cx);
        inner
            .filter_map(move |change| std::future::ready(renamed(&self.prefix, change)))
            .boxed()
    }
}

fn renamed(prefix: &str, change: Change) -> Option<Change> {
    Some(match change {
        Change::Upsert(spec) => match prefixed(prefix, &spec.name) {
            Ok(name) => Change::Upsert(ClusterSpec { name, ..spec }),
            Err(error) => Change::Failed(format!("cluster `{}` with prefix `{prefix}`: {error}", spec.name)),
        },
        Change::Rejected { name, reason } => Change::Rejected {
            name: prefixed(prefix, &name).ok()?,
            reason,
        },
        // What could not be named was never there.
        Change::Remove(name) => Change::Remove(prefixed(prefix, &name).ok()?),
        other => other,
    })
}

fn prefixed(prefix: &str, name: &ClusterName) -> Result<ClusterName, InvalidClusterName> {
    ClusterName::new(format!("{prefix}{name}"))
}
