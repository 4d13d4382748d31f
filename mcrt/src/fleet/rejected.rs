//! Clusters whose descriptions cannot be used: why, asked and told.
use super::{Fleet, FleetEvent, registry::State};
use crate::{cluster::ClusterName, connect::ConnectError};
use std::{collections::BTreeMap, sync::Arc};

impl Fleet {
    /// The clusters that their provider describes in a way that cannot be used, each with the reason. One that was
    /// engaged before goes on as it was described then; one that was not is left out.
    pub fn rejections(&self) -> BTreeMap<ClusterName, Arc<str>> {
        self.0.state.lock().rejected.clone()
    }

    pub(super) fn reject(&self, name: &ClusterName, reason: &str) {
        let mut state = self.0.state.lock();
        if state.rejected.get(name).is_some_and(|known| **known == *reason) {
            return;
        }
        let kept = if state.members.contains_key(name) {
            "goes on as it was described before"
        } else {
            "is left out"
        };
        tracing::warn!(cluster = %name, reason, "the description of the cluster cannot be used: it {kept}");
        let reason: Arc<str> = reason.into();
        state.rejected.insert(name.clone(), Arc::clone(&reason));
        state.listeners.tell(&FleetEvent::Rejected(name.clone(), reason));
    }

    pub(super) fn reject_unusable(&self, name: &ClusterName, error: &ConnectError) {
        let reason = format!("the way to it, or the credentials, cannot be used: {error}");
        self.reject(name, &reason);
    }

    pub(super) fn accept(&self, name: &ClusterName) {
        if self.0.state.lock().clear(name) {
            tracing::info!(cluster = %name, "the description of the cluster can be used again");
        }
    }
}

impl State {
    /// Forgets why a cluster was rejected; says whether it was.
    pub(super) fn clear(&mut self, name: &ClusterName) -> bool {
        let cleared = self.rejected.remove(name).is_some();
        if cleared {
            self.listeners.tell(&FleetEvent::Cleared(name.clone()));
        }
        cleared
    }
}
