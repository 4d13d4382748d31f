//! The server as kube's client sees it.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::{Client, ResourceExt};
use mcrt_sim::Server;

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("key".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

fn api(server: &Server) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(server.service(), "default"))
}

#[tokio::test]
async fn an_object_is_created_read_patched_watched_and_deleted() {
    let server = Server::new("one");
    let api = api(&server);
    let created = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    assert!(created.uid().is_some());
    let listed = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items.len(), 2, "the root CA's and ours");
    let version = listed.metadata.resource_version.unwrap();
    let mut events = api
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap()
        .boxed();
    let patch = serde_json::json!({"data": {"key": "2"}});
    api.patch("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let Some(WatchEvent::Modified(seen)) = events.try_next().await.unwrap() else {
        panic!("no change")
    };
    assert_eq!(seen.data.unwrap()["key"], "2");
    let Some(WatchEvent::Deleted(_)) = events.try_next().await.unwrap() else {
        panic!("no deletion")
    };
    assert_eq!(server.counters().open_watches, 1);
    drop(events);
    assert_eq!(server.counters().open_watches, 0);
    assert_eq!(server.counters().open_requests, 0);
}
