//! Which object describes which cluster, and what has to be said when that changes.
use super::Described;
use crate::{
    cluster::{ClusterName, ObjectKey},
    provider::{Change, ClusterSpec},
};
use std::collections::{BTreeMap, BTreeSet};

/// So many of those that claim a taken name are told: there may be as many as there are objects.
const TOLD: usize = 3;

/// What every object says now. Of several that claim a name the first to claim it owns it.
#[derive(Default)]
pub(super) struct Claims {
    objects: BTreeMap<ObjectKey, Said>,
    names: BTreeMap<ClusterName, Claimants>,
}

#[derive(Default)]
struct Said {
    clusters: BTreeMap<ClusterName, Claim>,
    nameless: BTreeSet<String>,
}

enum Claim {
    Good(Box<ClusterSpec>),
    Bad(String),
    Left(String),
}

/// In the order of their claims: the first owns the name.
#[derive(Default)]
struct Claimants(Vec<ObjectKey>);

impl Claims {
    /// An object says this now, and no longer what it said before.
    pub(super) fn update(&mut self, object: &ObjectKey, described: Vec<Described>) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut said = Said::default();
        for one in described {
            match one {
                Described::Cluster(spec) => said.add(spec.name.clone(), Claim::Good(Box::new(spec))),
                Described::Unusable { name, reason } => said.add(name, Claim::Bad(reason)),
                Described::Left { name, reason } => said.add(name, Claim::Left(reason)),
                Described::Nameless(reason) => drop(said.nameless.insert(reason)),
            }
        }
        let before = self.objects.remove(object).unwrap_or_default();
        said.keep(&before);
        let new = said.nameless.difference(&before.nameless);
        changes.extend(new.cloned().map(Change::Failed));
        let is_empty = said.clusters.is_empty() && said.nameless.is_empty();
        let gone: Vec<_> = before
            .clusters
            .keys()
            .filter(|name| !said.clusters.contains_key(*name))
            .cloned()
            .collect();
        let named: Vec<_> = said
            .clusters
            .iter()
            .filter(|(name, claim)| {
                before
                    .clusters
                    .get(*name)
                    .is_none_or(|known| !known.says_the_same(claim))
            })
            .map(|(name, _)| name.clone())
            .collect();
        if !is_empty {
            self.objects.insert(object.clone(), said);
        }
        for name in gone {
            self.release(&name, object, &mut changes);
        }
        for name in named {
            self.claim(&name, object, &mut changes);
        }
        changes
    }

    fn claim(&mut self, name: &ClusterName, object: &ObjectKey, changes: &mut Vec<Change>) {
        let claimants = &mut self.names.entry(name.clone()).or_default().0;
        if !claimants.contains(object) {
            claimants.push(object.clone());
        }
        let owns = claimants.first() == Some(object);
        if owns {
            changes.extend(self.owned(name));
        }
        changes.extend(self.conflict(name));
    }

    fn release(&mut self, name: &ClusterName, object: &ObjectKey, changes: &mut Vec<Change>) {
        let Some(claimants) = self.names.get_mut(name) else {
            return;
        };
        let owned = claimants.0.first() == Some(object);
        claimants.0.retain(|claimant| claimant != object);
        let is_free = claimants.0.is_empty();
        if is_free {
            self.names.remove(name);
        }
        if owned {
            changes.push(Change::Remove(name.clone()));
        }
        if !is_free {
            // Said again where it is no longer contested.
            changes.extend(self.owned(name));
            changes.extend(self.conflict(name));
        }
    }

    /// What the owner of a name says of it.
    fn owned(&self, name: &ClusterName) -> Vec<Change> {
        let owner = self.names.get(name).and_then(|claimants| claimants.0.first());
        let claim = owner.and_then(|owner| self.objects.get(owner)?.clusters.get(name));
        let rejected = |reason: &String| Change::Rejected {
            name: name.clone(),
            reason: reason.clone(),
        };
        match claim {
            None => Vec::new(),
            Some(Claim::Good(spec)) => vec![Change::Upsert((**spec).clone())],
            Some(Claim::Bad(reason)) => vec![rejected(reason)],
            Some(Claim::Left(reason)) => vec![Change::Remove(name.clone()), rejected(reason)],
        }
    }

    /// That several objects claim a name, after what its owner says of it.
    fn conflict(&self, name: &ClusterName) -> Option<Change> {
        let [owner, others @ ..] = &self.names.get(name)?.0[..] else {
            return None;
        };
        if others.is_empty() {
            return None;
        }
        let told: Vec<_> = others
            .iter()
            .take(TOLD)
            .map(|other| format!("`{other}`"))
            .collect();
        let more = match others.len().saturating_sub(TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (verb, gets) = if others.len() == 1 {
            ("claims", "does")
        } else {
            ("claim", "do")
        };
        Some(Change::Rejected {
            name: name.clone(),
            reason: format!(
                "`{owner}` describes a cluster of this name, which {}{more} {verb} too and {gets} not get: give each a \
                 name of its own",
                told.join(", ")
            ),
        })
    }
}

impl Said {
    /// Of two claims of one object the first counts.
    fn add(&mut self, name: ClusterName, claim: Claim) {
        self.clusters.entry(name).or_insert(claim);
    }

    /// What gives a cluster no name may be about any that the object described before: those stay as they were.
    fn keep(&mut self, before: &Self) {
        let Some(reason) = self.nameless.first().cloned() else {
            return;
        };
        for name in before.clusters.keys() {
            self.add(name.clone(), Claim::Bad(reason.clone()));
        }
    }
}

impl Claim {
    fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Good(one), Self::Good(other)) => one.says_the_same(other),
            (Self::Bad(one), Self::Bad(other)) | (Self::Left(one), Self::Left(other)) => one == other,
            _ => false,
        }
    }
}
