//! Some of the clusters of a provider.
use super::{
    Change, ClusterSpec, Provider, ProviderContext,
    stepwise::{guarded, stepwise},
};
use crate::cluster::ClusterName;
use futures::stream::BoxStream;
use std::{collections::HashMap, fmt, sync::Arc};

/// Those clusters of a provider that a predicate lets pass; see [`ProviderExt::filter`](super::ProviderExt::filter).
///
/// Every description is asked about: a cluster whose properties change may leave or come. One that was never described
/// in a way that can be used passes with its [rejection](Change::Rejected). If the predicate panics, the cluster is
/// rejected and stays as it was.
pub struct Filter<P, F> {
    inner: Arc<P>,
    passes: Arc<F>,
}

impl<P, F> Filter<P, F>
where
    P: Provider,
    F: Fn(&ClusterSpec) -> bool + Send + Sync + 'static,
{
    /// Those for which `passes` is true.
    pub fn new(inner: P, passes: F) -> Self {
        Self {
            inner: Arc::new(inner),
            passes: Arc::new(passes),
        }
    }
}

impl<P: Provider, F> fmt::Debug for Filter<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Filter")
            .field(&self.inner.name())
            .finish_non_exhaustive()
    }
}

impl<P, F> Provider for Filter<P, F>
where
    P: Provider,
    F: Fn(&ClusterSpec) -> bool + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn needs_host(&self) -> bool {
        self.inner.needs_host()
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let mut filtering = Filtering {
            passes: Arc::clone(&self.passes),
            known: HashMap::new(),
        };
        stepwise(Arc::clone(&self.inner).changes(cx), move |change| {
            filtering.take(change)
        })
    }
}

/// One stream.
struct Filtering<F> {
    passes: Arc<F>,
    /// Whether each cluster passed last.
    known: HashMap<ClusterName, bool>,
}

impl<F: Fn(&ClusterSpec) -> bool> Filtering<F> {
    fn take(&mut self, change: Change) -> Option<Change> {
        match change {
            Change::Upsert(spec) => match guarded(|| (self.passes)(&spec)) {
                Ok(true) => {
                    self.known.insert(spec.name.clone(), true);
                    Some(Change::Upsert(spec))
                }
                Ok(false) => {
                    let passed = self.known.insert(spec.name.clone(), false);
                    passed.filter(|passed| *passed).map(|_| Change::Remove(spec.name))
                }
                Err(reason) => self.reject(spec.name, format!("it cannot be filtered: {reason}")),
            },
            Change::Rejected { name, reason } => self.reject(name, reason),
            Change::Remove(name) => self
                .known
                .remove(&name)
                .filter(|passed| *passed)
                .map(|_| Change::Remove(name)),
            other => Some(other),
        }
    }

    fn reject(&mut self, name: ClusterName, reason: String) -> Option<Change> {
        self.known
            .entry(name.clone())
            .or_insert(true)
            .then_some(Change::Rejected { name, reason })
    }
}
