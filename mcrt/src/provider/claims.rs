//! Whose the name of a cluster is where several claim it, and what has to be said when that changes.
//!
//! Objects of the host, merged providers and renamed clusters contest names by the same rules: the first to claim a
//! name owns it, whether what it says can be used or not; the others are told of in a rejection of that name, and inherit
//! it in the order of their claims.
use super::{Change, ClusterSpec};
use crate::cluster::ClusterName;
use std::collections::BTreeMap;

/// Others that a report names; of more it says how many.
const SHOWN: usize = 3;

/// Who claims names.
pub(super) trait Claimant: Clone + PartialEq {
    /// What to do about two that claim one name.
    const ADVICE: &str;

    /// How reports call it.
    fn shown(&self) -> String;
}

/// What all claimants say now.
pub(super) struct Claims<C> {
    /// In the order of their claims: the first owns the name.
    names: BTreeMap<ClusterName, Vec<(C, Claim)>>,
}

/// At least one of the two is there.
#[derive(Default)]
struct Claim {
    /// The last description that could be used.
    good: Option<Box<ClusterSpec>>,
    /// Why the newest one cannot.
    bad: Option<String>,
}

impl<C> Default for Claims<C> {
    fn default() -> Self {
        Self {
            names: BTreeMap::new(),
        }
    }
}

impl<C: Claimant> Claims<C> {
    /// One describes a cluster. Saying the same again changes nothing.
    pub(super) fn claim(&mut self, who: &C, spec: ClusterSpec) -> Vec<Change> {
        let name = spec.name.clone();
        let (at, is_new) = self.enter(&name, who);
        let Some((_, claim)) = self.names.get_mut(&name).and_then(|all| all.get_mut(at)) else {
            return Vec::new();
        };
        let known = claim.good.as_ref().filter(|_| claim.bad.is_none());
        if known.is_some_and(|known| known.says_the_same(&spec)) {
            return Vec::new();
        }
        claim.bad = None;
        claim.good = Some(Box::new(spec));
        if at == 0 {
            self.owned(&name)
        } else {
            self.complained(&name, is_new)
        }
    }

    /// One says that there is this cluster, but that it cannot be used as it is described.
    pub(super) fn reject(&mut self, who: &C, name: &ClusterName, reason: String) -> Vec<Change> {
        let (at, is_new) = self.enter(name, who);
        let Some((_, claim)) = self.names.get_mut(name).and_then(|all| all.get_mut(at)) else {
            return Vec::new();
        };
        if claim.bad.as_ref() == Some(&reason) {
            return Vec::new();
        }
        claim.bad = Some(reason);
        self.complained(name, is_new || at == 0)
    }

    /// One says that there is this cluster, and that it must not be worked on: not even as it was described before.
    pub(super) fn withdraw(&mut self, who: &C, name: &ClusterName, reason: String) -> Vec<Change> {
        let (at, is_new) = self.enter(name, who);
        let Some((_, claim)) = self.names.get_mut(name).and_then(|all| all.get_mut(at)) else {
            return Vec::new();
        };
        let was_good = claim.good.take().is_some();
        let is_news = claim.bad.as_ref() != Some(&reason);
        claim.bad = Some(reason);
        let mut changes = Vec::new();
        // A stream before this one may have described it, and what is only rejected stays.
        if at == 0 && (was_good || is_new) {
            changes.push(Change::Remove(name.clone()));
        }
        changes.extend(self.complained(name, is_new || at == 0 && (was_good || is_news)));
        changes
    }

    /// One no longer says anything of this cluster.
    pub(super) fn release(&mut self, who: &C, name: &ClusterName) -> Vec<Change> {
        let Some(claimants) = self.names.get_mut(name) else {
            return Vec::new();
        };
        let Some(at) = claimants.iter().position(|(claimant, _)| claimant == who) else {
            return Vec::new();
        };
        claimants.remove(at);
        let is_free = claimants.is_empty();
        if is_free {
            self.names.remove(name);
        }
        let mut changes = Vec::new();
        if at == 0 {
            changes.push(Change::Remove(name.clone()));
            changes.extend(self.owned(name));
        } else if let Some(complaint) = self.complaint(name) {
            changes.push(complaint);
        } else {
            // Said again where it is no longer contested: that takes the rejection back.
            changes.extend(self.owned(name));
        }
        changes
    }

    /// Its place among the claimants, and whether it was none before.
    fn enter(&mut self, name: &ClusterName, who: &C) -> (usize, bool) {
        let claimants = self.names.entry(name.clone()).or_default();
        if let Some(at) = claimants.iter().position(|(claimant, _)| claimant == who) {
            return (at, false);
        }
        claimants.push((who.clone(), Claim::default()));
        (claimants.len() - 1, true)
    }

    /// What the owner of a name says of it, and what is wrong with it.
    fn owned(&self, name: &ClusterName) -> Vec<Change> {
        let owner = self.names.get(name).and_then(|claimants| claimants.first());
        let good = owner.and_then(|(_, claim)| claim.good.as_deref());
        let good = good.cloned().map(Change::Upsert);
        good.into_iter().chain(self.complaint(name)).collect()
    }

    fn complained(&self, name: &ClusterName, is_news: bool) -> Vec<Change> {
        self.complaint(name).filter(|_| is_news).into_iter().collect()
    }

    /// That its owner cannot describe it, that several claim it, or both.
    fn complaint(&self, name: &ClusterName) -> Option<Change> {
        let ((owner, claim), others) = self.names.get(name)?.split_first()?;
        let contested = (!others.is_empty()).then(|| contested(owner, others));
        let reason = match (claim.bad.clone(), contested) {
            (Some(bad), Some(contested)) => format!("{bad}; {contested}"),
            (bad, contested) => bad.or(contested)?,
        };
        Some(Change::Rejected {
            name: name.clone(),
            reason,
        })
    }
}

fn contested<C: Claimant>(owner: &C, others: &[(C, Claim)]) -> String {
    let shown: Vec<_> = others
        .iter()
        .take(SHOWN)
        .map(|(other, _)| other.shown())
        .collect();
    let more = match others.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (claim, get) = if others.len() == 1 {
        ("claims", "does not get")
    } else {
        ("claim", "do not get")
    };
    format!(
        "{} describes a cluster of this name, which {}{more} {claim} too and {get}: {}",
        owner.shown(),
        shown.join(", "),
        C::ADVICE
    )
}
