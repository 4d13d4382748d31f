//! All caches of one engaged cluster.
use super::{
    feed::Shares,
    hub::Hubs,
    limits::{ClusterLists, ListLimits},
    observed::observed,
    pulse::Pulse,
    scope::{Cacheable, WatchScope, WatchState},
    served::Served,
    settings::CacheSettings,
    shared::{AnyCache, CacheStats, Shared},
    source::{Feeds, Source},
    store::Cache,
    streaming::Streaming,
    writer::Writer,
};
use crate::{
    cluster::ClusterName,
    connect::{Breaker, Transport},
};
use kube::Client;
use parking_lot::Mutex;
use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::mpsc;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

/// Longest wait for the writers of a cluster to end: a subscriber that blocks cannot be stopped.
const CLOSE_DEADLINE: Duration = Duration::from_secs(30);

/// The caches of one cluster in one life, each scope once. Dropping them stops them; [`close`](Caches::close) also
/// waits for that.
pub struct Caches {
    cluster: ClusterName,
    shares: Shares,
    registry: Arc<Mutex<Registry>>,
    tracker: TaskTracker,
    stop: CancellationToken,
    _stopped_when_dropped: DropGuard,
}

struct Registry {
    /// Taken by `close`: nothing of a closed cluster holds its sockets.
    client: Option<Client>,
    /// Made of it for the first watch; likewise taken.
    observed: Option<Client>,
    /// Whose watches this cluster has a part in, and which; likewise taken. The server owns them.
    hubs: Option<(Weak<Hubs>, Arc<str>)>,
    entries: HashMap<(TypeId, WatchScope), Entry>,
}

impl Registry {
    /// The client of all watches; none once closed.
    fn observed(&mut self, tracker: &TaskTracker) -> Option<Client> {
        if self.observed.is_none() {
            let client = self.client.clone()?;
            self.observed = Some(observed(client, tracker.token()));
        }
        self.observed.clone()
    }

    fn forget_clients(&mut self) {
        (self.client, self.observed, self.hubs) = (None, None, None);
    }
}

struct Entry {
    /// An `Arc<Shared<K>>`.
    typed: Box<dyn Any + Send>,
    cache: Arc<dyn AnyCache>,
    leases: usize,
    /// Whether somebody uses it for as long as the cluster lives.
    stays: bool,
}

impl Entry {
    fn is_unused(&self) -> bool {
        self.leases == 0 && !self.stays
    }
}

impl Caches {
    /// No caches yet. The limits are those of the whole fleet.
    pub fn new(
        cluster: ClusterName,
        client: Client,
        breaker: Breaker,
        limits: Arc<ListLimits>,
        settings: CacheSettings,
    ) -> Self {
        let (stop, tracker) = (CancellationToken::new(), TaskTracker::new());
        let served = Served::new(
            client.clone(),
            breaker.clone(),
            settings.discovery_interval,
            tracker.clone(),
            stop.clone(),
        );
        let shares = Shares {
            lists: ClusterLists::new(limits),
            breaker,
            served,
            streaming: Streaming::new(settings.initial_list),
            settings,
        };
        Self {
            cluster,
            shares,
            registry: Arc::new(Mutex::new(Registry {
                client: Some(client),
                observed: None,
                hubs: None,
                entries: HashMap::new(),
            })),
            tracker,
            _stopped_when_dropped: stop.clone().drop_guard(),
            stop,
        }
    }

    /// The caches of a cluster that is reached this way: where it is a part of a server that serves many, watches are
    /// shared with the others.
    pub(crate) fn of(
        cluster: ClusterName,
        transport: &Transport,
        limits: Arc<ListLimits>,
        settings: CacheSettings,
    ) -> Self {
        let (client, breaker) = (transport.client(), transport.breaker().clone());
        let hubs = transport.shared().map(|(base, key)| {
            let hubs = Hubs::of(&base, Arc::clone(&limits), settings.clone());
            (hubs.map_or_else(Weak::new, |hubs| Arc::downgrade(&hubs)), key)
        });
        let caches = Self::new(cluster, client, breaker, limits, settings);
        caches.registry.lock().hubs = hubs;
        caches
    }

    /// The one cache of a scope, created idle if it is not there, for as long as these caches live. Its writer task
    /// belongs to them. Must be called inside a tokio runtime.
    pub fn open<K: Cacheable>(&self, scope: WatchScope, kind: K::DynamicType) -> Cache<K> {
        self.opened(scope, kind, |entry| entry.stays = true)
    }

    /// As [`open`](Self::open), for as long as the lease: with the last lease of a cache its watch ends, unless
    /// somebody has opened it for good. Whoever wants it later starts anew.
    pub fn lease<K: Cacheable>(&self, scope: WatchScope, kind: K::DynamicType) -> (Cache<K>, Lease) {
        let cache = self.opened(scope, kind, |entry| entry.leases += 1);
        let lease = Lease {
            registry: Arc::downgrade(&self.registry),
            cache: cache.0.id,
        };
        (cache, lease)
    }

    fn opened<K: Cacheable>(
        &self,
        scope: WatchScope,
        kind: K::DynamicType,
        mark: impl FnOnce(&mut Entry),
    ) -> Cache<K> {
        let scope = scope.of::<K>();
        let mut registry = self.registry.lock();
        let key = (TypeId::of::<K>(), scope.clone());
        if let Some(entry) = registry.entries.get_mut(&key)
            && let Some(shared) = entry.typed.downcast_ref::<Arc<Shared<K>>>().cloned()
        {
            mark(entry);
            return Cache(shared);
        }
        let (commands, inbox) = mpsc::unbounded_channel();
        let Some((source, pulses)) = self.source::<K>(&mut registry, &scope, kind) else {
            let shared = Shared::new(self.cluster.clone(), scope, Vec::new(), commands);
            shared.state.send_replace(WatchState::Closed);
            return Cache(Arc::new(shared));
        };
        let shared = Arc::new(Shared::new(self.cluster.clone(), scope, pulses, commands));
        let writer = Writer::new(Arc::clone(&shared), source);
        self.tracker.spawn(writer.run(inbox, self.stop.clone()));
        let mut entry = Entry {
            typed: Box::new(Arc::clone(&shared)),
            cache: Arc::clone(&shared) as Arc<dyn AnyCache>,
            leases: 0,
            stays: false,
        };
        mark(&mut entry);
        registry.entries.insert(key, entry);
        Cache(shared)
    }

    /// Where the events of a scope come from, and their signs of life; none once closed.
    fn source<K: Cacheable>(
        &self,
        registry: &mut Registry,
        scope: &WatchScope,
        kind: K::DynamicType,
    ) -> Option<(Source<K>, Vec<Arc<Pulse>>)> {
        if let Some((hubs, key)) = &registry.hubs {
            let seat = hubs.upgrade()?.open::<K>(scope, kind, key);
            let pulses = seat.pulses();
            return Some((Source::Shared(seat), pulses));
        }
        let feeds = Feeds {
            client: registry.observed(&self.tracker)?,
            kind,
            shares: self.shares.clone(),
        };
        let streams = scope.namespaces.len().max(1);
        let pulses = (0..streams).map(|_| Arc::new(Pulse::new())).collect();
        Some((Source::Own(feeds), pulses))
    }

    /// How each watch fares.
    pub fn states(&self) -> Vec<(WatchScope, WatchState)> {
        self.each(|cache| cache.state())
    }

    /// What each cache counted.
    pub fn stats(&self) -> Vec<(WatchScope, CacheStats)> {
        self.each(|cache| cache.stats())
    }

    /// Stops every cache and joins every task; subscriptions end, stores stay readable. May be called again.
    pub async fn close(&self) {
        self.registry.lock().forget_clients();
        self.shares.served.close();
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(CLOSE_DEADLINE, self.tracker.wait())
            .await
            .is_err()
        {
            let (cluster, tasks) = (&self.cluster, self.tracker.len());
            tracing::error!(%cluster, tasks, "caches did not end: a subscriber or an index function blocks them");
        }
    }

    fn each<T>(&self, of: impl Fn(&dyn AnyCache) -> T) -> Vec<(WatchScope, T)> {
        // Outside the registry's lock: counting takes the lock of each table.
        let caches: Vec<_> = self
            .registry
            .lock()
            .entries
            .values()
            .map(|entry| Arc::clone(&entry.cache))
            .collect();
        caches
            .iter()
            .map(|cache| (cache.scope().clone(), of(&**cache)))
            .collect()
    }
}

/// Keeps a cache at work. Dropped, it lets go of it.
#[must_use = "a lease that is dropped is over"]
pub struct Lease {
    registry: Weak<Mutex<Registry>>,
    cache: u64,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(registry) = self.registry.upgrade() else {
            return;
        };
        let unused = {
            let mut registry = registry.lock();
            let entries = &mut registry.entries;
            // By its number: another cache of the scope is not this one.
            let mut known = entries.iter_mut();
            let entry = known.find(|(_, entry)| entry.cache.id() == self.cache);
            let Some((key, entry)) = entry else { return };
            entry.leases = entry.leases.saturating_sub(1);
            let unused = entry.is_unused().then(|| key.clone());
            unused.and_then(|key| entries.remove(&key))
        };
        if let Some(entry) = unused {
            entry.cache.end();
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lease")
    }
}

impl fmt::Debug for Caches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caches({})", self.cluster)
    }
}
