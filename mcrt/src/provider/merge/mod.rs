//! Several providers as one, added and removed while it runs.
mod following;
mod merged;

use super::{Change, Provider, ProviderContext};
use following::Following;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The clusters of several providers.
///
/// Clones are handles to the same set: providers may be added and removed from any task, before and after start. No
/// call waits for a stream, and an event of one costs the same however many there are.
///
/// # Guarantees
/// - A name belongs to the provider that claimed it first. Another claim is told of in a
///   [rejection](Change::Rejected) of that name and waits: it gets the name when the first gives it up, as the end of
///   one life and the beginning of another.
/// - `Synced` is said once, when every provider that was there when the stream began has synced (or was removed), so
///   nothing is taken for gone because one is slow. The clusters of those that are fast do not wait for it.
/// - A provider that ends or panics keeps its clusters, does not touch the others and is restarted after 1 s, then
///   2 s, up to 30 s; what it does not name again by its next `Synced` is removed.
/// - A provider that is removed takes its clusters with it, and its stream is dropped.
#[derive(Clone)]
pub struct Merge {
    name: Arc<str>,
    sources: Arc<watch::Sender<Sources>>,
}

/// There is a provider of that name already.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a provider named `{0}` is merged already: remove it first, or give one of them another name")]
pub struct SourceTaken(pub String);

#[derive(Default)]
struct Sources {
    /// By the number of their addition: a stream follows what has come since it looked last.
    all: BTreeMap<u64, Source>,
    numbers: HashMap<Arc<str>, u64>,
    added: u64,
    /// Names that came twice before anybody could be told.
    refused: Vec<SourceTaken>,
    may_read_host: bool,
}

#[derive(Clone)]
struct Source {
    name: Arc<str>,
    provider: Arc<dyn Provider>,
    removed: CancellationToken,
}

impl Merge {
    /// No providers yet.
    pub fn new() -> Self {
        Self {
            name: "merge".into(),
            sources: Arc::new(watch::Sender::new(Sources::default())),
        }
    }

    /// How logs call this provider, `merge` if nothing is said.
    #[must_use]
    pub fn called(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Providers that are added later may read the host, so that there has to be one at the start.
    #[must_use]
    pub fn reading_host(self) -> Self {
        self.sources.send_modify(|sources| sources.may_read_host = true);
        self
    }

    /// Adds a provider; its name, any text, stands in reports. Of two with one name the second is left out, which
    /// every stream says at its start; [`add`](Self::add) tells its caller.
    #[must_use]
    pub fn with(self, name: impl Into<String>, provider: impl Provider) -> Self {
        if let Err(taken) = self.add(name, provider) {
            self.sources.send_modify(|sources| sources.refused.push(taken));
        }
        self
    }

    /// Adds a provider whose name, any text, is free.
    ///
    /// One that [reads the host](Provider::needs_host) finds none where the manager has none: see
    /// [`reading_host`](Self::reading_host).
    ///
    /// # Errors
    /// If a provider of that name is there.
    pub fn add(&self, name: impl Into<String>, provider: impl Provider) -> Result<(), SourceTaken> {
        let name: Arc<str> = name.into().into();
        let source = Source {
            name: Arc::clone(&name),
            provider: Arc::new(provider),
            removed: CancellationToken::new(),
        };
        let mut refused = Some(source);
        self.sources.send_if_modified(|sources| {
            if sources.numbers.contains_key(&name) {
                return false;
            }
            sources.added += 1;
            let number = sources.added;
            sources.numbers.insert(Arc::clone(&name), number);
            sources.all.extend(refused.take().map(|source| (number, source)));
            true
        });
        refused.map_or(Ok(()), |source| Err(SourceTaken(source.name.to_string())))
    }

    /// Removes a provider, and with it its clusters; returns it.
    pub fn remove(&self, name: &str) -> Option<Arc<dyn Provider>> {
        let mut removed = None;
        // Streams that follow it are woken by its token, all others have nothing to do.
        self.sources.send_if_modified(|sources| {
            let number = sources.numbers.remove(name);
            removed = number.and_then(|number| sources.all.remove(&number));
            false
        });
        let source = removed?;
        source.removed.cancel();
        Some(source.provider)
    }

    /// The names of all providers, in the order of their addition.
    pub fn names(&self) -> Vec<String> {
        let sources = self.sources.borrow();
        sources
            .all
            .values()
            .map(|source| source.name.to_string())
            .collect()
    }
}

impl Default for Merge {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Merge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Provider for Merge {
    fn name(&self) -> &str {
        &self.name
    }

    fn needs_host(&self) -> bool {
        let sources = self.sources.borrow();
        let may = sources.may_read_host;
        let all: Vec<_> = sources
            .all
            .values()
            .map(|source| Arc::clone(&source.provider))
            .collect();
        drop(sources);
        may || all.iter().any(Provider::needs_host)
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        stream::unfold(Following::begin(self, cx), async |mut following| {
            let change = following.next().await;
            Some((change, following))
        })
        .boxed()
    }
}
