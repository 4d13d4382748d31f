//! The handles of a cache: one to set it up, one to read it.
use super::{
    delta::DeltaSink,
    index::{FnIndexer, IndexRef, Keys},
    kept::Kept,
    postings::Postings,
    scope::{Cacheable, WatchScope, WatchState},
    shared::{AnyCache, CacheStats, Shared},
    subscribers::{Subscriber, Subscription},
    writer::Command,
};
use crate::cluster::ObjectKey;
use std::{
    fmt,
    hash::Hash,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::{oneshot, watch};

/// One cache of one cluster: to be indexed, subscribed to and then started. Clones are the same cache.
pub struct Cache<K>(pub(super) Arc<Shared<K>>);

impl<K: Cacheable> Cache<K> {
    /// Adds an index. It covers what the cache holds when this returns, and follows it from then on.
    ///
    /// `keys` gives the values of an object. It runs in the writer task, outside any lock; where it panics the object
    /// has no values. After the cache was closed the index stays empty.
    pub async fn index<V>(&self, name: &'static str, keys: Arc<Keys<K, V>>) -> IndexRef<K, V>
    where
        V: Hash + Eq + Send + Sync + 'static,
    {
        let (done, added) = oneshot::channel();
        let indexer = Box::new(FnIndexer { name, keys });
        // A closed cache drops the command and with it the sender.
        let _ = self.0.commands.send(Command::Index(indexer, done));
        let number = added.await.unwrap_or(usize::MAX);
        IndexRef::new(self.0.id, number, name)
    }

    /// Attaches a sink. When this returns it was told of everything that the cache holds, as `Added`, and of
    /// `Synced` if the cache is; what changes meanwhile comes after that, once. Dropping the subscription detaches it.
    pub async fn subscribe(&self, sink: Arc<dyn DeltaSink<K>>) -> Subscription {
        let (done, replayed) = oneshot::channel();
        let live = Arc::new(AtomicBool::new(true));
        // Made before the wait: whoever drops this future half-way detaches the sink too.
        let subscription = Subscription::new(Arc::clone(&live), self.0.commands.clone());
        let _ = self
            .0
            .commands
            .send(Command::Subscribe(Subscriber { sink, live }, done));
        let _ = replayed.await;
        subscription
    }

    /// Starts the watch, once.
    pub fn start(&self) {
        // A closed cache cannot start.
        let _ = self.0.commands.send(Command::Start);
    }

    /// To read from.
    pub fn store(&self) -> Store<K> {
        Store(Arc::clone(&self.0))
    }

    /// The state, and each change of it.
    pub fn state(&self) -> watch::Receiver<WatchState> {
        self.0.state.subscribe()
    }

    /// What the cache holds.
    pub fn scope(&self) -> &WatchScope {
        &self.0.scope
    }

    /// Counts for metrics.
    pub fn stats(&self) -> CacheStats {
        AnyCache::stats(&*self.0)
    }
}

impl<K> Clone for Cache<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for Cache<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} of {})", self.0.scope, self.0.cluster)
    }
}

/// The objects of a cache, to read. Reads never wait for the network; a store outlives its cache's watch.
///
/// An empty store says nothing unless it [is synced](Store::is_synced).
///
/// Whole objects are kept packed, as the JSON that the server sent, and each read decodes what it returns: a copy,
/// as the caches of other languages give, at a few microseconds a KB. Metadata is kept decoded and shared.
pub struct Store<K>(Arc<Shared<K>>);

impl<K: Cacheable> Store<K> {
    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let kept = self.kept(key)?;
        Some(kept.object())
    }

    /// All objects, in no order.
    pub fn list(&self) -> Vec<Arc<K>> {
        decode(&self.all())
    }

    /// The names of all objects, in no order.
    pub(crate) fn keys(&self) -> Vec<ObjectKey> {
        names(&self.all())
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.0.table.read().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects for which the index gives this value, in no order. Costs as much as it finds.
    pub fn by_index<V>(&self, index: &IndexRef<K, V>, value: &V) -> Vec<Arc<K>>
    where
        V: Hash + Eq + Send + Sync + 'static,
    {
        decode(&self.found(index, value))
    }

    /// The names of the objects for which the index gives this value, in no order.
    pub(crate) fn keys_by_index<V>(&self, index: &IndexRef<K, V>, value: &V) -> Vec<ObjectKey>
    where
        V: Hash + Eq + Send + Sync + 'static,
    {
        names(&self.found(index, value))
    }

    /// Removes an index, soon: look-ups find nothing from then on.
    pub(crate) fn unindex<V>(&self, index: &IndexRef<K, V>) {
        if index.cache == self.0.id {
            // A closed cache has none to remove.
            let _ = self.0.commands.send(Command::Unindex(index.number));
        }
    }

    // The lock covers the look-up alone: decoding is the kind's own code.

    fn kept(&self, key: &ObjectKey) -> Option<Kept<K>> {
        let table = self.0.table.read();
        table.find(key.into()).map(|(_, kept)| kept.clone())
    }

    fn all(&self) -> Vec<Kept<K>> {
        let table = self.0.table.read();
        let mut objects = Vec::with_capacity(table.len());
        objects.extend(table.iter().map(|(_, kept)| kept.clone()));
        objects
    }

    fn found<V>(&self, index: &IndexRef<K, V>, value: &V) -> Vec<Kept<K>>
    where
        V: Hash + Eq + Send + Sync + 'static,
    {
        let mut objects = Vec::new();
        if index.cache != self.0.id {
            return objects;
        }
        let table = self.0.table.read();
        let postings = table
            .index(index.number)
            .and_then(|index| index.as_any().downcast_ref::<Postings<V>>());
        if let Some(postings) = postings {
            postings.for_each(value, |slot| objects.extend(table.at(slot).cloned()));
        }
        objects
    }

    /// Whether the store holds everything that the server listed, and follows it.
    pub fn is_synced(&self) -> bool {
        self.state() == WatchState::Synced
    }

    /// Whether the store has ever held everything that the server listed. It may be out of date since:
    /// [`state`](Store::state) says whether anything follows the server.
    pub fn was_synced(&self) -> bool {
        self.0.was_synced.load(Ordering::Acquire)
    }

    /// How the watch fares.
    pub fn state(&self) -> WatchState {
        self.0.current()
    }

    /// For how long the server has said nothing, if the watch is failing; none while it is well.
    pub fn stale_for(&self) -> Option<Duration> {
        self.0.stale_for()
    }

    /// Since the last message of the server; none before the first. A quiet watch has a bookmark a minute, once
    /// anything has changed in its cluster since it began.
    pub fn age(&self) -> Option<Duration> {
        self.0.age()
    }
}

fn decode<K: Cacheable>(objects: &[Kept<K>]) -> Vec<Arc<K>> {
    objects.iter().map(Kept::object).collect()
}

fn names<K: Cacheable>(objects: &[Kept<K>]) -> Vec<ObjectKey> {
    objects.iter().map(|kept| kept.key().into()).collect()
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({} of {})", self.0.scope, self.0.cluster)
    }
}
