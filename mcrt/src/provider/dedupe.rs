//! One cluster under several names: engaged once.
use super::{Change, ClusterSpec, Provider, ProviderContext, stepwise::stepwise};
use crate::cluster::ClusterName;
use futures::stream::BoxStream;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Each cluster of a provider once, under the first of its names; see
/// [`ProviderExt::dedupe`](super::ProviderExt::dedupe).
///
/// Two descriptions are of one cluster if they lead to one server: the same address, proxy, name and CA, whoever comes and
/// in whatever namespace. The second name is told of in a [rejection](Change::Rejected), and the cluster goes on under it,
/// with a life of its own, when the first is gone.
///
/// A cluster keeps its name when the stream of the provider begins anew, in whatever order that names its clusters then.
#[derive(Debug)]
pub struct Dedupe<P> {
    inner: Arc<P>,
    leaders: Leaders,
}

/// The name that each cluster goes by, for streams that begin later.
type Leaders = Arc<Mutex<HashMap<u64, ClusterName>>>;

impl<P: Provider> Dedupe<P> {
    /// The clusters of `inner`, each once.
    pub fn new(inner: P) -> Self {
        Self {
            inner: Arc::new(inner),
            leaders: Leaders::default(),
        }
    }
}

impl<P: Provider> Provider for Dedupe<P> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn needs_host(&self) -> bool {
        self.inner.needs_host()
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let mut deduping = Deduping::new(Arc::clone(&self.leaders));
        stepwise(Arc::clone(&self.inner).changes(cx), move |change| {
            deduping.take(change)
        })
    }
}

/// One stream.
struct Deduping {
    leaders: Leaders,
    /// Names of an earlier stream that this one has not come to yet, and the cluster that each led: nobody else takes
    /// their place before it is known that they are gone.
    expected: BTreeMap<ClusterName, u64>,
    clusters: BTreeMap<ClusterName, Known>,
    /// The names of each cluster, in the order in which they came: it goes by the first.
    names: HashMap<u64, Vec<ClusterName>>,
}

#[derive(Default)]
struct Known {
    /// The last description that could be used, and the place by which it counts.
    good: Option<(u64, Box<ClusterSpec>)>,
    /// Why the newest one cannot.
    bad: Option<String>,
}

impl Deduping {
    fn new(leaders: Leaders) -> Self {
        let led: Vec<_> = leaders
            .lock()
            .iter()
            .map(|(place, name)| (*place, name.clone()))
            .collect();
        Self {
            leaders,
            expected: led.iter().map(|(place, name)| (name.clone(), *place)).collect(),
            clusters: BTreeMap::new(),
            names: led.into_iter().map(|(place, name)| (place, vec![name])).collect(),
        }
    }

    fn take(&mut self, change: Change) -> Vec<Change> {
        match change {
            Change::Upsert(spec) => self.upsert(spec),
            Change::Synced => {
                let mut changes = self.let_go();
                changes.push(Change::Synced);
                changes
            }
            Change::Rejected { name, reason } => {
                self.clusters.entry(name.clone()).or_default().bad = Some(reason);
                self.complaint(&name).into_iter().collect()
            }
            Change::Remove(name) => self.remove(&name),
            other => vec![other],
        }
    }

    fn upsert(&mut self, spec: ClusterSpec) -> Vec<Change> {
        let name = spec.name.clone();
        let identity = spec.access.place();
        let expected = self.expected.remove(&name);
        let known = self.clusters.entry(name.clone()).or_default();
        let was_bad = known.bad.take().is_some();
        let before = known.good.replace((identity, Box::new(spec)));
        let before = before.map(|(before, _)| before).or(expected);
        if before == Some(identity) {
            return match self.complaint(&name) {
                None => self.engaged(&name),
                // Said again only where it was hidden by another reason.
                complaint => complaint.filter(|_| was_bad).into_iter().collect(),
            };
        }
        let led = before.is_some_and(|before| self.is_first(before, &name));
        self.names.entry(identity).or_default().push(name.clone());
        self.note_leader(identity);
        let mut changes = Vec::new();
        // One that turns out to be another's must not go on as what it was.
        if led && !self.is_first(identity, &name) {
            changes.push(Change::Remove(name.clone()));
        }
        changes.extend(self.engaged(&name));
        if let Some(before) = before {
            changes.extend(self.leave(before, &name));
        }
        changes
    }

    fn remove(&mut self, name: &ClusterName) -> Vec<Change> {
        let expected = self.expected.remove(name);
        let known = self.clusters.remove(name);
        if known.is_none() && expected.is_none() {
            return Vec::new();
        }
        let mut changes = vec![Change::Remove(name.clone())];
        let good = known.and_then(|known| known.good);
        if let Some(identity) = good.map(|(identity, _)| identity).or(expected) {
            changes.extend(self.leave(identity, name));
        }
        changes
    }

    /// All has been named: what was expected and did not come is gone. One that cannot be used now goes on as it was.
    fn let_go(&mut self) -> Vec<Change> {
        let clusters = &self.clusters;
        let gone = self
            .expected
            .extract_if(.., |name, _| !clusters.contains_key(name));
        let gone: Vec<_> = gone.collect();
        gone.into_iter()
            .flat_map(|(name, identity)| self.leave(identity, &name))
            .collect()
    }

    fn note_leader(&self, identity: u64) {
        let mut leaders = self.leaders.lock();
        match self.names.get(&identity).and_then(|names| names.first()) {
            Some(first) => drop(leaders.insert(identity, first.clone())),
            None => drop(leaders.remove(&identity)),
        }
    }

    /// A name no longer stands for a cluster: if that went by it, it goes by the next.
    fn leave(&mut self, identity: u64, name: &ClusterName) -> Vec<Change> {
        let was_first = self.is_first(identity, name);
        let Some(names) = self.names.get_mut(&identity) else {
            return Vec::new();
        };
        names.retain(|other| other != name);
        if names.is_empty() {
            self.names.remove(&identity);
        }
        self.note_leader(identity);
        let others = self.names.get(&identity).filter(|_| was_first);
        others
            .into_iter()
            .flatten()
            .flat_map(|other| self.engaged(other))
            .collect()
    }

    /// What is said of a cluster: how it is described, if it goes by this name, and what is wrong.
    fn engaged(&self, name: &ClusterName) -> Vec<Change> {
        let good = self.clusters.get(name).and_then(|known| known.good.as_ref());
        let good = good.filter(|(identity, _)| self.is_first(*identity, name));
        let upsert = good.map(|(_, spec)| Change::Upsert((**spec).clone()));
        upsert.into_iter().chain(self.complaint(name)).collect()
    }

    fn is_first(&self, identity: u64, name: &ClusterName) -> bool {
        self.names.get(&identity).and_then(|names| names.first()) == Some(name)
    }

    fn complaint(&self, name: &ClusterName) -> Option<Change> {
        let known = self.clusters.get(name)?;
        let names = known
            .good
            .as_ref()
            .and_then(|(identity, _)| self.names.get(identity));
        let first = names
            .and_then(|names| names.first())
            .filter(|first| *first != name);
        let double =
            first.map(|first| format!("it is the same cluster as `{first}`, and goes by that name alone"));
        let reason = match (known.bad.clone(), double) {
            (Some(bad), Some(double)) => format!("{bad}; {double}"),
            (bad, double) => bad.or(double)?,
        };
        Some(Change::Rejected {
            name: name.clone(),
            reason,
        })
    }
}
