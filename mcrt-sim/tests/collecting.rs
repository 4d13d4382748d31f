//! The cluster's own controllers as others see them: when they work, and what shows of it on the way.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use common::{config_map_json, config_maps, eventually, within};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams, WatchEvent, WatchParams};
use mcrt_sim::Server;
use serde_json::{Value, json};

fn owned(name: &str, owner: &Value) -> Value {
    let mut object = config_map_json(name, &json!({}));
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "blockOwnerDeletion": true,
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    }]);
    object
}

fn names(server: &Server) -> Vec<String> {
    let list = server.list("v1", "ConfigMap", Some("default")).unwrap();
    let names = list
        .iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned());
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

#[tokio::test(start_paused = true)]
async fn a_dependent_outlives_the_request_that_deletes_its_owner() {
    let server = Server::new("one");
    let owner = server.create(config_map_json("owner", &json!({}))).unwrap();
    server.create(owned("child", &owner)).unwrap();
    let api = config_maps(&server);
    assert!(
        api.delete("owner", &DeleteParams::default())
            .await
            .unwrap()
            .right()
            .is_some()
    );
    assert_eq!(names(&server), ["child"]);
    eventually(|| names(&server), Vec::is_empty).await;
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_a_collection_are_the_same_every_time() {
    let mut runs = Vec::new();
    for _ in 0..3 {
        let server = Server::new("one");
        let root = server.create(config_map_json("root", &json!({}))).unwrap();
        for index in 0..5 {
            let middle = server.create(owned(&format!("m-{index}"), &root)).unwrap();
            server.create(owned(&format!("leaf-{index}"), &middle)).unwrap();
        }
        let api = config_maps(&server);
        let from = server.resource_version().to_string();
        let mut events = api.watch(&WatchParams::default(), &from).await.unwrap().boxed();
        api.delete("root", &DeleteParams::foreground()).await.unwrap();
        let mut seen = Vec::new();
        while seen.last().is_none_or(|last| last != "-root") {
            seen.push(match within(events.try_next()).await.unwrap().unwrap() {
                WatchEvent::Modified(object) => format!("~{}", object.name_any()),
                WatchEvent::Deleted(object) => format!("-{}", object.name_any()),
                other => panic!("{other:?}"),
            });
        }
        assert!(names(&server).is_empty());
        runs.push(seen);
    }
    assert_eq!(runs[0].len(), 17);
    assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
}

#[test]
fn work_that_a_runtime_left_behind_is_done_in_the_next_one() {
    let server = Server::new("one");
    let owner = server.create(config_map_json("owner", &json!({}))).unwrap();
    server.create(owned("child", &owner)).unwrap();
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    };
    runtime().block_on(async {
        config_maps(&server)
            .delete("owner", &DeleteParams::default())
            .await
            .unwrap();
    });
    assert_eq!(names(&server), ["child"]);
    runtime().block_on(async {
        let other = serde_json::from_value::<ConfigMap>(config_map_json("other", &json!({}))).unwrap();
        config_maps(&server)
            .create(&PostParams::default(), &other)
            .await
            .unwrap();
        eventually(|| names(&server), |names| *names == ["other"]).await;
    });
}

#[test]
fn a_circle_of_owners_that_is_deleted_in_the_foreground_goes() {
    let server = Server::new("one");
    let first = server.create(config_map_json("first", &json!({}))).unwrap();
    let second = server.create(owned("second", &first)).unwrap();
    let mut first = owned("first", &second);
    first["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    server.merge(first).unwrap();
    server.delete("v1", "ConfigMap", None, "first").unwrap();
    assert!(names(&server).is_empty());
}

#[test]
fn the_root_certificate_comes_back() {
    let server = Server::new("one");
    server
        .delete("v1", "ConfigMap", Some("default"), "kube-root-ca.crt")
        .unwrap();
    let root = server
        .get("v1", "ConfigMap", Some("default"), "kube-root-ca.crt")
        .unwrap();
    assert!(root["data"]["ca.crt"].is_string());
}

#[tokio::test]
async fn the_task_that_collects_ends_with_its_server() {
    let server = Server::new("one");
    let owner = server.create(config_map_json("owner", &json!({}))).unwrap();
    for index in 0..1000 {
        server.create(owned(&format!("child-{index}"), &owner)).unwrap();
    }
    let api = config_maps(&server);
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = alive();
    api.delete("owner", &DeleteParams::default()).await.unwrap();
    assert!(alive() > before);
    assert!(names(&server).len() > 900);
    drop((server, api));
    eventually(alive, |alive| *alive == 0).await;
}
