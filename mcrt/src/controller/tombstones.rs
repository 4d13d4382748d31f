//! Objects whose deletion was seen and whose `gone` has not succeeded yet.
use crate::{cluster::ObjectKey, queue::Lane};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};

/// The last known state of deleted objects, by the lane of their home cluster.
///
/// One object can be deleted, created and deleted again before its key runs. The earliest is kept: until leave of it
/// is taken nothing of its name is reconciled, so nobody has met the later ones.
pub(crate) struct Tombstones<T>(Mutex<HashMap<(Lane, ObjectKey), Arc<T>>>);

impl<T> Tombstones<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    pub(crate) fn bury(&self, home: Lane, key: ObjectKey, object: Arc<T>) {
        self.0.lock().entry((home, key)).or_insert(object);
    }

    pub(crate) fn get(&self, home: Lane, key: &ObjectKey) -> Option<Arc<T>> {
        let tombstones = self.0.lock();
        if tombstones.is_empty() {
            return None;
        }
        tombstones.get(&(home, key.clone())).cloned()
    }

    /// Leave has been taken of what is under `key`.
    pub(crate) fn settle(&self, home: Lane, key: &ObjectKey) {
        self.0.lock().remove(&(home, key.clone()));
    }

    pub(crate) fn purge(&self, home: Lane) {
        self.0.lock().retain(|(lane, _), _| *lane != home);
    }
}
