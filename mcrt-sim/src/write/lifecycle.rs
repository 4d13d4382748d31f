//! What a cluster's controllers do by themselves after a write: namespaces, CRDs, held deletions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::state::kinds::CRDS;
use crate::state::object::{Object, ObjectKey, field_mut, meta_mut, now, object_mut};
use crate::state::store::Store;
use crate::write::admit::{finalizers, is_held};
use crate::write::operation::{Propagation, Target, WriteOptions};

/// A consequence of a write. Worked off in order before the write's lock is released.
pub(crate) enum Work {
    /// The object of this UID was created or changed.
    Written(Box<str>),
    /// The object of this UID is deleted but held: clear what it waits for.
    Clean(Box<str>),
    /// The object is gone from this resource.
    Removed(Arc<str>, Arc<Object>),
}

const CRD_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const FOREGROUND: &str = "foregroundDeletion";
const ROOT_CA: &str = "kube-root-ca.crt";
const ROOT_CA_DATA: &str = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n";

impl Store {
    pub(crate) fn settle_after(&mut self, work: Work) {
        self.work.push_back(work);
        self.settle();
    }

    pub(crate) fn settle(&mut self) {
        while let Some(work) = self.work.pop_front() {
            match work {
                Work::Written(uid) => self.after_write(&uid),
                Work::Clean(uid) => self.clean(&uid),
                Work::Removed(kind, object) => self.after_removal(&kind, &object),
            }
        }
    }

    /// The namespaces that every cluster has; the UID of `kube-system` stands for the cluster.
    pub(crate) fn seed(&mut self, uid: &str) {
        self.seeded = true;
        let Some(target) = self.target("namespaces") else {
            return;
        };
        for name in ["default", "kube-system", "kube-public"] {
            let mut value = json!({
                "metadata": {
                    "name": name, "uid": crate::state::object::new_uid(), "creationTimestamp": now(),
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            });
            if name == "kube-system" {
                meta_mut(&mut value).insert("uid".into(), uid.into());
            }
            let namespace = self.put(&target.kind, None, value);
            self.settle_after(Work::Written(namespace.uid.clone()));
        }
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

    fn after_write(&mut self, uid: &str) {
        let Some((target, object)) = self.by_uid(uid) else {
            return;
        };
        self.collect(&target, &object);
        if target.kind.is_crd() {
            self.registry.serve_crd(&target.thaw(&object));
        } else if target.kind.is_namespace() && !object.deleting {
            self.publish_root_ca(&object.key.name);
        }
    }

    fn publish_root_ca(&mut self, namespace: &str) {
        let Some(target) = self.target("configmaps") else {
            return;
        };
        let key = ObjectKey::new(namespace, ROOT_CA);
        if self.find(&target.kind, &key).is_none() {
            let value = json!({
                "metadata": {"name": ROOT_CA, "namespace": namespace},
                "data": {"ca.crt": ROOT_CA_DATA},
            });
            // It can only be refused where the namespace has gone meanwhile, and then nobody misses it.
            let _ = self.create(&target, value, &WriteOptions::by("root-ca-cert-publisher"));
        }
    }

    fn after_removal(&mut self, kind: &str, object: &Object) {
        for uid in self.dependents(&object.uid) {
            if let Some((target, dependent)) = self.by_uid(&uid) {
                self.collect(&target, &dependent);
            }
        }
        for owner in object.owners() {
            self.release(owner);
        }
        if kind == CRDS {
            self.withdraw(&object.key.name);
        }
        if !object.key.namespace.is_empty() {
            self.release_holder("namespaces", &object.key.namespace);
        }
        self.release_holder(CRDS, kind);
    }

    /// Stops serving what a removed CRD described.
    fn withdraw(&mut self, id: &str) {
        if let Some(kind) = self.registry.by_id(id).filter(|kind| !kind.builtin).cloned() {
            self.registry.unserve(id);
            self.resource(&kind).cut_watches();
        }
    }

    /// Marks what has to be cleared before a deleted object may go.
    pub(crate) fn hold_for_cleanup(
        &self,
        target: &Target,
        old: &Object,
        value: &mut Value,
        propagation: Propagation,
    ) {
        if target.kind.is_namespace() {
            object_mut(field_mut(value, "status")).insert("phase".into(), "Terminating".into());
        }
        if target.kind.is_crd() && !self.in_namespace(&old.key.name, None).is_empty() {
            add_finalizer(value, CRD_CLEANUP);
        }
        if propagation == Propagation::Foreground && !self.dependents(&old.uid).is_empty() {
            add_finalizer(value, FOREGROUND);
        }
    }

    /// Deletes what a held object waits for.
    fn clean(&mut self, uid: &str) {
        let Some((target, object)) = self.by_uid(uid) else {
            return;
        };
        if target.kind.is_namespace() {
            let kinds: Vec<_> = self.resources().map(|(id, _)| Arc::clone(id)).collect();
            for kind in kinds {
                self.delete_all(&kind, Some(&object.key.name));
            }
        }
        if target.kind.is_crd() {
            self.delete_all(&object.key.name, None);
        }
        if finalizers(&target.thaw(&object)).any(|held| held == FOREGROUND) {
            for dependent in self.dependents(uid) {
                if let Some((target, dependent)) = self.by_uid(&dependent).filter(|(_, one)| !one.deleting) {
                    self.mark_deleted(&target, &dependent, Propagation::Foreground);
                }
            }
        }
        self.release(uid);
    }

    fn delete_all(&mut self, kind: &str, namespace: Option<&str>) {
        let Some(target) = self.target(kind) else { return };
        for object in self.in_namespace(kind, namespace) {
            // An earlier deletion in this loop may have taken this one along.
            if let Some(object) = self
                .find(&target.kind, &object.key)
                .filter(|object| !object.deleting)
            {
                self.mark_deleted(&target, &object, Propagation::Background);
            }
        }
    }

    fn release_holder(&mut self, kind: &str, name: &str) {
        let holder = self
            .target(kind)
            .and_then(|target| self.find(&target.kind, &ObjectKey::new("", name)));
        if let Some(holder) = holder.filter(|holder| holder.deleting) {
            self.release(&holder.uid);
        }
    }

    /// Lets a deleted object go as far as what it waited for is done.
    fn release(&mut self, uid: &str) {
        let Some((target, object)) = self.by_uid(uid).filter(|(_, object)| object.deleting) else {
            return;
        };
        let before = target.thaw(&object);
        let mut value = before.clone();
        if target.kind.is_namespace() && self.is_empty_namespace(&object.key.name) {
            object_mut(field_mut(&mut value, "spec")).remove("finalizers");
        }
        if target.kind.is_crd() && self.in_namespace(&object.key.name, None).is_empty() {
            remove_finalizer(&mut value, CRD_CLEANUP);
        }
        if !self
            .dependents(uid)
            .iter()
            .any(|dependent| self.blocks(dependent, uid))
        {
            remove_finalizer(&mut value, FOREGROUND);
        }
        if !is_held(&target, &value) {
            let last = self.remove(&target.kind, &object, Some(value));
            self.work
                .push_back(Work::Removed(Arc::clone(&target.kind.id), last));
        } else if value != before {
            self.put(&target.kind, Some(object), value);
        }
    }

    fn is_empty_namespace(&self, namespace: &str) -> bool {
        self.resources().all(|(id, _)| {
            // Objects of a kind that is no longer served cannot be reached and hold nothing.
            self.registry.by_id(id).is_none() || self.in_namespace(id, Some(namespace)).is_empty()
        })
    }
}

fn add_finalizer(value: &mut Value, finalizer: &str) {
    let list = meta_mut(value).entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = list
        .as_array_mut()
        .filter(|list| list.iter().all(|known| known != finalizer))
    {
        list.push(finalizer.into());
    }
}

fn remove_finalizer(value: &mut Value, finalizer: &str) {
    let metadata = meta_mut(value);
    if let Some(list) = metadata.get_mut("finalizers").and_then(Value::as_array_mut) {
        list.retain(|known| known != finalizer);
        if list.is_empty() {
            metadata.remove("finalizers");
        }
    }
}

/// The status of a CRD whose names are accepted and whose kinds are served.
pub(crate) fn established(crd: &Value) -> Value {
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()});
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let stored: Vec<_> = versions
        .filter(|one| one["storage"] == true)
        .map(|one| one["name"].clone())
        .collect();
    json!({
        "acceptedNames": crd["spec"]["names"],
        "storedVersions": stored,
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
    })
}
