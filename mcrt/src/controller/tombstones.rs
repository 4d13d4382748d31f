//! Objects whose deletion was seen and whose `gone` has not succeeded yet.
use crate::{cluster::ObjectKey, queue::Lane};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};

/// The last known state of deleted objects, by the lane of their home cluster.
///
/// One object can be deleted, created and deleted again before its key runs: the later one replaces the earlier,
/// since work is per name and both are gone.
pub(crate) struct Tombstones<T>(Mutex<HashMap<(Lane, ObjectKey), Arc<T>>>);

impl<T> Tombstones<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    pub(crate) fn bury(&self, home: Lane, key: ObjectKey, object: Arc<T>) {
        self.0.lock().insert((home, key), object);
    }

    pub(crate) fn get(&self, home: Lane, key: &ObjectKey) -> Option<Arc<T>> {
        let tombstones = self.0.lock();
        if tombstones.is_empty() {
            return None;
        }
        tombstones.get(&(home, key.clone())).cloned()
    }

    /// Takes leave of `object`; a later one of the same name stays.
    pub(crate) fn settle(&self, home: Lane, key: &ObjectKey, object: &Arc<T>) {
        let mut tombstones = self.0.lock();
        let at = (home, key.clone());
        if tombstones
            .get(&at)
            .is_some_and(|current| Arc::ptr_eq(current, object))
        {
            tombstones.remove(&at);
        }
    }

    pub(crate) fn purge(&self, home: Lane) {
        self.0.lock().retain(|(lane, _), _| *lane != home);
    }
}
