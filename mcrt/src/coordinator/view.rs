//! The Leases of a group as they are seen.
use super::{
    names,
    seen::{self, FenceLease, Seen, SessionLease},
    watched::Sessions,
};
use crate::{
    cache::Store,
    cluster::{ClusterName, ObjectKey},
    provider::host::HostReader,
};
use k8s_openapi::api::coordination::v1::Lease;
use std::collections::BTreeMap;
use tokio::time::Instant;

/// The Leases of the group as they are seen, for as long as the replica runs.
pub(super) struct View {
    pub(super) group: String,
    pub(super) reader: HostReader,
    store: Store<Lease>,
    sessions: BTreeMap<ObjectKey, SessionLease>,
    pub(super) fences: BTreeMap<ClusterName, FenceLease>,
    fence_keys: BTreeMap<ObjectKey, ClusterName>,
    pub(super) watched: Sessions,
}

impl View {
    pub(super) fn new(group: &str, reader: HostReader, store: Store<Lease>) -> Self {
        Self {
            group: group.to_owned(),
            reader,
            store,
            sessions: BTreeMap::new(),
            fences: BTreeMap::new(),
            fence_keys: BTreeMap::new(),
            watched: Sessions::default(),
        }
    }

    pub(super) fn into_reader(self) -> HostReader {
        self.reader
    }

    /// Takes what has changed. False while nobody has told what there is.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        if !self.store.was_synced() {
            return false;
        }
        for key in self.reader.take().changed {
            self.sessions.remove(&key);
            let before = self.fence_keys.remove(&key);
            let before = before.and_then(|cluster| self.fences.remove(&cluster));
            let lease = self.store.get(&key);
            match lease.as_deref().and_then(seen::read) {
                Some(Seen::Session(session)) if *key.name == *names::session(&self.group, &session.id) => {
                    self.sessions.insert(key, session);
                }
                Some(Seen::Fence(fence)) if *key.name == *names::fence(&self.group, &fence.cluster) => {
                    self.fence_keys.insert(key, fence.cluster.clone());
                    self.fences.insert(fence.cluster.clone(), fence);
                }
                // Gone, or of somebody who only uses the label.
                _ => self.keep_vanished(key, before, now),
            }
        }
        self.fences.retain(|_, fence| !fence.is_gone(now));
        self.fence_keys
            .retain(|_, cluster| self.fences.contains_key(cluster));
        let sessions = self.sessions.values().cloned();
        self.watched
            .look(&self.group, sessions, self.fences.values(), now);
        true
    }

    /// A fence that named a session when it was last seen may have been deleted by hand, and its holder be at work.
    fn keep_vanished(&mut self, key: ObjectKey, before: Option<FenceLease>, now: Instant) {
        if let Some(mut fence) = before.filter(|fence| fence.holder.is_some()) {
            fence.vanished.get_or_insert(now);
            self.fence_keys.insert(key, fence.cluster.clone());
            self.fences.insert(fence.cluster.clone(), fence);
        }
    }
}
