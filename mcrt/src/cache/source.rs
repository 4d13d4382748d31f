//! Where the events of a cache come from: feeds of its own, one per namespace it names or one for all, or a seat at
//! the feeds of a server that many clusters share.
use super::{
    fed::Fed,
    feed::{Feed, Shares},
    hub::Seat,
    pulse::Pulse,
    scope::{Cacheable, WatchScope},
};
use crate::jitter::between;
use futures::stream::BoxStream;
use kube::{Api, Client, runtime::watcher};
use std::{sync::Arc, time::Duration};

/// Longest time in seconds that a server is asked to keep a watch open.
const MAX_TIMEOUT: u64 = 24 * 60 * 60;

/// Where the events of a cache come from.
pub(super) enum Source<K: Cacheable> {
    Own(Feeds<K>),
    Shared(Seat<K>),
}

impl<K: Cacheable> Source<K> {
    /// The streams, in the order of the pulses of the cache.
    pub(super) fn streams(
        &mut self,
        scope: &WatchScope,
        pulses: &[Arc<Pulse>],
    ) -> Vec<BoxStream<'static, Fed<K>>> {
        match self {
            Self::Own(feeds) => feeds.streams(scope, pulses).collect(),
            Self::Shared(seat) => vec![seat.stream()],
        }
    }

    /// Whether others have the same watch.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Shared(_))
    }

    /// Between attempts at a kind that is forbidden.
    pub(super) fn retry_after(&self) -> Duration {
        match self {
            Self::Own(feeds) => feeds.shares.settings.retry_after,
            Self::Shared(seat) => seat.retry_after(),
        }
    }
}

/// How to watch a kind.
pub(super) struct Feeds<K: Cacheable> {
    /// An [`observed`](super::observed::observed) one.
    pub(super) client: Client,
    pub(super) kind: K::DynamicType,
    pub(super) shares: Shares,
}

impl<K: Cacheable> Feeds<K> {
    /// One for each pulse.
    pub(super) fn streams(
        &self,
        scope: &WatchScope,
        pulses: &[Arc<Pulse>],
    ) -> impl Iterator<Item = BoxStream<'static, Fed<K>>> {
        pulses.iter().enumerate().map(|(index, pulse)| {
            let namespace = scope.namespaces.get(index).map(String::as_str);
            self.feed(namespace, scope, pulse).into_stream()
        })
    }

    fn feed(&self, namespace: Option<&str>, scope: &WatchScope, pulse: &Arc<Pulse>) -> Feed<K> {
        let client = self.client.clone();
        let api = match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.kind),
            None => Api::all_with(client, &self.kind),
        };
        let kind = scope.resource.clone();
        Feed::new(
            api,
            self.config(scope),
            kind,
            self.shares.clone(),
            Arc::clone(pulse),
        )
    }

    fn config(&self, scope: &WatchScope) -> watcher::Config {
        let settings = &self.shares.settings;
        let (least, most) = (*settings.watch_timeout.start(), *settings.watch_timeout.end());
        // Zero would switch kube's own deadline off.
        let timeout = between(least, most.saturating_add(Duration::from_secs(1)))
            .as_secs()
            .clamp(1, MAX_TIMEOUT);
        watcher::Config {
            label_selector: scope.labels.clone(),
            field_selector: scope.fields.clone(),
            page_size: Some(settings.page_size),
            timeout: u32::try_from(timeout).ok(),
            ..watcher::Config::default()
        }
    }
}
