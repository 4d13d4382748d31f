//! What a stream has said of each cluster, so that it says only what differs.
use super::{Change, ClusterSpec};
use crate::cluster::ClusterName;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What was said last of each cluster, what is wrong besides, and what is still to be said.
#[derive(Default)]
pub(super) struct Said {
    clusters: BTreeMap<ClusterName, Claim>,
    problems: BTreeSet<String>,
    synced: bool,
    pending: VecDeque<Change>,
}

/// What is said of one cluster.
#[derive(Clone, Debug)]
pub(super) enum Claim {
    Good(Box<ClusterSpec>),
    Bad(String),
}

impl Claim {
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Good(one), Self::Good(other)) => one.says_the_same(other),
            (Self::Bad(one), Self::Bad(other)) => one == other,
            _ => false,
        }
    }
}

impl Said {
    /// The next change to be given out.
    pub(super) fn next(&mut self) -> Option<Change> {
        self.pending.pop_front()
    }

    /// Whether anything was said of it.
    #[cfg(feature = "kind")]
    pub(super) fn knows(&self, name: &ClusterName) -> bool {
        self.clusters.contains_key(name)
    }

    /// This is so now.
    pub(super) fn claim(&mut self, name: &ClusterName, claim: Claim) {
        let known = self.clusters.get(name);
        if known.is_some_and(|known| known.says_the_same(&claim)) {
            return;
        }
        self.pending.push_back(match &claim {
            Claim::Good(spec) => Change::Upsert((**spec).clone()),
            Claim::Bad(reason) => Change::Rejected {
                name: name.clone(),
                reason: reason.clone(),
            },
        });
        self.clusters.insert(name.clone(), claim);
    }

    /// It is gone, if it was ever there.
    pub(super) fn remove(&mut self, name: &ClusterName) {
        if self.clusters.remove(name).is_some() {
            self.pending.push_back(Change::Remove(name.clone()));
        }
    }

    /// No others are there.
    #[cfg(feature = "command")]
    pub(super) fn keep(&mut self, stays: impl Fn(&ClusterName) -> bool) {
        let gone: Vec<_> = self
            .clusters
            .keys()
            .filter(|name| !stays(name))
            .cloned()
            .collect();
        for name in gone {
            self.remove(&name);
        }
    }

    /// These are the problems now; those that are new are said.
    pub(super) fn problems(&mut self, problems: BTreeSet<String>) {
        let new = problems.difference(&self.problems).cloned();
        self.pending.extend(new.map(Change::Failed));
        self.problems = problems;
    }

    /// Something that is said whenever it happens.
    #[cfg(feature = "command")]
    pub(super) fn problem(&mut self, problem: String) {
        self.pending.push_back(Change::Failed(problem));
    }

    /// All has been named, now or before.
    pub(super) fn synced(&mut self) {
        if !std::mem::replace(&mut self.synced, true) {
            self.pending.push_back(Change::Synced);
        }
    }
}
