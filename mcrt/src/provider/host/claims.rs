//! Which object describes which cluster, and what has to be said when that changes.
use super::Described;
use crate::{
    cluster::{ClusterName, ObjectKey},
    provider::{
        Change,
        claims::{Claimant, Claims},
    },
};
use std::collections::{BTreeMap, BTreeSet};

impl Claimant for ObjectKey {
    const ADVICE: &str = "give each a name of its own";

    fn shown(&self) -> String {
        format!("`{self}`")
    }
}

/// What every object says now.
#[derive(Default)]
pub(super) struct Objects {
    said: BTreeMap<ObjectKey, Said>,
    claims: Claims<ObjectKey>,
}

#[derive(Default)]
struct Said {
    names: BTreeSet<ClusterName>,
    nameless: BTreeSet<String>,
}

impl Objects {
    /// An object says this now, and no longer what it said before. Of two things that it says of one cluster the first
    /// counts.
    pub(super) fn update(&mut self, object: &ObjectKey, described: Vec<Described>) -> Vec<Change> {
        let mut said = Said::default();
        let mut clusters = BTreeMap::new();
        for one in described {
            let name = match &one {
                Described::Cluster(spec) => spec.name.clone(),
                Described::Unusable { name, .. } | Described::Left { name, .. } => name.clone(),
                Described::Nameless(reason) => {
                    said.nameless.insert(reason.clone());
                    continue;
                }
            };
            said.names.insert(name.clone());
            clusters.entry(name).or_insert(one);
        }
        let before = self.said.remove(object).unwrap_or_default();
        // What gives a cluster no name may be about any that the object described before: those stay as they were.
        if let Some(reason) = said.nameless.first().cloned() {
            for name in before.names.difference(&said.names.clone()).cloned() {
                said.names.insert(name.clone());
                let reason = reason.clone();
                clusters.insert(name.clone(), Described::Unusable { name, reason });
            }
        }
        let new = said.nameless.difference(&before.nameless);
        let mut changes: Vec<_> = new.cloned().map(Change::Failed).collect();
        for name in before.names.difference(&said.names) {
            changes.extend(self.claims.release(object, name));
        }
        if !said.names.is_empty() || !said.nameless.is_empty() {
            self.said.insert(object.clone(), said);
        }
        for one in clusters.into_values() {
            changes.extend(match one {
                Described::Cluster(spec) => self.claims.claim(object, spec),
                Described::Unusable { name, reason } => self.claims.reject(object, &name, reason),
                Described::Left { name, reason } => self.claims.withdraw(object, &name, reason),
                Described::Nameless(_) => Vec::new(),
            });
        }
        changes
    }
}
