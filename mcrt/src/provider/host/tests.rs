//! A provider of `ConfigMap`s: each describes the cluster that its data names.
use super::{Described, HostReader, HostSource, changes};
use crate::{
    cache::{CacheSettings, Store},
    cluster::{ClusterName, ObjectKey},
    connect::{Access, TransportSettings},
    provider::{Provider, ProviderContext, tests::Reader},
};
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::ConfigMap;
use mcrt_sim::{Fault, Faults, Fleet, Requests, Server};
use serde_json::json;
use std::{sync::Arc, time::Duration};

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
    put(&host, "two", &json!({"other": "words"}));
    assert_eq!(reader.take(2).await, ["!`default/two` has no `name`", "-c"]);
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
