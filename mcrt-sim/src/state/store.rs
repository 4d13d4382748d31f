//! The state of one server: objects by resource, one version counter for all, and what follows from a change.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::state::kind::{CRDS, Kind};
use crate::state::log::{Event, Resource};
use crate::state::object::{Object, ObjectKey};
use crate::state::registry::Registry;
use crate::state::shared::{Part, Turn};
use crate::state::view::View;
use crate::state::work::{Work, WorkQueue};

/// The `ConfigMap` that every namespace has.
pub(crate) const ROOT_CA: &str = "kube-root-ca.crt";

/// Where an object is, by its UID.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) kind: Arc<str>,
    pub(crate) key: ObjectKey,
}

/// All that a server holds.
pub(crate) struct Store {
    pub(crate) version: u64,
    compacted: u64,
    pub(crate) registry: Registry,
    /// Sorted, as the dependents are: what goes through them does so in the same order in every run.
    resources: BTreeMap<Arc<str>, Resource>,
    places: HashMap<Box<str>, Place>,
    dependents: HashMap<Box<str>, BTreeMap<Place, Box<str>>>,
    pub(crate) seeded: bool,
    /// What follows from the writes so far and has not been done yet.
    pub(crate) work: WorkQueue,
    /// Set where it is one of several that share their versions.
    pub(crate) part: Option<Arc<Part>>,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            version: 0,
            compacted: 0,
            registry: Registry::builtin(),
            resources: BTreeMap::new(),
            places: HashMap::new(),
            dependents: HashMap::new(),
            seeded: false,
            work: WorkQueue::default(),
            part: None,
        }
    }

    pub(crate) fn resource(&mut self, kind: &Kind) -> &mut Resource {
        let trimmed = self.compacted;
        self.resources
            .entry(Arc::clone(&kind.id))
            .or_insert_with(|| Resource::since(trimmed))
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = (&Arc<str>, &Resource)> {
        self.resources.iter()
    }

    /// The version that a read sees: the newest, unless a fault holds it back.
    pub(crate) fn seen(&mut self, kind: &Kind, view: Option<View>) -> u64 {
        let newest = self.version;
        let seen = view.map_or(newest, |view| view.version(newest));
        // Further back the log says nothing any more.
        seen.max(self.resource(kind).trimmed()).min(newest)
    }

    /// The object as a read sees it.
    pub(crate) fn find_seen(
        &mut self,
        kind: &Kind,
        key: &ObjectKey,
        view: Option<View>,
    ) -> Option<Arc<Object>> {
        let version = self.seen(kind, view);
        self.resource(kind).find_at(key, version)
    }

    pub(crate) fn find(&self, kind: &Kind, key: &ObjectKey) -> Option<Arc<Object>> {
        self.resources.get(&kind.id)?.objects.get(key).cloned()
    }

    /// The objects of a resource, in one namespace or in all.
    pub(crate) fn in_namespace(&self, kind: &str, namespace: Option<&str>) -> Vec<Arc<Object>> {
        let Some(resource) = self.resources.get(kind) else {
            return Vec::new();
        };
        let Some(namespace) = namespace else {
            return resource.objects.values().cloned().collect();
        };
        let from = ObjectKey::new(namespace, "");
        let range = resource.objects.range(from..);
        let here = range.take_while(|(key, _)| &*key.namespace == namespace);
        here.map(|(_, object)| Arc::clone(object)).collect()
    }

    /// Whether a resource has no objects.
    pub(crate) fn is_empty(&self, kind: &str) -> bool {
        let resource = self.resources.get(kind);
        resource.is_none_or(|resource| resource.objects.is_empty())
    }

    pub(crate) fn place(&self, uid: &str) -> Option<&Place> {
        self.places.get(uid)
    }

    /// UIDs of the objects that name this UID as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Box<str>> {
        let known = self.dependents.get(uid).into_iter();
        known.flat_map(BTreeMap::values).cloned().collect()
    }

    /// Writes an object under the next version and tells the watches.
    pub(crate) fn put(&mut self, kind: &Kind, old: Option<Arc<Object>>, mut value: Value) -> Arc<Object> {
        self.put_in_place(kind, old, &mut value)
    }

    /// Writes an object and leaves its content in the value.
    pub(crate) fn put_in_place(
        &mut self,
        kind: &Kind,
        old: Option<Arc<Object>>,
        value: &mut Value,
    ) -> Arc<Object> {
        let part = self.part.clone();
        let mut turn = part.as_deref().map(Part::turn);
        self.version = turn.as_mut().map_or(self.version + 1, Turn::next);
        self.mark(value);
        let new = Arc::new(Object::freeze_in_place(value, self.version));
        let place = Place {
            kind: Arc::clone(&kind.id),
            key: new.key.clone(),
        };
        if let Some(old) = &old {
            self.unlink(&place, old);
        }
        for owner in new.owners() {
            let known = self.dependents.entry(owner.uid.clone()).or_default();
            known.insert(place.clone(), new.uid.clone());
        }
        self.places.insert(new.uid.clone(), place);
        self.follow_put(kind, old.as_deref(), &new);
        let event = Event {
            version: self.version,
            old,
            new: Arc::clone(&new),
            removed: false,
        };
        if let Some(turn) = turn {
            turn.show(kind, &event);
        }
        let resource = self.resource(kind);
        resource.objects.insert(new.key.clone(), Arc::clone(&new));
        resource.push(event);
        if let Some(part) = &part {
            part.reconsider(kind, self, &new.key);
        }
        new
    }

    /// Names the logical cluster in an object, as every object does that lives in one.
    pub(crate) fn mark(&self, value: &mut Value) {
        if let Some(part) = &self.part {
            part.mark(value);
        }
    }

    /// Removes an object; `last` is what the deletion event shows, if it differs from what is stored.
    pub(crate) fn remove(&mut self, kind: &Kind, old: &Arc<Object>, last: Option<Value>) -> Arc<Object> {
        let part = self.part.clone();
        let mut turn = part.as_deref().map(Part::turn);
        self.version = turn.as_mut().map_or(self.version + 1, Turn::next);
        let version = self.version;
        let last = last.map_or_else(|| old.at_version(version), |value| Object::freeze(value, version));
        let last = Arc::new(last);
        if let Some(place) = self.places.remove(&old.uid) {
            self.unlink(&place, old);
        }
        self.follow_removal(kind, old);
        let event = Event {
            version,
            old: Some(Arc::clone(old)),
            new: Arc::clone(&last),
            removed: true,
        };
        if let Some(turn) = turn {
            turn.show(kind, &event);
        }
        let resource = self.resource(kind);
        resource.objects.remove(&old.key);
        resource.push(event);
        if let Some(part) = &part {
            part.reconsider(kind, self, &last.key);
        }
        last
    }

    /// Notes what the cluster's controllers will do about a written object.
    fn follow_put(&mut self, kind: &Kind, old: Option<&Object>, new: &Object) {
        let before = old.map(Object::owners).unwrap_or_default();
        if before != new.owners() {
            if !new.owners().is_empty() {
                self.work.push(Work::Owned(new.uid.clone()));
            }
            for owner in before {
                self.wake_held(&owner.uid);
            }
        }
        if new.deleting && old.is_none_or(|old| !old.deleting || old.cleanup != new.cleanup) {
            self.work.push(Work::Held(new.uid.clone()));
        }
        if old.is_none() && kind.is_namespace() {
            self.work.push(Work::RootCa((*new.key.name).into()));
        }
    }

    /// Notes what the cluster's controllers will do about an object that is gone.
    fn follow_removal(&mut self, kind: &Kind, old: &Object) {
        for dependent in self.dependents(&old.uid) {
            self.work.push(Work::Owned(dependent));
        }
        for owner in old.owners() {
            self.wake_held(&owner.uid);
        }
        if !old.key.namespace.is_empty() {
            self.wake_holder("namespaces", &old.key.namespace);
        }
        if kind.is_crd() {
            self.withdraw(&old.key.name);
        } else if !kind.builtin {
            self.wake_holder(CRDS, &kind.id);
        }
        if &*kind.id == "configmaps" && &*old.key.name == ROOT_CA {
            self.work.push(Work::RootCa((*old.key.namespace).into()));
        }
    }

    /// Stops serving what a removed definition described.
    fn withdraw(&mut self, crd: &str) {
        if self.registry.by_id(crd).is_some_and(|kind| !kind.builtin) {
            self.registry.unserve(crd);
            if let Some(resource) = self.resources.get(crd) {
                resource.cut_watches();
            }
        }
    }

    /// Has an object looked at again, if it is deleted but held.
    fn wake_held(&mut self, uid: &str) {
        let held = self.places.get(uid).and_then(|place| {
            let resource = self.resources.get(&place.kind)?;
            resource.objects.get(&place.key).filter(|object| object.deleting)
        });
        if held.is_some() {
            self.work.push(Work::Held(uid.into()));
        }
    }

    fn wake_holder(&mut self, kind: &str, name: &str) {
        let holder = self
            .resources
            .get(kind)
            .and_then(|resource| resource.objects.get(&ObjectKey::new("", name)));
        if let Some(holder) = holder.filter(|holder| holder.deleting) {
            self.work.push(Work::Held(holder.uid.clone()));
        }
    }

    fn unlink(&mut self, place: &Place, object: &Object) {
        for owner in object.owners() {
            if let Some(known) = self.dependents.get_mut(&owner.uid) {
                known.remove(place);
                if known.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
    }

    /// Forgets every event so far, also for resources that come into being later.
    pub(crate) fn compact(&mut self) {
        self.compacted = self.version;
        for resource in self.resources.values_mut() {
            resource.compact(self.compacted);
        }
    }
}
