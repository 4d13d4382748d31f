//! What the sources of a merge have said, and what is said of it.
use crate::{
    cluster::ClusterName,
    provider::{
        Change, ClusterSpec, Event,
        claims::{Claimant, Claims},
    },
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

#[derive(Default)]
pub(super) struct Merged {
    sources: BTreeMap<u64, State>,
    by_name: HashMap<Arc<str>, u64>,
    claims: Claims<SourceName>,
    /// Those that were there at the start and have not synced yet.
    awaited: BTreeSet<u64>,
    began: bool,
    synced: bool,
}

struct State {
    name: SourceName,
    /// Number of the running stream.
    stream: u64,
    /// Everything it claims, also what another owns, each with the last stream that has named it.
    named: BTreeMap<ClusterName, u64>,
}

/// Unique among the sources that are there.
#[derive(Clone, PartialEq)]
struct SourceName(Arc<str>);

impl Claimant for SourceName {
    const ADVICE: &str = "give one of them a prefix";

    fn shown(&self) -> String {
        format!("provider `{}`", self.0)
    }
}

impl Merged {
    /// A source is followed from now on.
    pub(super) fn add(&mut self, number: u64, name: Arc<str>) -> Vec<Change> {
        // Its name is free, so that an earlier one of that name is gone, even if that was not heard yet.
        let earlier = self.by_name.insert(Arc::clone(&name), number);
        if !self.began {
            self.awaited.insert(number);
        }
        let state = State {
            name: SourceName(name),
            stream: 0,
            named: BTreeMap::new(),
        };
        self.sources.insert(number, state);
        earlier
            .map(|earlier| self.remove_source(earlier))
            .unwrap_or_default()
    }

    /// Those that were added are those that `Synced` waits for.
    pub(super) fn begin(&mut self) -> Option<Change> {
        self.began = true;
        self.sync()
    }

    /// A source did something, or was removed.
    pub(super) fn take(&mut self, source: u64, event: Option<Event>) -> Vec<Change> {
        let Some(state) = self.sources.get_mut(&source) else {
            return Vec::new();
        };
        let shown = state.name.shown();
        match event {
            None => self.remove_source(source),
            Some(Event::Started) => {
                state.stream += 1;
                Vec::new()
            }
            Some(Event::Ended(how)) => vec![Change::Failed(format!(
                "{shown} {how}: its clusters stay, it is started again"
            ))],
            Some(Event::Said(Change::Upsert(spec))) => state.upsert(&mut self.claims, spec),
            Some(Event::Said(Change::Remove(name))) => state.remove(&mut self.claims, &name),
            Some(Event::Said(Change::Rejected { name, reason })) => {
                state.reject(&mut self.claims, name, reason)
            }
            Some(Event::Said(Change::Synced)) => {
                let mut changes = state.remove_unnamed(&mut self.claims);
                self.awaited.remove(&source);
                changes.extend(self.sync());
                changes
            }
            Some(Event::Said(Change::Failed(reason))) => vec![Change::Failed(format!("{shown}: {reason}"))],
        }
    }

    fn remove_source(&mut self, source: u64) -> Vec<Change> {
        let Some(mut state) = self.sources.remove(&source) else {
            return Vec::new();
        };
        if self.by_name.get(&state.name.0) == Some(&source) {
            self.by_name.remove(&state.name.0);
        }
        // No stream has named anything that counts any more.
        state.stream += 1;
        let mut changes = state.remove_unnamed(&mut self.claims);
        self.awaited.remove(&source);
        changes.extend(self.sync());
        changes
    }

    /// `Synced`, the first time that all have that it waits for.
    fn sync(&mut self) -> Option<Change> {
        if self.synced || !self.began || !self.awaited.is_empty() {
            return None;
        }
        self.synced = true;
        Some(Change::Synced)
    }
}

impl State {
    fn upsert(&mut self, claims: &mut Claims<SourceName>, spec: ClusterSpec) -> Vec<Change> {
        self.named.insert(spec.name.clone(), self.stream);
        claims.claim(&self.name, spec)
    }

    fn reject(&mut self, claims: &mut Claims<SourceName>, name: ClusterName, reason: String) -> Vec<Change> {
        let changes = claims.reject(&self.name, &name, reason);
        self.named.insert(name, self.stream);
        changes
    }

    fn remove(&mut self, claims: &mut Claims<SourceName>, name: &ClusterName) -> Vec<Change> {
        self.named.remove(name);
        claims.release(&self.name, name)
    }

    /// What its running stream has not named is gone.
    fn remove_unnamed(&mut self, claims: &mut Claims<SourceName>) -> Vec<Change> {
        let stream = self.stream;
        let gone: Vec<_> = self
            .named
            .extract_if(.., |_, named_by| *named_by < stream)
            .collect();
        gone.iter()
            .flat_map(|(name, _)| claims.release(&self.name, name))
            .collect()
    }
}
