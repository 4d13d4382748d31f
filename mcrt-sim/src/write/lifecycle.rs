//! What a cluster's controllers do by themselves after a write, one step at a time.

use std::sync::Arc;

use crate::state::object::{Cleanup, FOREGROUND, ORPHAN, Object, meta_mut};
use crate::state::store::Store;
use crate::state::target::Target;
use crate::state::work::Work;
use crate::write::admit::is_held;
use crate::write::delete::Propagation;
use serde_json::Value;

const CRD_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

impl Store {
    /// Does all that is left to do.
    pub(crate) fn settle(&mut self) {
        while self.step() {}
    }

    /// Does the next thing that is left to do, if there is one.
    pub(crate) fn step(&mut self) -> bool {
        match self.work.pop() {
            Some(Work::Owned(uid)) => self.collect(&uid),
            Some(Work::Held(uid)) => self.release(&uid),
            Some(Work::RootCa(namespace)) => self.publish_root_ca(&namespace),
            None => return false,
        }
        true
    }

    pub(crate) fn target(&self, id: &str) -> Option<Target> {
        let kind = Arc::clone(self.registry.by_id(id)?);
        let version = kind.versions.first()?.clone();
        Some(Target { kind, version })
    }

    /// The object of a UID with its resource, while its kind is served.
    pub(crate) fn by_uid(&self, uid: &str) -> Option<(Target, Arc<Object>)> {
        let place = self.place(uid)?;
        let target = self.target(&place.kind)?;
        let object = self.find(&target.kind, &place.key)?;
        Some((target, object))
    }

    /// Does what a deleted object waits for, and lets it go as far as that is done.
    fn release(&mut self, uid: &str) {
        let deleted = |this: &Self| this.by_uid(uid).filter(|(_, object)| object.deleting);
        let Some((target, object)) = deleted(self) else {
            return;
        };
        let blocked = self.clear_dependents(&object);
        if target.kind.is_crd() {
            self.delete_objects(&object.key.name);
        }
        // What was just done may have changed the object itself.
        let Some((target, object)) = deleted(self) else {
            return;
        };
        let before = target.thaw(&object);
        let mut value = before.clone();
        if target.kind.is_crd() && self.in_namespace(&object.key.name, None).is_empty() {
            drop_finalizer(&mut value, CRD_CLEANUP);
        }
        match object.cleanup {
            Cleanup::Dependents if !blocked => drop_finalizer(&mut value, FOREGROUND),
            Cleanup::Orphan => drop_finalizer(&mut value, ORPHAN),
            _ => {}
        }
        if !is_held(&target, &value) {
            self.remove(&target.kind, &object, Some(value));
            return;
        }
        let object = if value == before {
            object
        } else {
            self.put(&target.kind, Some(object), value)
        };
        if target.kind.is_namespace() {
            self.end_namespace(&target, &object);
        }
    }

    /// Holds a definition that is deleted until the objects of its kind are gone.
    pub(crate) fn hold_for_objects(&self, crd: &str, finalizers: &mut Vec<String>) {
        let known = finalizers.iter().any(|finalizer| finalizer == CRD_CLEANUP);
        if !known && !self.in_namespace(crd, None).is_empty() {
            finalizers.push(CRD_CLEANUP.to_owned());
        }
    }

    fn delete_objects(&mut self, crd: &str) {
        let Some(target) = self.target(crd) else { return };
        for object in self.in_namespace(crd, None) {
            if !object.deleting {
                self.mark_deleted(&target, &object, Propagation::Background);
            }
        }
    }
}

fn drop_finalizer(value: &mut Value, finalizer: &str) {
    let metadata = meta_mut(value);
    if let Some(list) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
        list.retain(|known| known != finalizer);
        if list.is_empty() {
            metadata.remove("finalizers");
        }
    }
}
