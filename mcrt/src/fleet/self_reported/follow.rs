//! Follows the properties of one cluster, in whichever version it serves them.
use super::{Cluster, Fleet, said::Said};
use crate::{
    apis::cluster_property::{ClusterProperty, v1alpha1},
    cache::{Cache, Cacheable, Delta, DeltaSink, Lease, Origin, Subscription, WatchScope, WatchState},
};
use kube::{Resource, core::ApiResource};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, watch},
    time::sleep,
};

/// How often a cluster may change its word: one that does so all the time costs no more than this.
const PAUSE: Duration = Duration::from_secs(1);

/// An object that says something of the cluster that it is in.
trait Word: Cacheable + Resource<DynamicType = ()> {
    fn value(&self) -> &str;
}

impl Word for ClusterProperty {
    fn value(&self) -> &str {
        &self.spec.value
    }
}

impl Word for v1alpha1::ClusterProperty {
    fn value(&self) -> &str {
        &self.spec.value
    }
}

/// Goes on until it is dropped.
pub(super) async fn follow(fleet: Fleet, cluster: Cluster, trusted: Arc<BTreeSet<String>>) {
    let news = Arc::new(Notify::new());
    let mut newer = Watched::<ClusterProperty>::open(&cluster, &news).await;
    // Of objects in two versions one is enough. It is looked for only where the newer one is not served.
    let mut older: Option<Watched<v1alpha1::ClusterProperty>> = None;
    loop {
        if newer.state() != WatchState::Absent {
            older = None;
        } else if older.is_none() {
            older = Some(Watched::open(&cluster, &news).await);
        }
        let words = match &mut older {
            Some(older) => older.words(),
            None => newer.words(),
        };
        if let Some(words) = words {
            let said = Said::of(words, cluster.version(), &trusted);
            said.report_left_out(&cluster);
            fleet.take_word(&cluster, said.properties);
        }
        sleep(PAUSE).await;
        tokio::select! {
            () = news.notified() => {}
            () = cluster.version_changed() => {}
            () = newer.changed() => {}
            () = changed(&mut older) => {}
        }
    }
}

async fn changed(watched: &mut Option<Watched<v1alpha1::ClusterProperty>>) {
    match watched {
        Some(watched) => watched.changed().await,
        None => std::future::pending().await,
    }
}

/// The properties in one version.
struct Watched<K: Cacheable> {
    cache: Cache<K>,
    state: watch::Receiver<WatchState>,
    _subscription: Subscription,
    _lease: Lease,
}

impl<K: Word> Watched<K> {
    async fn open(cluster: &Cluster, news: &Arc<Notify>) -> Self {
        let scope = WatchScope::all(ApiResource::erase::<K>(&()));
        let (cache, lease) = cluster.caches().lease::<K>(scope, ());
        let subscription = cache.subscribe(Arc::new(News(news.clone()))).await;
        cache.start();
        Self {
            state: cache.state(),
            cache,
            _subscription: subscription,
            _lease: lease,
        }
    }

    fn state(&mut self) -> WatchState {
        *self.state.borrow_and_update()
    }

    /// Resolves once its state is another.
    async fn changed(&mut self) {
        if self.state.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Names and values; nothing where the kind is not served, or was never shown; `None` while nothing is known, or nothing new.
    fn words(&mut self) -> Option<Vec<(String, String)>> {
        match self.state() {
            WatchState::Synced => {}
            WatchState::Absent => return Some(Vec::new()),
            // What it said before holds on; what it never said does not hold up what else is known of it.
            WatchState::Forbidden if !self.cache.store().was_synced() => return Some(Vec::new()),
            _ => return None,
        }
        let objects = self.cache.store().list();
        let words = objects.iter().filter_map(|object| {
            let name = object.meta().name.clone()?;
            Some((name, object.value().to_owned()))
        });
        Some(words.collect())
    }
}

/// Tells that anything has changed.
struct News(Arc<Notify>);

impl<K: Word> DeltaSink<K> for News {
    fn on_delta(&self, _: Delta<'_, K>, _: Origin) {
        self.0.notify_one();
    }
}
