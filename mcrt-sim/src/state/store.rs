//! The state of one server: objects by resource, the event log of each, one version counter for all.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use crate::api::request::RequestInfo;
use crate::state::kinds::{Kind, Registry};
use crate::state::object::{Object, ObjectKey};
use crate::write::lifecycle::Work;

/// How many events a resource remembers; a watch that starts further back has to list again.
const LOG_EVENTS: usize = 10_000;
/// How many bytes of replaced or removed bodies a log keeps alive at most.
const LOG_BYTES: usize = 32 << 20;

/// One change of one object.
#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) version: u64,
    pub(crate) old: Option<Arc<Object>>,
    /// The new object; for a removal, the last one under the version of its removal.
    pub(crate) new: Arc<Object>,
    pub(crate) removed: bool,
}

/// What wakes the watches of a resource. Counters, so that nothing is lost between two looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Signal {
    pub(crate) next: u64,
    pub(crate) cut: u64,
    pub(crate) expired: u64,
}

/// The objects of one resource.
#[derive(Default)]
pub(crate) struct Resource {
    pub(crate) objects: BTreeMap<ObjectKey, Arc<Object>>,
    log: VecDeque<Event>,
    log_bytes: usize,
    /// Sequence number of the first event in the log.
    first: u64,
    /// The newest version that has been dropped from the log.
    trimmed: u64,
    signal: watch::Sender<Signal>,
}

/// The next events for a watch.
pub(crate) enum Batch {
    Events(Vec<Event>),
    /// The watch fell behind the log.
    Lagged,
}

impl Resource {
    pub(crate) fn subscribe(&self) -> watch::Receiver<Signal> {
        self.signal.subscribe()
    }

    pub(crate) fn next_sequence(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    /// Where a watch from a version starts, or nothing if the log no longer reaches back to it.
    pub(crate) fn sequence_after(&self, version: u64) -> Option<u64> {
        let known = self.log.partition_point(|event| event.version <= version);
        (version >= self.trimmed).then_some(self.first + known as u64)
    }

    pub(crate) fn events(&self, from: u64, limit: usize) -> Batch {
        let Some(skip) = from.checked_sub(self.first) else {
            return Batch::Lagged;
        };
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        Batch::Events(self.log.iter().skip(skip).take(limit).cloned().collect())
    }

    /// The objects as they were at a version, from a key on; nothing if the log no longer reaches back.
    pub(crate) fn snapshot(&self, version: u64, after: Option<&ObjectKey>) -> Option<Vec<Arc<Object>>> {
        if version < self.trimmed {
            return None;
        }
        let from = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let newer = self.log.partition_point(|event| event.version <= version);
        if newer == self.log.len() {
            return Some(
                self.objects
                    .range(from)
                    .map(|(_, object)| Arc::clone(object))
                    .collect(),
            );
        }
        let mut objects: BTreeMap<_, _> = self.objects.range(from).collect();
        // Undone from the newest on, each key ends at what it was before its first newer event.
        for event in self.log.range(newer..).rev() {
            let key = &event.new.key;
            if after.is_some_and(|after| key <= after) {
                continue;
            }
            match &event.old {
                Some(old) => objects.insert(key, old),
                None => objects.remove(key),
            };
        }
        Some(objects.into_values().map(Arc::clone).collect())
    }

    /// The object as it was at a version.
    fn find_at(&self, key: &ObjectKey, version: u64) -> Option<Arc<Object>> {
        let newer = self.log.partition_point(|event| event.version <= version);
        match self.log.range(newer..).find(|event| event.new.key == *key) {
            Some(event) => event.old.clone(),
            None => self.objects.get(key).cloned(),
        }
    }

    fn push(&mut self, event: Event) {
        self.log_bytes += kept_bytes(&event);
        self.log.push_back(event);
        while self.log.len() > LOG_EVENTS || (self.log_bytes > LOG_BYTES && self.log.len() > 1) {
            self.drop_oldest();
        }
        let next = self.next_sequence();
        self.signal.send_modify(|signal| signal.next = next);
    }

    fn drop_oldest(&mut self) {
        if let Some(event) = self.log.pop_front() {
            self.log_bytes -= kept_bytes(&event);
            self.trimmed = self.trimmed.max(event.version);
            self.first += 1;
        }
    }

    /// Forgets the events; live watches still get what they have not seen yet.
    fn compact(&mut self, version: u64) {
        if self.signal.receiver_count() == 0 {
            self.first = self.next_sequence();
            self.log.clear();
            self.log_bytes = 0;
        }
        self.trimmed = version;
    }

    pub(crate) fn cut_watches(&self) {
        self.signal.send_modify(|signal| signal.cut += 1);
    }

    pub(crate) fn expire_watches(&self) {
        self.signal.send_modify(|signal| signal.expired += 1);
    }
}

fn kept_bytes(event: &Event) -> usize {
    let removed = if event.removed { event.new.size() } else { 0 };
    event.old.as_ref().map_or(0, |old| old.size()) + removed
}

/// Where an object is, by its UID.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) kind: Arc<str>,
    pub(crate) key: ObjectKey,
}

/// All that a server holds.
pub(crate) struct Store {
    pub(crate) version: u64,
    compacted: u64,
    pub(crate) registry: Registry,
    resources: HashMap<Arc<str>, Resource>,
    places: HashMap<Box<str>, Place>,
    dependents: HashMap<Box<str>, BTreeSet<Box<str>>>,
    pub(crate) seeded: bool,
    /// What follows from the last write and has not been done yet.
    pub(crate) work: VecDeque<Work>,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            version: 0,
            compacted: 0,
            registry: Registry::builtin(),
            resources: HashMap::new(),
            places: HashMap::new(),
            dependents: HashMap::new(),
            seeded: false,
            work: VecDeque::new(),
        }
    }

    pub(crate) fn resource(&mut self, kind: &Kind) -> &mut Resource {
        let trimmed = self.compacted;
        let fresh = || Resource {
            trimmed,
            ..Resource::default()
        };
        self.resources.entry(Arc::clone(&kind.id)).or_insert_with(fresh)
    }

    pub(crate) fn resources(&self) -> impl Iterator<Item = (&Arc<str>, &Resource)> {
        self.resources.iter()
    }

    /// The version that a read sees: the newest, unless a fault holds it back.
    pub(crate) fn seen(&mut self, kind: &Kind, info: &RequestInfo) -> u64 {
        let newest = self.version;
        // Further back the log says nothing any more.
        info.seen_version(newest)
            .max(self.resource(kind).trimmed)
            .min(newest)
    }

    /// The object as a read sees it.
    pub(crate) fn find_seen(
        &mut self,
        kind: &Kind,
        key: &ObjectKey,
        info: &RequestInfo,
    ) -> Option<Arc<Object>> {
        let version = self.seen(kind, info);
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

    pub(crate) fn place(&self, uid: &str) -> Option<&Place> {
        self.places.get(uid)
    }

    /// UIDs of the objects that name this UID as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Box<str>> {
        self.dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Writes an object under the next version and tells the watches.
    pub(crate) fn put(&mut self, kind: &Kind, old: Option<Arc<Object>>, value: Value) -> Arc<Object> {
        self.version += 1;
        let new = Arc::new(Object::freeze(value, self.version));
        if let Some(old) = &old {
            self.unlink(old);
        }
        for owner in new.owners() {
            self.dependents
                .entry(owner.into())
                .or_default()
                .insert(new.uid.clone());
        }
        let place = Place {
            kind: Arc::clone(&kind.id),
            key: new.key.clone(),
        };
        self.places.insert(new.uid.clone(), place);
        let event = Event {
            version: self.version,
            old,
            new: Arc::clone(&new),
            removed: false,
        };
        let resource = self.resource(kind);
        resource.objects.insert(new.key.clone(), Arc::clone(&new));
        resource.push(event);
        new
    }

    /// Removes an object; `last` is what the deletion event shows, if it differs from what is stored.
    pub(crate) fn remove(&mut self, kind: &Kind, old: &Arc<Object>, last: Option<Value>) -> Arc<Object> {
        self.version += 1;
        let version = self.version;
        let last = last.map_or_else(|| old.at_version(version), |value| Object::freeze(value, version));
        let last = Arc::new(last);
        self.unlink(old);
        self.places.remove(&old.uid);
        let event = Event {
            version,
            old: Some(Arc::clone(old)),
            new: Arc::clone(&last),
            removed: true,
        };
        let resource = self.resource(kind);
        resource.objects.remove(&old.key);
        resource.push(event);
        last
    }

    fn unlink(&mut self, object: &Object) {
        for owner in object.owners() {
            if let Some(known) = self.dependents.get_mut(owner) {
                known.remove(&object.uid);
                if known.is_empty() {
                    self.dependents.remove(owner);
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
