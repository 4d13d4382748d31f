//! The watches of one stream, and which objects have changed.
use crate::{
    cache::{
        CacheSettings, Cacheable, Caches, Delta, DeltaSink, ListLimits, Origin, Store, Subscription,
        WatchScope, WatchState,
    },
    cluster::{ClusterName, ObjectKey},
    connect::{Breaker, BreakerSettings, Life},
    provider::ProviderContext,
};
use futures::{
    StreamExt, stream,
    stream::{BoxStream, SelectAll},
};
use kube::{Client, Resource, core::ApiResource};
use parking_lot::Mutex;
use std::{collections::BTreeSet, fmt, sync::Arc};
use tokio::sync::Notify;

/// Lists that may run at once: a provider has a handful of watches.
const LISTS: usize = 4;

/// Watches kinds of the host for one stream of a provider. Everything ends when it is dropped.
pub struct HostReader {
    client: Client,
    caches: Caches,
    dirty: Arc<Dirty>,
    subscriptions: Vec<Subscription>,
    states: Vec<(WatchScope, tokio::sync::watch::Receiver<WatchState>)>,
    state_changes: SelectAll<BoxStream<'static, ()>>,
    life: Life,
}

/// The objects to describe again: each once, however often it has changed.
#[derive(Default)]
struct Dirty {
    keys: Mutex<Keys>,
    news: Notify,
}

/// Which objects to describe again.
#[derive(Default)]
pub(crate) struct Keys {
    pub(crate) changed: BTreeSet<ObjectKey>,
    /// Those of them that were deleted since, even if there is another of the name by now.
    pub(super) gone: BTreeSet<ObjectKey>,
}

impl HostReader {
    pub(crate) fn new(cx: &ProviderContext) -> Result<Self, String> {
        let life = Life::new();
        let client = cx.host_client(&life)?;
        // Never opened: nobody probes here, and the watches back off by themselves.
        let breaker = Breaker::new(BreakerSettings::default());
        let limits = Arc::new(ListLimits::new(LISTS, LISTS));
        let settings: CacheSettings = cx.caches().clone();
        let caches = Caches::new(ClusterName::host(), client.clone(), breaker, limits, settings);
        Ok(Self {
            client,
            caches,
            dirty: Arc::default(),
            subscriptions: Vec::new(),
            states: Vec::new(),
            state_changes: SelectAll::new(),
            life,
        })
    }

    /// Ends its watches and connections, and waits for that.
    pub(crate) async fn close(self) {
        drop(self.subscriptions);
        self.caches.close().await;
        self.life.end().await;
    }

    /// A client for the host.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Watches a kind. `affects` names the objects to describe again when one of it appears, changes or goes: itself,
    /// or those that refer to it. It must not block.
    pub async fn watch<K: Cacheable>(
        &mut self,
        scope: WatchScope,
        kind: K::DynamicType,
        affects: impl Fn(&K) -> Vec<ObjectKey> + Send + Sync + 'static,
    ) -> Store<K> {
        let cache = self.caches.open::<K>(scope, kind);
        let sink = Affects {
            affects,
            dirty: Arc::clone(&self.dirty),
        };
        self.subscriptions.push(cache.subscribe(Arc::new(sink)).await);
        let changes = stream::unfold(cache.state(), async |mut state| {
            state.changed().await.ok()?;
            Some(((), state))
        });
        self.state_changes.push(changes.boxed());
        self.states.push((cache.scope().clone(), cache.state()));
        cache.start();
        cache.store()
    }

    /// As [`watch`](Self::watch), of every object of a kind that describes clusters itself.
    pub async fn watch_all<K>(&mut self) -> Store<K>
    where
        K: Cacheable + Resource<DynamicType = ()>,
    {
        let scope = WatchScope::all(ApiResource::erase::<K>(&()));
        self.watch(scope, (), |object: &K| vec![ObjectKey::of(object)])
            .await
    }

    /// The objects that have changed since the last call.
    pub(crate) fn take(&self) -> Keys {
        std::mem::take(&mut *self.dirty.keys.lock())
    }

    /// How each watch fares.
    pub(super) fn states(&self) -> Vec<(WatchScope, WatchState)> {
        self.states
            .iter()
            .map(|(scope, state)| (scope.clone(), *state.borrow()))
            .collect()
    }

    /// Resolves when an object has changed or a watch fares differently.
    pub(crate) async fn news(&mut self) {
        let dirty = Arc::clone(&self.dirty);
        tokio::select! {
            () = dirty.news.notified() => {}
            Some(()) = self.state_changes.next() => {}
        }
    }
}

impl fmt::Debug for HostReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.states.iter().map(|(scope, _)| scope))
            .finish()
    }
}

struct Affects<F> {
    affects: F,
    dirty: Arc<Dirty>,
}

impl<F> Affects<F> {
    fn add<K: Cacheable>(&self, object: &K, is_gone: bool)
    where
        F: Fn(&K) -> Vec<ObjectKey>,
    {
        let affected = (self.affects)(object);
        let own = Some(ObjectKey::of(object)).filter(|own| is_gone && affected.contains(own));
        let mut keys = self.dirty.keys.lock();
        keys.gone.extend(own);
        keys.changed.extend(affected);
    }
}

impl<K: Cacheable, F: Fn(&K) -> Vec<ObjectKey> + Send + Sync> DeltaSink<K> for Affects<F> {
    fn on_delta(&self, delta: Delta<'_, K>, _: Origin) {
        match delta {
            Delta::Added(object) => self.add(&**object.object(), false),
            Delta::Deleted(object) => self.add(&**object.object(), true),
            // What it referred to before may refer to nothing now.
            Delta::Updated { old, new } => {
                self.add(&**old.object(), old.uid() != new.uid());
                self.add(&**new.object(), false);
            }
            Delta::Synced | Delta::Relisted => {}
        }
        self.dirty.news.notify_one();
    }
}
