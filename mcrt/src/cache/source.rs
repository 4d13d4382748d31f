//! Where the events of a cache come from: one feed per namespace it names, or one for all.
use super::{
    caches::CacheSettings,
    feed::{Feed, Patience},
    limits::ClusterLists,
    pulse::{Pulse, observed},
    scope::Cacheable,
    shared::Shared,
};
use crate::connect::Breaker;
use kube::{Api, Client, runtime::watcher};
use std::sync::Arc;
use tokio_util::task::TaskTracker;

/// How to reach the kind of a cache.
pub(super) struct Source<K: Cacheable> {
    pub(super) client: Client,
    pub(super) kind: K::DynamicType,
    pub(super) lists: ClusterLists,
    /// While it is open, nothing is watched.
    pub(super) breaker: Breaker,
    pub(super) settings: CacheSettings,
    /// Joins what the feeds' clients spawn.
    pub(super) tracker: TaskTracker,
}

impl<K: Cacheable> Source<K> {
    /// The feeds, in the order of the pulses of the cache.
    pub(super) fn feeds(&self, shared: &Shared<K>) -> impl Iterator<Item = Feed<K>> {
        let config = self.config(shared);
        let namespaces = &shared.scope.namespaces;
        shared.pulses.iter().enumerate().map(move |(index, pulse)| {
            self.feed(namespaces.get(index).map(String::as_str), config.clone(), pulse)
        })
    }

    fn feed(&self, namespace: Option<&str>, config: watcher::Config, pulse: &Arc<Pulse>) -> Feed<K> {
        let client = observed(self.client.clone(), Arc::clone(pulse), self.tracker.token());
        let api = match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.kind),
            None => Api::all_with(client, &self.kind),
        };
        let patience = Patience {
            overdue_after: self.settings.list_overdue_after,
            retry_after: self.settings.retry_after,
        };
        Feed::new(api, config, self.lists.clone(), Arc::clone(pulse), patience)
    }

    fn config(&self, shared: &Shared<K>) -> watcher::Config {
        watcher::Config {
            label_selector: shared.scope.labels.clone(),
            field_selector: shared.scope.fields.clone(),
            page_size: Some(self.settings.page_size),
            ..watcher::Config::default()
        }
    }
}
