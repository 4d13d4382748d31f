//! The garbage collector: objects go with the last of their owners.

use std::sync::Arc;

use serde_json::Value;

use crate::state::object::{Object, meta_mut};
use crate::state::store::Store;
use crate::write::operation::{Propagation, Target};

impl Store {
    /// Deletes an object none of whose owners exist; else drops references to those that do not.
    pub(crate) fn collect(&mut self, target: &Target, object: &Arc<Object>) {
        let exists = |uid: &str| {
            self.place(uid).is_some_and(|owner| {
                owner.key.namespace.is_empty() || owner.key.namespace == object.key.namespace
            })
        };
        let total = object.owners().count();
        let alive = object.owners().filter(|uid| exists(uid)).count();
        if total == alive {
            return;
        }
        if alive == 0 {
            if !object.deleting {
                self.mark_deleted(target, object, Propagation::Background);
            }
            return;
        }
        let mut value = target.thaw(object);
        retain_owners(&mut value, exists);
        self.put(&target.kind, Some(Arc::clone(object)), value);
    }

    /// Makes an owner's dependents forget it.
    pub(crate) fn orphan_dependents(&mut self, owner: &str) {
        for uid in self.dependents(owner) {
            let Some((target, dependent)) = self.by_uid(&uid) else {
                continue;
            };
            let mut value = target.thaw(&dependent);
            retain_owners(&mut value, |uid| uid != owner);
            self.put(&target.kind, Some(dependent), value);
        }
    }

    /// Whether an owner that is deleted in the foreground has to wait for this dependent.
    pub(crate) fn blocks(&self, dependent: &str, owner: &str) -> bool {
        self.by_uid(dependent).is_some_and(|(target, dependent)| {
            let value = target.thaw(&dependent);
            let mut owners = value["metadata"]["ownerReferences"]
                .as_array()
                .into_iter()
                .flatten();
            owners.any(|one| one["uid"] == *owner && one["blockOwnerDeletion"] == true)
        })
    }
}

fn retain_owners(value: &mut Value, keep: impl Fn(&str) -> bool) {
    let metadata = meta_mut(value);
    if let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) {
        owners.retain(|owner| owner["uid"].as_str().is_some_and(&keep));
        if owners.is_empty() {
            metadata.remove("ownerReferences");
        }
    }
}
