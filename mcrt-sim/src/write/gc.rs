//! The garbage collector: objects go with the last of their owners.

use std::sync::Arc;

use serde_json::Value;

use crate::state::object::{Cleanup, FOREGROUND, ORPHAN, Object, ObjectKey, meta_mut};
use crate::state::store::Store;
use crate::state::target::Target;
use crate::state::work::Work;
use crate::write::delete::Propagation;
use crate::write::operation::WriteOptions;

/// What an owner reference leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Owner {
    /// An object that is there to stay, as far as the collector knows.
    Solid,
    /// Nothing of that type, name and UID.
    Absent,
    /// An object that waits for its dependents before it goes.
    Waiting,
    /// No kind that is served, or one that cannot own the object: nobody can tell.
    Unknown,
}

/// Whom changes by the collector are made by.
const COLLECTOR: &str = "kube-controller-manager";

impl Store {
    /// Deletes an object none of whose owners stays; else makes it forget those that do not.
    pub(crate) fn collect(&mut self, uid: &str) {
        let Some((target, object)) = self.by_uid(uid).filter(|(_, object)| !object.deleting) else {
            return;
        };
        let value = target.thaw(&object);
        let owners: Vec<_> = references(&value)
            .map(|owner| self.classify(&target, &object.key, owner))
            .collect();
        let count = |kind: Owner| owners.iter().filter(|owner| **owner == kind).count();
        if owners.is_empty() || count(Owner::Unknown) > 0 || count(Owner::Solid) == owners.len() {
            return;
        }
        if count(Owner::Solid) > 0 {
            let mut at = owners.iter();
            self.keep_owners(&target, &object, |_| at.next() == Some(&Owner::Solid));
        } else if count(Owner::Waiting) > 0 && !self.dependents(uid).is_empty() {
            self.unblock_circles(uid);
            self.collect_as(&target, uid, Propagation::Foreground);
        } else {
            let propagation = match object.cleanup {
                Cleanup::Orphan => Propagation::Orphan,
                Cleanup::Dependents => Propagation::Foreground,
                Cleanup::None => Propagation::Background,
            };
            self.collect_as(&target, uid, propagation);
        }
    }

    fn collect_as(&mut self, target: &Target, uid: &str, propagation: Propagation) {
        if let Some((_, object)) = self.by_uid(uid) {
            self.mark_deleted(target, &object, propagation);
        }
    }

    /// References are resolved by type and name in the object's own namespace; the UID has to fit then.
    fn classify(&self, target: &Target, dependent: &ObjectKey, reference: &Value) -> Owner {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let Some((kind, _)) = self.registry.by_type(text("apiVersion"), text("kind")) else {
            return Owner::Unknown;
        };
        if kind.namespaced && !target.kind.namespaced {
            return Owner::Unknown;
        }
        let namespace = if kind.namespaced {
            &*dependent.namespace
        } else {
            ""
        };
        let owner = self.find(kind, &ObjectKey::new(namespace, text("name")));
        match owner.filter(|owner| *owner.uid == *text("uid")) {
            None => Owner::Absent,
            Some(owner) if owner.deleting && owner.cleanup == Cleanup::Dependents => Owner::Waiting,
            Some(_) => Owner::Solid,
        }
    }

    /// Lets an object go whose own dependents wait for theirs: without that, a circle would wait for ever.
    fn unblock_circles(&mut self, owner: &str) {
        for uid in self.dependents(owner) {
            let waiting = |object: &Object| object.deleting && object.cleanup == Cleanup::Dependents;
            let Some((target, object)) = self.by_uid(&uid).filter(|(_, object)| waiting(object)) else {
                continue;
            };
            let mut value = target.thaw(&object);
            for reference in references_mut(&mut value) {
                reference["blockOwnerDeletion"] = false.into();
            }
            self.change(&target, &object, value);
        }
    }

    /// Does for a deleted object what it waits for; says whether the collector still holds it.
    pub(crate) fn clear_dependents(&mut self, object: &Object) -> bool {
        match object.cleanup {
            Cleanup::None => false,
            Cleanup::Orphan => {
                for uid in self.dependents(&object.uid) {
                    if let Some((target, dependent)) = self.by_uid(&uid) {
                        self.keep_owners(&target, &dependent, |owner| owner["uid"] != *object.uid);
                    }
                }
                false
            }
            Cleanup::Dependents => {
                let mut blocked = false;
                for uid in self.dependents(&object.uid) {
                    let Some((_, dependent)) = self.by_uid(&uid) else {
                        continue;
                    };
                    blocked |= dependent.blocks(&object.uid);
                    if !dependent.deleting {
                        self.work.push(Work::Owned(uid));
                    }
                }
                blocked
            }
        }
    }

    fn keep_owners(&mut self, target: &Target, object: &Arc<Object>, keep: impl FnMut(&Value) -> bool) {
        let mut value = target.thaw(object);
        let metadata = meta_mut(&mut value);
        if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
            owners.retain(keep);
        }
        self.change(target, object, value);
    }

    /// Changes an object as the collector does. It can only be refused where the object has become invalid by
    /// the rules of today, and then it stays as it is.
    fn change(&mut self, target: &Target, object: &Arc<Object>, value: Value) {
        if let Err(error) = self.replace(target, object, value, &WriteOptions::by(COLLECTOR)) {
            tracing::debug!(%error, name = %object.key.name, "failed to change an object of a gone owner");
        }
    }
}

fn references(value: &Value) -> impl Iterator<Item = &Value> {
    value["metadata"]["ownerReferences"]
        .as_array()
        .into_iter()
        .flatten()
}

fn references_mut(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    let owners = meta_mut(value).get_mut("ownerReferences");
    owners.and_then(Value::as_array_mut).into_iter().flatten()
}

/// The finalizers of a deleted object: what the caller asks of the collector replaces what was asked before.
pub(crate) fn with_propagation(finalizers: &[&str], propagation: Propagation) -> Vec<String> {
    let had = |finalizer| finalizers.contains(&finalizer);
    let orphan = match propagation {
        Propagation::Unsaid => had(ORPHAN),
        other => other == Propagation::Orphan,
    };
    let foreground = match propagation {
        Propagation::Unsaid => had(FOREGROUND) && !orphan,
        other => other == Propagation::Foreground,
    };
    let others = finalizers
        .iter()
        .filter(|known| !matches!(**known, ORPHAN | FOREGROUND));
    let ours = [(orphan, ORPHAN), (foreground, FOREGROUND)];
    let ours = ours
        .into_iter()
        .filter(|(wanted, _)| *wanted)
        .map(|(_, name)| name);
    let unchanged = had(ORPHAN) == orphan && had(FOREGROUND) == foreground;
    if unchanged {
        return finalizers.iter().map(|known| (*known).to_owned()).collect();
    }
    others.copied().chain(ours).map(str::to_owned).collect()
}
