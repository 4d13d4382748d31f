//! The objects of one resource and the log of what happened to them.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use tokio::sync::watch;

use crate::state::object::{Object, ObjectKey};

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
    followers: Vec<Weak<Told>>,
}

/// How far a watch has told its client, as a sequence number; nothing told yet is further than any event.
#[derive(Debug)]
pub(crate) struct Told(AtomicU64);

impl Told {
    pub(crate) fn up_to(&self, sequence: u64) {
        self.0.store(sequence, Ordering::Relaxed);
    }
}

/// The next events for a watch.
pub(crate) enum Batch {
    Events(Vec<Event>),
    /// The watch fell behind the log.
    Lagged,
}

impl Resource {
    /// One whose log reaches back to a version only.
    pub(super) fn since(trimmed: u64) -> Self {
        Self {
            trimmed,
            ..Self::default()
        }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Signal> {
        self.signal.subscribe()
    }

    /// The place where a watch notes how far it is, for as long as it keeps it.
    pub(crate) fn follow(&mut self) -> Arc<Told> {
        let told = Arc::new(Told(AtomicU64::new(u64::MAX)));
        self.followers.retain(|follower| follower.strong_count() > 0);
        self.followers.push(Arc::downgrade(&told));
        told
    }

    /// How many watches have told everything that there is to tell.
    pub(crate) fn up_to_date(&self) -> usize {
        let next = self.next_sequence();
        let told = self.followers.iter().filter_map(Weak::upgrade);
        told.filter(|told| told.0.load(Ordering::Relaxed) == next).count()
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

    /// The objects of a namespace or of all as they were at a version, from a key on; nothing if the log no longer
    /// reaches back.
    pub(crate) fn snapshot(
        &self,
        version: u64,
        namespace: Option<&str>,
        after: Option<&ObjectKey>,
    ) -> Option<Vec<Arc<Object>>> {
        if version < self.trimmed {
            return None;
        }
        // A namespace is one range, or one in each logical cluster.
        let first = self.objects.first_key_value();
        let is_wide = first.is_some_and(|(key, _)| key.cluster.is_some());
        let start = namespace.filter(|_| !is_wide);
        let start = start.map(|namespace| ObjectKey::new(namespace, ""));
        let after = after.or(start.as_ref());
        let from = (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded);
        let here = |key: &ObjectKey| namespace.is_none_or(|namespace| *key.namespace == *namespace);
        let range = self.objects.range(from);
        let range = range.take_while(|(key, _)| is_wide || here(key));
        let objects = range.filter(|(key, _)| here(key));
        let newer = self.log.partition_point(|event| event.version <= version);
        if newer == self.log.len() {
            return Some(objects.map(|(_, object)| Arc::clone(object)).collect());
        }
        let mut objects: BTreeMap<_, _> = objects.collect();
        // Undone from the newest on, each key ends at what it was before its first newer event.
        for event in self.log.range(newer..).rev() {
            let key = &event.new.key;
            if !here(key) || after.is_some_and(|after| key <= after) {
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
    pub(crate) fn find_at(&self, key: &ObjectKey, version: u64) -> Option<Arc<Object>> {
        let newer = self.log.partition_point(|event| event.version <= version);
        match self.log.range(newer..).find(|event| event.new.key == *key) {
            Some(event) => event.old.clone(),
            None => self.objects.get(key).cloned(),
        }
    }

    /// The newest version that has been dropped from the log.
    pub(crate) fn trimmed(&self) -> u64 {
        self.trimmed
    }

    pub(super) fn push(&mut self, event: Event) {
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
    pub(super) fn compact(&mut self, version: u64) {
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
