//! Behaviour of whole caches, against a scripted API server.
mod asymmetric;
mod failures;
mod fickle;
mod indexes;
mod leases;
mod lifecycle;
mod logs;
mod outages;
mod packing;
mod relists;
mod server;
mod shared;
mod streaming;
mod subscribers;

use super::{
    Cache, CacheSettings, Caches, Delta, DeltaSink, InitialList, ListLimits, Origin, WatchScope, WatchState,
};
use crate::{
    cluster::{ClusterName, ObjectKey},
    connect::{Breaker, BreakerSettings},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{ResourceExt, core::ApiResource};
use parking_lot::Mutex;
use server::Server;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

/// Waits, in paused time, until something holds.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("not within 100 s: {what}");
}

/// All config maps that a test made: every namespace has one more from the server.
fn scope() -> WatchScope {
    WatchScope {
        labels: Some("team".into()),
        ..WatchScope::all(ApiResource::erase::<ConfigMap>(&()))
    }
}

/// A scope of its own for each number, with the same objects.
fn scope_number(n: usize) -> WatchScope {
    WatchScope {
        labels: Some(format!("team,number!={n}")),
        ..scope()
    }
}

fn key(text: &str) -> ObjectKey {
    let (namespace, name) = text.split_once('/').unwrap();
    ObjectKey::namespaced(namespace, name)
}

/// The caches of one cluster that the scripted server stands for.
fn caches(server: &Server) -> Caches {
    with_limits(server, ListLimits::default())
}

fn with_limits(server: &Server, limits: ListLimits) -> Caches {
    made(server, &breaker(), &Arc::new(limits), CacheSettings::default())
}

fn with_settings(server: &Server, settings: CacheSettings) -> Caches {
    made(server, &breaker(), &Arc::default(), settings)
}

fn breaker() -> Breaker {
    Breaker::new(BreakerSettings::default())
}

fn made(server: &Server, breaker: &Breaker, limits: &Arc<ListLimits>, settings: CacheSettings) -> Caches {
    let name = ClusterName::new("one").unwrap();
    Caches::new(
        name,
        server.client(),
        breaker.clone(),
        Arc::clone(limits),
        settings,
    )
}

async fn synced<K: super::Cacheable>(cache: &Cache<K>) {
    reaches(cache, WatchState::Synced).await;
}

async fn reaches<K: super::Cacheable>(cache: &Cache<K>, state: WatchState) {
    let mut states = cache.state();
    let reached = states.wait_for(|now| *now == state);
    tokio::time::timeout(Duration::from_secs(100), reached)
        .await
        .expect("within 100 s")
        .unwrap();
}

/// Writes down what it is told: `+x/a`, `~x/a`, `-x/a`, `synced`; in parentheses what comes of a list. Counts the lists
/// after the first.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>, AtomicUsize);

impl Recorder {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }

    fn relists(&self) -> usize {
        self.1.load(SeqCst)
    }

    fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// What it was told, in alphabetical order: lists have none of their own.
    fn take_sorted(&self) -> Vec<String> {
        let mut told = self.take();
        told.sort();
        told
    }
}

impl<K: super::Cacheable> DeltaSink<K> for Recorder {
    fn on_delta(&self, delta: Delta<'_, K>, origin: Origin) {
        let sign = match delta {
            Delta::Added(_) => "+",
            Delta::Updated { .. } => "~",
            Delta::Deleted(_) => "-",
            Delta::Synced => return self.0.lock().push("synced".into()),
            Delta::Relisted => {
                self.1.fetch_add(1, SeqCst);
                return;
            }
        };
        let text = format!("{sign}{}", delta.object().unwrap().key());
        self.0.lock().push(if origin == Origin::List {
            format!("({text})")
        } else {
            text
        });
    }
}

/// A started, synced cache of all config maps and a recorder that saw it from the start.
async fn recorded(caches: &Caches) -> (Cache<ConfigMap>, Arc<Recorder>, super::Subscription) {
    let cache = caches.open::<ConfigMap>(scope(), ());
    let recorder = Arc::new(Recorder::default());
    let subscription = cache.subscribe(recorder.clone()).await;
    cache.start();
    synced(&cache).await;
    (cache, recorder, subscription)
}
