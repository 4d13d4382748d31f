//! Where the events of a cache come from: one feed per namespace it names, or one for all.
use super::{
    feed::{Feed, Shares},
    pulse::Pulse,
    scope::Cacheable,
    shared::Shared,
};
use crate::jitter::between;
use kube::{Api, Client, runtime::watcher};
use std::{sync::Arc, time::Duration};

/// Longest time in seconds that a server is asked to keep a watch open.
const MAX_TIMEOUT: u64 = 24 * 60 * 60;

/// How to reach the kind of a cache.
pub(super) struct Source<K: Cacheable> {
    /// An [`observed`](super::observed::observed) one.
    pub(super) client: Client,
    pub(super) kind: K::DynamicType,
    pub(super) shares: Shares,
}

impl<K: Cacheable> Source<K> {
    /// The feeds, in the order of the pulses of the cache.
    pub(super) fn feeds(&self, shared: &Shared<K>) -> impl Iterator<Item = Feed<K>> {
        let namespaces = &shared.scope.namespaces;
        shared
            .pulses
            .iter()
            .enumerate()
            .map(move |(index, pulse)| self.feed(namespaces.get(index).map(String::as_str), shared, pulse))
    }

    fn feed(&self, namespace: Option<&str>, shared: &Shared<K>, pulse: &Arc<Pulse>) -> Feed<K> {
        let client = self.client.clone();
        let api = match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.kind),
            None => Api::all_with(client, &self.kind),
        };
        let kind = shared.scope.resource.clone();
        Feed::new(
            api,
            self.config(shared),
            kind,
            self.shares.clone(),
            Arc::clone(pulse),
        )
    }

    fn config(&self, shared: &Shared<K>) -> watcher::Config {
        let settings = &self.shares.settings;
        let (least, most) = (*settings.watch_timeout.start(), *settings.watch_timeout.end());
        // Zero would switch kube's own deadline off.
        let timeout = between(least, most.saturating_add(Duration::from_secs(1)))
            .as_secs()
            .clamp(1, MAX_TIMEOUT);
        watcher::Config {
            label_selector: shared.scope.labels.clone(),
            field_selector: shared.scope.fields.clone(),
            page_size: Some(settings.page_size),
            timeout: u32::try_from(timeout).ok(),
            ..watcher::Config::default()
        }
    }
}
