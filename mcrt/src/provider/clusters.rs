//! Clusters kept in memory, changed by the program while it runs.
use super::{Change, ClusterSpec, Provider, ProviderContext};
use crate::cluster::ClusterName;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use tokio::sync::watch;

/// Clusters that the program adds and removes itself, from any task, before and after start.
///
/// Clones are handles to the same set. No call waits for a stream, and a stream that is read slowly holds no queue:
/// it compares what it has said with the set as it is, so several changes of one cluster may show as one, but a
/// cluster that was removed and added again always shows as both.
#[derive(Clone, Debug)]
pub struct Clusters {
    set: Arc<watch::Sender<Set>>,
}

/// A cluster of that name is in the set; `replace` changes it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a cluster named `{0}` is there already: use `replace` to change it")]
pub struct NameTaken(pub ClusterName);

#[derive(Debug, Default)]
struct Set {
    members: BTreeMap<ClusterName, Member>,
    changes: u64,
}

#[derive(Clone, Debug)]
struct Member {
    spec: ClusterSpec,
    /// Number of the change that brought it in.
    added: u64,
    /// Number of the change that last touched it.
    changed: u64,
}

impl Clusters {
    /// No clusters yet.
    pub fn new() -> Self {
        Self {
            set: Arc::new(watch::Sender::new(Set::default())),
        }
    }

    /// Adds a cluster whose name is free.
    pub fn add(&self, spec: ClusterSpec) -> Result<(), NameTaken> {
        let mut taken = None;
        self.set.send_if_modified(|set| {
            if set.members.contains_key(&spec.name) {
                taken = Some(NameTaken(spec.name));
                return false;
            }
            set.put(spec);
            true
        });
        taken.map_or(Ok(()), Err)
    }

    /// Adds a cluster, or changes how one is described; returns the earlier description.
    pub fn replace(&self, spec: ClusterSpec) -> Option<ClusterSpec> {
        let mut earlier = None;
        self.set.send_modify(|set| earlier = set.put(spec));
        earlier
    }

    /// Removes a cluster; returns its description.
    pub fn remove(&self, name: &ClusterName) -> Option<ClusterSpec> {
        let mut removed = None;
        self.set.send_if_modified(|set| {
            removed = set.members.remove(name).map(|member| member.spec);
            removed.is_some()
        });
        removed
    }

    /// The names of all clusters in the set, in order.
    pub fn names(&self) -> Vec<ClusterName> {
        self.set.borrow().members.keys().cloned().collect()
    }
}

impl Set {
    fn put(&mut self, spec: ClusterSpec) -> Option<ClusterSpec> {
        self.changes += 1;
        let earlier = self.members.get(&spec.name);
        let member = Member {
            added: earlier.map_or(self.changes, |member| member.added),
            changed: self.changes,
            spec,
        };
        let name = member.spec.name.clone();
        self.members.insert(name, member).map(|member| member.spec)
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<ClusterSpec> for Clusters {
    /// Of two clusters with one name the last counts.
    fn from_iter<I: IntoIterator<Item = ClusterSpec>>(specs: I) -> Self {
        let clusters = Self::new();
        for spec in specs {
            clusters.replace(spec);
        }
        clusters
    }
}

impl Provider for Clusters {
    fn name(&self) -> &'static str {
        "clusters"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        let mut reader = Reader {
            set: self.set.subscribe(),
            said: BTreeMap::new(),
            pending: VecDeque::new(),
            _provider: self,
        };
        reader.compare();
        reader.pending.push_back(Change::Synced);
        stream::unfold(reader, async |mut reader| {
            let change = reader.next().await?;
            Some((change, reader))
        })
        .boxed()
    }
}

/// One stream: what it has said, and what it is about to say.
struct Reader {
    set: watch::Receiver<Set>,
    /// Numbers of the changes by which each cluster was added and last touched, as said.
    said: BTreeMap<ClusterName, (u64, u64)>,
    pending: VecDeque<Change>,
    /// Keeps the set alive when every handle is gone: its clusters then stay as they are.
    _provider: Arc<Clusters>,
}

impl Reader {
    async fn next(&mut self) -> Option<Change> {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return Some(change);
            }
            self.set.changed().await.ok()?;
            self.compare();
        }
    }

    fn compare(&mut self) {
        let set = self.set.borrow_and_update();
        let gone = self
            .said
            .iter()
            .filter(|(name, (added, _))| set.members.get(*name).is_none_or(|member| member.added != *added));
        let gone: Vec<_> = gone.map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.said.remove(&name);
            self.pending.push_back(Change::Remove(name));
        }
        for (name, member) in &set.members {
            let now = (member.added, member.changed);
            if self.said.get(name) != Some(&now) {
                self.said.insert(name.clone(), now);
                self.pending.push_back(Change::Upsert(member.spec.clone()));
            }
        }
    }
}
