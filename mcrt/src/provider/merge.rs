//! Several providers as one.
use super::{
    Change, ClusterSpec, Provider, ProviderContext,
    restart::{Event, restarting},
};
use crate::cluster::ClusterName;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

/// The clusters of several providers.
///
/// A name belongs to the source that claimed it first; another claim is reported and waits: it gets the name when
/// the first gives it up. `Synced` is said once, when every source has synced, so nothing is taken for gone because
/// one source is slow. A source that ends or panics keeps its clusters, does not touch the others and is restarted
/// after 1 s, then 2 s, up to 30 s; what it does not name again by its next `Synced` is removed.
#[derive(Default)]
pub struct Merge {
    sources: Vec<Source>,
}

#[derive(Clone)]
struct Source {
    name: String,
    provider: Arc<dyn Provider>,
}

impl Merge {
    /// No sources yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source; the name stands in reports.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, provider: impl Provider) -> Self {
        self.sources.push(Source {
            name: name.into(),
            provider: Arc::new(provider),
        });
        self
    }
}

impl fmt::Debug for Merge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.sources.iter().map(|source| &source.name))
            .finish()
    }
}

impl Provider for Merge {
    fn name(&self) -> &'static str {
        "merge"
    }

    fn needs_host(&self) -> bool {
        self.sources.iter().any(|source| source.provider.needs_host())
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let mut merged = Merged::of(&self.sources);
        let events = self.sources.iter().enumerate().map(|(index, source)| {
            restarting(Arc::clone(&source.provider), cx.clone())
                .map(move |event| (index, event))
                .boxed()
        });
        let first = stream::iter(merged.start());
        let rest = stream::select_all(events)
            .flat_map(move |(index, event)| stream::iter(merged.take(index, event)));
        // Without sources the stream would end, only to be restarted.
        first.chain(rest).chain(stream::pending()).boxed()
    }
}

/// What the sources have said, and who owns which name.
struct Merged {
    sources: Vec<State>,
    owners: BTreeMap<ClusterName, usize>,
    synced: bool,
}

#[derive(Default)]
struct State {
    name: String,
    synced: bool,
    /// Everything it claims, also what another owns.
    claims: BTreeMap<ClusterName, ClusterSpec>,
    /// What it has named since its stream began; absent once that stream has synced.
    named: Option<BTreeSet<ClusterName>>,
}

impl Merged {
    fn of(sources: &[Source]) -> Self {
        let sources = sources.iter().map(|source| State {
            name: source.name.clone(),
            ..State::default()
        });
        Self {
            sources: sources.collect(),
            owners: BTreeMap::new(),
            synced: false,
        }
    }

    fn start(&mut self) -> Option<Change> {
        self.sync()
    }

    fn take(&mut self, source: usize, event: Event) -> Vec<Change> {
        match event {
            Event::Started => {
                self.sources[source].named = Some(BTreeSet::new());
                Vec::new()
            }
            Event::Ended(how) => vec![Change::Failed(format!(
                "provider `{}` {how}: its clusters stay, it is started again",
                self.sources[source].name
            ))],
            Event::Said(Change::Upsert(spec)) => {
                vec![self.upsert(source, spec)].into_iter().flatten().collect()
            }
            Event::Said(Change::Remove(name)) => self.remove(source, &name),
            Event::Said(Change::Rejected { name, reason }) => {
                self.reject(source, name, reason).into_iter().collect()
            }
            Event::Said(Change::Synced) => self.source_synced(source),
            Event::Said(Change::Failed(reason)) => {
                vec![Change::Failed(format!(
                    "provider `{}`: {reason}",
                    self.sources[source].name
                ))]
            }
        }
    }

    fn upsert(&mut self, source: usize, spec: ClusterSpec) -> Option<Change> {
        let state = &mut self.sources[source];
        if let Some(named) = &mut state.named {
            named.insert(spec.name.clone());
        }
        let claimed_before = state.claims.insert(spec.name.clone(), spec.clone()).is_some();
        let owner = *self.owners.entry(spec.name.clone()).or_insert(source);
        if owner == source {
            return Some(Change::Upsert(spec));
        }
        // Reported once per claim, not once per change of it.
        (!claimed_before).then(|| {
            Change::Failed(format!(
                "cluster `{}` of provider `{}` is left out: provider `{}` has one of that name; give one of them a prefix",
                spec.name, self.sources[source].name, self.sources[owner].name
            ))
        })
    }

    /// Of a cluster that another source owns nothing is said: it is not the one that is rejected.
    fn reject(&mut self, source: usize, name: ClusterName, reason: String) -> Option<Change> {
        if let Some(named) = &mut self.sources[source].named {
            named.insert(name.clone());
        }
        let owned_by_another = self.owners.get(&name).is_some_and(|owner| *owner != source);
        (!owned_by_another).then_some(Change::Rejected { name, reason })
    }

    fn remove(&mut self, source: usize, name: &ClusterName) -> Vec<Change> {
        self.sources[source].claims.remove(name);
        if self.owners.get(name) != Some(&source) {
            return Vec::new();
        }
        self.owners.remove(name);
        let mut changes = vec![Change::Remove(name.clone())];
        let heir = self
            .sources
            .iter()
            .position(|state| state.claims.contains_key(name));
        if let Some(heir) = heir {
            self.owners.insert(name.clone(), heir);
            changes.extend(self.sources[heir].claims.get(name).cloned().map(Change::Upsert));
        }
        changes
    }

    fn source_synced(&mut self, source: usize) -> Vec<Change> {
        let state = &mut self.sources[source];
        state.synced = true;
        let named = state.named.take();
        let gone: Vec<_> = match named {
            Some(named) => state
                .claims
                .keys()
                .filter(|name| !named.contains(*name))
                .cloned()
                .collect(),
            None => Vec::new(),
        };
        let mut changes: Vec<_> = gone.iter().flat_map(|name| self.remove(source, name)).collect();
        changes.extend(self.sync());
        changes
    }

    /// `Synced`, the first time that all have.
    fn sync(&mut self) -> Option<Change> {
        if self.synced || !self.sources.iter().all(|state| state.synced) {
            return None;
        }
        self.synced = true;
        Some(Change::Synced)
    }
}
