//! What several test files need.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt};
use mcrt_sim::Server;
use serde_json::{Value, json};

pub const DEADLINE: Duration = Duration::from_secs(10);

/// An object of the API as tests write it.
pub fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("key".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

pub fn config_map_json(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}})
}

pub fn client(server: &Server) -> Client {
    Client::new(server.service(), "default")
}

pub fn config_maps(server: &Server) -> Api<ConfigMap> {
    Api::default_namespaced(client(server))
}

/// The store that a client of `watcher` would hold: applies events until the condition holds.
pub async fn follow<S>(
    stream: &mut S,
    store: &mut BTreeMap<String, ConfigMap>,
    until: impl Fn(&BTreeMap<String, ConfigMap>, &Seen) -> bool,
) -> Seen
where
    S: Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin,
{
    let mut seen = Seen::default();
    let mut fresh = BTreeMap::new();
    within(async {
        while !until(store, &seen) {
            match stream.next().await.expect("watchers do not end") {
                Ok(Event::Init) => fresh = BTreeMap::new(),
                Ok(Event::InitApply(object)) => {
                    assert!(
                        fresh.insert(object.name_any(), object).is_none(),
                        "an object came twice"
                    );
                }
                Ok(Event::InitDone) => {
                    *store = std::mem::take(&mut fresh);
                    seen.synced += 1;
                }
                Ok(Event::Apply(object)) => drop(store.insert(object.name_any(), object)),
                Ok(Event::Delete(object)) => {
                    store.remove(&object.name_any());
                    seen.deleted += 1;
                }
                Err(_) => seen.errors += 1,
            }
        }
    })
    .await;
    seen
}

/// Polls a watcher until its watch is open: after a list it starts one only when it is polled again.
pub async fn watching<S: Stream + Unpin>(server: &Server, stream: &mut S) {
    tokio::select! {
        _ = stream.next() => panic!("an event before anything happened"),
        () = eventually(|| server.counters().open_watches, |open| *open == 1) => {}
    }
}

/// What a watcher told on the way.
#[derive(Debug, Default)]
pub struct Seen {
    pub synced: usize,
    pub deleted: usize,
    pub errors: usize,
}

/// Runs a future to its end, or fails the test.
pub async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future)
        .await
        .expect("it did not happen in time")
}

/// Waits until a condition holds.
pub async fn eventually<T: Debug>(look: impl Fn() -> T, fits: impl Fn(&T) -> bool) {
    let start = std::time::Instant::now();
    loop {
        let seen = look();
        if fits(&seen) {
            return;
        }
        assert!(start.elapsed() < DEADLINE, "it did not happen in time: {seen:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
