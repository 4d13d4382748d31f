//! A provider of `ConfigMap`s: each describes the cluster that its data names.
use super::{Described, HostReader, HostSource, changes};
use crate::{
    cache::{CacheSettings, Store},
    cluster::{ClusterName, ObjectKey},
    connect::{Access, TransportSettings},
    provider::{Provider, ProviderContext, tests::Reader},
};
use futures::{StreamExt, stream::BoxStream};
use k8s_openapi::api::core::v1::ConfigMap;
use mcrt_sim::{Fault, Faults, Fleet, Requests, Server};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

struct Maps;

impl HostSource for Maps {
    type View = Store<ConfigMap>;

    async fn open(&self, reader: &mut HostReader) -> Result<Self::View, String> {
        Ok(reader.watch_all::<ConfigMap>().await)
    }

    fn describe(&self, view: &Self::View, object: &ObjectKey) -> Vec<Described> {
        let Some(data) = view.get(object).and_then(|map| map.data.clone()) else {
            return Vec::new();
        };
        assert!(!data.contains_key("panic"), "{data:?}");
        let Some(name) = data.get("name") else {
            return vec![Described::Nameless(format!("`{object}` has no `name`"))];
        };
        let name = ClusterName::new(name).unwrap();
        vec![match data.get("server") {
            Some(server) => Described::Cluster(crate::provider::tests::spec(name.as_str(), server)),
            None => Described::Unusable {
                name,
                reason: "no server".into(),
            },
        }]
    }
}

impl Provider for Maps {
    fn name(&self) -> &'static str {
        "maps"
    }

    fn needs_host(&self) -> bool {
        true
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, crate::provider::Change> {
        changes(self, cx)
    }
}

fn host() -> Server {
    Fleet::new().host()
}

fn put(host: &Server, object: &str, data: &serde_json::Value) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": object}, "data": data});
    if host.replace(map.clone()).is_err() {
        host.create(map).unwrap();
    }
}

fn delete(host: &Server, object: &str) {
    host.delete("v1", "ConfigMap", Some("default"), object).unwrap();
}

fn read(host: &Server) -> Reader {
    let access = Access::service("host", host.service());
    let cx = ProviderContext::new(
        Some(access),
        TransportSettings::default(),
        CacheSettings::default(),
    );
    Reader::with(&Arc::new(Maps), cx)
}

#[tokio::test(start_paused = true)]
async fn objects_become_clusters_and_their_changes_changes() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    put(&host, "two", &json!({"name": "b"}));
    let mut reader = read(&host);
    let mut all = reader.until("synced").await;
    all.retain(|change| !change.contains("kube-root-ca"));
    assert_eq!(all, ["+a", "?b: no server", "synced"]);
    put(&host, "two", &json!({"name": "b", "server": "s2"}));
    assert_eq!(reader.next().await, "+b");
    put(&host, "two", &json!({"name": "b"}));
    assert_eq!(reader.next().await, "?b: no server");
    put(&host, "two", &json!({"name": "c", "server": "s2"}));
    assert_eq!(reader.take(2).await, ["-b", "+c"]);
    delete(&host, "two");
    assert_eq!(reader.next().await, "-c");
    delete(&host, "one");
    assert_eq!(reader.next().await, "-a");
    assert!(reader.is_quiet(Duration::from_secs(50)).await);
}

#[tokio::test(start_paused = true)]
async fn of_two_objects_that_claim_a_name_the_second_waits_for_it() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    put(&host, "two", &json!({"name": "a", "server": "s2"}));
    let mut reader = read(&host);
    let all = reader.until("synced").await.join("\n");
    assert!(
        all.contains("?a: `default/one` describes a cluster of this name, which `default/two` claims"),
        "{all}"
    );
    assert_eq!(reader.clusters["a"], "s1");
    delete(&host, "one");
    assert_eq!(reader.take(2).await, ["-a", "+a"]);
    assert_eq!(reader.clusters["a"], "s2");
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_said_and_is_not_taken_for_nothing() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    host.faults(Faults::none().on(Requests::lists(), Fault::status(403)));
    let mut reader = read(&host);
    assert!(reader.next().await.contains("grant the provider's role"));
    assert!(reader.is_quiet(Duration::from_secs(20)).await);
    host.faults(Faults::none());
    let all = reader.until("synced").await;
    assert!(all.contains(&"+a".to_owned()), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_no_longer_says_which_cluster_it_means_keeps_the_one_that_it_described() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    put(&host, "two", &json!({"other": "words"}));
    let mut reader = read(&host);
    let nameless = "`default/one` has no `name`";
    let all = reader.until("synced").await;
    assert!(
        all.contains(&"!`default/two` has no `name`".to_owned()),
        "{all:?}"
    );
    put(&host, "one", &json!({"nmae": "a", "server": "s1"}));
    assert_eq!(
        reader.take(2).await,
        [format!("!{nameless}"), format!("?a: {nameless}")]
    );
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    assert_eq!(reader.next().await, "+a");
    put(&host, "one", &json!({"nmae": "a", "server": "s1"}));
    reader.take(2).await;
    delete(&host, "one");
    assert_eq!(reader.next().await, "-a");
    delete(&host, "two");
    assert!(reader.is_quiet(Duration::from_secs(50)).await);
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_an_object_is_described_is_that_objects_alone() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    put(&host, "two", &json!({"name": "b", "panic": "hunter2"}));
    put(&host, "zoo", &json!({"name": "c", "server": "s1"}));
    let mut reader = read(&host);
    let all = reader.until("synced").await.join("\n");
    assert!(
        all.contains("!`default/two`: describing it panicked") && all.contains("+c"),
        "{all}"
    );
    assert!(!all.contains("hunter2"), "{all}");
    put(&host, "one", &json!({"name": "a", "panic": ""}));
    assert!(
        reader
            .next()
            .await
            .starts_with("!`default/one`: describing it panicked")
    );
    assert!(
        reader
            .next()
            .await
            .starts_with("?a: `default/one`: describing it panicked")
    );
    assert_eq!(reader.clusters["a"], "s1");
    put(&host, "two", &json!({"name": "b", "server": "s2"}));
    assert_eq!(reader.next().await, "+b");
    put(&host, "one", &json!({"name": "a", "server": "s3"}));
    assert_eq!(reader.next().await, "+a");
}

#[tokio::test(start_paused = true)]
async fn names_that_change_hands_end_with_whoever_has_them_now() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    put(&host, "two", &json!({"name": "b", "server": "s2"}));
    let mut reader = read(&host);
    reader.until("synced").await;
    host.partition();
    put(&host, "one", &json!({"name": "b", "server": "s1"}));
    put(&host, "two", &json!({"name": "a", "server": "s2"}));
    host.heal();
    while reader.clusters.get("a").map(String::as_str) != Some("s2") {
        reader.next().await;
    }
    assert_eq!(reader.clusters["b"], "s1");
    assert!(reader.rejected.is_empty(), "{:?}", reader.rejected);
    assert!(reader.is_quiet(Duration::from_secs(50)).await);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_cannot_be_used_any_more_keeps_its_name() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    put(&host, "two", &json!({"name": "a", "server": "s2"}));
    let mut reader = read(&host);
    reader.until("synced").await;
    put(&host, "one", &json!({"name": "a"}));
    let told = reader.next().await;
    assert!(
        told.starts_with("?a: no server; ") && told.contains("`default/two` claims"),
        "{told}"
    );
    delete(&host, "two");
    assert_eq!(reader.next().await, "?a: no server");
    assert_eq!(reader.clusters["a"], "s1");
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    assert_eq!(reader.next().await, "+a");
    assert!(reader.is_quiet(Duration::from_secs(50)).await);
}

#[tokio::test(start_paused = true)]
async fn what_changes_while_no_event_arrives_is_told_once_it_can_be() {
    let host = host();
    for object in ["one", "two", "three"] {
        put(&host, object, &json!({"name": object, "server": "s1"}));
    }
    let mut reader = read(&host);
    reader.until("synced").await;
    for (round, lose) in [
        Server::disconnect_watches as fn(&Server),
        Server::expire_watches,
        Server::restart,
    ]
    .into_iter()
    .enumerate()
    {
        lose(&host);
        assert!(reader.is_quiet(Duration::from_secs(40)).await, "round {round}");
        host.partition();
        assert!(reader.is_quiet(Duration::from_mins(10)).await, "round {round}");
        delete(&host, "one");
        put(
            &host,
            "two",
            &json!({"name": "two", "server": format!("{round}")}),
        );
        host.compact();
        assert!(reader.is_quiet(Duration::from_mins(10)).await, "round {round}");
        host.heal();
        let mut told = reader.take(2).await;
        told.sort();
        assert_eq!(told, ["+two", "-one"], "round {round}");
        put(&host, "one", &json!({"name": "one", "server": "s1"}));
        assert_eq!(reader.next().await, "+one", "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_no_longer_served_ends_the_stream_and_takes_no_cluster() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    let access = Access::service("host", host.service());
    let cx = ProviderContext::new(
        Some(access),
        TransportSettings::default(),
        CacheSettings::default(),
    );
    let mut changes = Arc::new(Maps).changes(cx);
    let mut told = Vec::new();
    while told.last().map(String::as_str) != Some("synced") {
        told.push(crate::provider::tests::shown(&changes.next().await.unwrap()));
    }
    host.unserve("", "configmaps");
    host.disconnect_watches();
    let rest: Vec<_> = changes
        .map(|change| crate::provider::tests::shown(&change))
        .collect()
        .await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(rest[0].contains("configmaps of the host: not served"), "{rest:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_objects_are_a_thousand_clusters_and_leave_room_for_others() {
    let host = host();
    for number in 0..1_000 {
        let name = format!("c{number}");
        put(&host, &name, &json!({"name": name, "server": "s1"}));
    }
    let mut reader = read(&host);
    // On this one thread it runs only where the stream lets go of it.
    let ticks = Arc::new(AtomicUsize::new(0));
    let other = tokio::spawn({
        let ticks = Arc::clone(&ticks);
        async move {
            loop {
                ticks.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }
    });
    reader.until("synced").await;
    assert_eq!(reader.clusters.len(), 1_000);
    assert!(ticks.load(Ordering::Relaxed) >= 1_000);
    other.abort();
}

#[tokio::test(start_paused = true)]
async fn a_name_that_hundreds_claim_is_told_in_a_line() {
    let host = host();
    for number in 0..300 {
        put(
            &host,
            &format!("c{number:03}"),
            &json!({"name": "a", "server": "s1"}),
        );
    }
    let mut reader = read(&host);
    reader.until("synced").await;
    let reason = &reader.rejected["a"];
    assert!(
        reason.contains("`default/c000` describes") && reason.contains("and 296 more"),
        "{reason}"
    );
    assert!(reason.len() < 300, "{reason}");
}

#[tokio::test(start_paused = true)]
async fn what_was_good_of_an_object_does_not_outlive_it_in_another_that_cannot_be_used() {
    let host = host();
    put(&host, "one", &json!({"name": "a", "server": "s1"}));
    let mut reader = read(&host);
    reader.until("synced").await;
    // Between two looks.
    delete(&host, "one");
    put(&host, "one", &json!({"name": "a"}));
    assert_eq!(reader.take(2).await, ["-a", "?a: no server"]);
}
