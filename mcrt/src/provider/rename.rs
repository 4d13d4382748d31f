//! Providers whose clusters bear other names.
use super::{
    Change, ClusterSpec, Provider, ProviderContext,
    claims::{Claimant, Claims},
    stepwise::{guarded, stepwise},
};
use crate::cluster::ClusterName;
use futures::stream::BoxStream;
use std::{
    collections::HashMap,
    fmt::{self, Display},
    sync::Arc,
};

/// Gives every cluster of a provider the name that a function makes of its name; see
/// [`ProviderExt::rename`](super::ProviderExt::rename).
///
/// The function is asked once for each cluster that comes. One that it refuses, or panics for, is left out, which is said
/// once. Of two clusters that it gives one name the first has it; the other is told of in a
/// [rejection](Change::Rejected) of that name, and inherits it.
pub struct Rename<P, F> {
    inner: Arc<P>,
    rename: Arc<F>,
}

impl<P: Provider, F> Rename<P, F> {
    /// `rename` makes the new name of the old.
    pub fn new<E>(inner: P, rename: F) -> Self
    where
        F: Fn(&ClusterName) -> Result<ClusterName, E> + Send + Sync + 'static,
        E: Display,
    {
        Self {
            inner: Arc::new(inner),
            rename: Arc::new(rename),
        }
    }
}

impl<P: Provider, F> fmt::Debug for Rename<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rename")
            .field(&self.inner.name())
            .finish_non_exhaustive()
    }
}

impl<P, F, E> Provider for Rename<P, F>
where
    P: Provider,
    F: Fn(&ClusterName) -> Result<ClusterName, E> + Send + Sync + 'static,
    E: Display,
{
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn needs_host(&self) -> bool {
        self.inner.needs_host()
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let rename = Arc::clone(&self.rename);
        renamed(&self.inner, cx, move |name| {
            rename(name).map_err(|error| error.to_string())
        })
    }
}

/// Puts a prefix before the name of every cluster of a provider; see
/// [`ProviderExt::prefix`](super::ProviderExt::prefix).
///
/// A name that gets too long leaves its cluster out, which is said once.
#[derive(Debug)]
pub struct Prefix<P> {
    prefix: Arc<str>,
    inner: Arc<P>,
}

impl<P: Provider> Prefix<P> {
    /// The prefix includes its separator: `eu/` makes `prod` into `eu/prod`.
    pub fn new(prefix: impl Into<String>, inner: P) -> Self {
        Self {
            prefix: prefix.into().into(),
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
        let prefix = Arc::clone(&self.prefix);
        renamed(&self.inner, cx, move |name| {
            ClusterName::new(format!("{prefix}{name}"))
                .map_err(|error| format!("with prefix `{prefix}`: {error}"))
        })
    }
}

fn renamed<P: Provider>(
    inner: &Arc<P>,
    cx: ProviderContext,
    rename: impl Fn(&ClusterName) -> Result<ClusterName, String> + Send + 'static,
) -> BoxStream<'static, Change> {
    let mut renaming = Renaming {
        rename,
        names: HashMap::new(),
        claims: Claims::default(),
    };
    stepwise(Arc::clone(inner).changes(cx), move |change| renaming.take(change))
}

/// One stream.
struct Renaming<F> {
    rename: F,
    /// What each cluster is called, if it can be: a name stays while its cluster does.
    names: HashMap<ClusterName, Option<ClusterName>>,
    claims: Claims<Before>,
}

/// The name before.
#[derive(Clone, PartialEq)]
struct Before(ClusterName);

impl Claimant for Before {
    const ADVICE: &str = "rename them to different names";

    fn shown(&self) -> String {
        format!("`{}` (its name before)", self.0)
    }
}

impl<F: Fn(&ClusterName) -> Result<ClusterName, String>> Renaming<F> {
    fn take(&mut self, change: Change) -> Vec<Change> {
        match change {
            Change::Upsert(spec) => match self.name_of(&spec.name) {
                Ok(Some(name)) => {
                    let before = Before(spec.name);
                    self.claims.claim(&before, ClusterSpec { name, ..spec })
                }
                Ok(None) => Vec::new(),
                Err(said) => vec![Change::Failed(said)],
            },
            Change::Rejected { name: before, reason } => match self.name_of(&before) {
                Ok(Some(name)) => self.claims.reject(&Before(before), &name, reason),
                Ok(None) => Vec::new(),
                Err(said) => vec![Change::Failed(said)],
            },
            Change::Remove(before) => match self.names.remove(&before) {
                Some(Some(name)) => self.claims.release(&Before(before), &name),
                // What could not be named was never there.
                _ => Vec::new(),
            },
            other => vec![other],
        }
    }

    /// What the cluster is called now, nothing if it was said that it cannot be; an error is yet to be said.
    fn name_of(&mut self, before: &ClusterName) -> Result<Option<ClusterName>, String> {
        if let Some(known) = self.names.get(before) {
            return Ok(known.clone());
        }
        let name = guarded(|| (self.rename)(before)).and_then(|named| named);
        self.names.insert(before.clone(), name.as_ref().ok().cloned());
        name.map(Some)
            .map_err(|reason| format!("cluster `{before}` cannot be renamed, and is left out: {reason}"))
    }
}
