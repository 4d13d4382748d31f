//! What follows from a write: garbage collection, namespaces, CRDs, fleets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use common::{client, config_map_json, config_maps, within};
use futures::{StreamExt, TryStreamExt};
use kube::api::{DeleteParams, ListParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use mcrt_sim::{Fleet, FleetChange, Server};
use serde_json::{Value, json};

fn owned(name: &str, owners: &[&Value]) -> Value {
    let owners: Vec<_> = owners
        .iter()
        .map(|owner| {
            json!({
                "apiVersion": owner["apiVersion"], "kind": owner["kind"], "blockOwnerDeletion": true,
                "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            })
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "ownerReferences": owners}})
}

fn secrets(server: &Server) -> Vec<String> {
    let list = server.list("v1", "Secret", Some("default")).unwrap();
    list.iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn dependents_go_with_the_last_of_their_owners() {
    let server = Server::new("one");
    let first = server.create(config_map_json("first", &json!({}))).unwrap();
    let second = server.create(config_map_json("second", &json!({}))).unwrap();
    server.create(owned("both", &[&first, &second])).unwrap();
    let one = server.create(owned("one", &[&first])).unwrap();
    server.create(owned("grandchild", &[&one])).unwrap();
    server.delete("v1", "ConfigMap", None, "first").unwrap();
    assert_eq!(secrets(&server), ["both"]);
    let both = server.get("v1", "Secret", None, "both").unwrap();
    assert_eq!(both["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    server.delete("v1", "ConfigMap", None, "second").unwrap();
    assert!(secrets(&server).is_empty());
}

#[test]
fn a_long_chain_of_owners_is_collected() {
    let server = Server::new("one");
    let mut owner = server.create(config_map_json("first", &json!({}))).unwrap();
    for index in 0..3_000 {
        owner = server.create(owned(&format!("s-{index}"), &[&owner])).unwrap();
    }
    server.delete("v1", "ConfigMap", None, "first").unwrap();
    assert!(secrets(&server).is_empty());
}

#[test]
fn an_owner_of_another_cluster_gets_the_child_deleted() {
    let (here, there) = (Server::new("here"), Server::new("there"));
    let owner = there.create(config_map_json("owner", &json!({}))).unwrap();
    here.create(owned("child", &[&owner])).unwrap();
    assert!(secrets(&here).is_empty());
}

#[tokio::test]
async fn propagation_policies_orphan_or_wait_for_dependents() {
    let server = Server::new("one");
    let api = config_maps(&server);
    let owner = server.create(config_map_json("owner", &json!({}))).unwrap();
    server.create(owned("orphan", &[&owner])).unwrap();
    let orphaning = api.delete("owner", &DeleteParams::orphan()).await.unwrap();
    assert_eq!(orphaning.left().unwrap().finalizers(), ["orphan"]);
    server.settle();
    assert_eq!(secrets(&server), ["orphan"]);

    let owner = server.create(config_map_json("owner", &json!({}))).unwrap();
    let mut slow = owned("slow", &[&owner]);
    slow["metadata"]["finalizers"] = json!(["mcrt.dev/slow"]);
    server.create(slow).unwrap();
    let pending = api.delete("owner", &DeleteParams::foreground()).await.unwrap();
    assert_eq!(pending.left().unwrap().finalizers(), ["foregroundDeletion"]);
    server.settle();
    assert!(server.get("v1", "Secret", None, "slow").unwrap()["metadata"]["deletionTimestamp"].is_string());
    let released =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "slow", "finalizers": null}});
    server.merge(released).unwrap();
    assert!(api.get_opt("owner").await.unwrap().is_none());
    assert_eq!(secrets(&server), ["orphan"]);
}

#[test]
fn every_namespace_has_the_root_ca_and_takes_its_content_along() {
    let server = Server::new("one");
    let names: Vec<_> = server.list("v1", "Namespace", None).unwrap();
    assert_eq!(names.len(), 3);
    assert_eq!(
        server.get("v1", "Namespace", None, "kube-system").unwrap()["metadata"]["uid"],
        server.uid()
    );
    let team = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    server.create(team).unwrap();
    let root = server
        .get("v1", "ConfigMap", Some("team"), "kube-root-ca.crt")
        .unwrap();
    assert!(root["data"]["ca.crt"].is_string());
    let mut held = config_map_json("held", &json!({}));
    held["metadata"]["namespace"] = "team".into();
    held["metadata"]["finalizers"] = json!(["mcrt.dev/held"]);
    server.create(held.clone()).unwrap();
    server.delete("v1", "Namespace", None, "team").unwrap();
    let ending = server.get("v1", "Namespace", None, "team").unwrap();
    assert_eq!(ending["status"]["phase"], "Terminating");
    let mut late = config_map_json("late", &json!({}));
    late["metadata"]["namespace"] = "team".into();
    assert_eq!(server.create(late).unwrap_err().code(), 403);
    held["metadata"]["finalizers"] = Value::Null;
    server.merge(held).unwrap();
    assert_eq!(
        server.get("v1", "Namespace", None, "team").unwrap_err().code(),
        404
    );
    assert!(server.list("v1", "ConfigMap", Some("team")).unwrap().is_empty());
    assert_eq!(
        server
            .delete("v1", "Namespace", None, "default")
            .unwrap_err()
            .code(),
        403
    );
}

fn crd() -> Value {
    let any = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "apps.mcrt.dev"},
        "spec": {
            "group": "mcrt.dev", "scope": "Namespaced", "names": {"kind": "App", "plural": "apps"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": any, "subresources": {"status": {}}},
                {"name": "v1alpha1", "served": true, "storage": false, "schema": any},
                {"name": "v0", "served": false, "storage": false, "schema": any},
            ],
        },
    })
}

#[tokio::test]
async fn a_crd_serves_its_kinds_until_it_is_deleted() {
    let server = Server::new("one");
    let kind = kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("mcrt.dev", "v1", "App"));
    let api: Api<kube::core::DynamicObject> = Api::default_namespaced_with(client(&server), &kind);
    let absent = api.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(absent, kube::Error::Api(status) if status.code == 404));
    let created = server.create(crd()).unwrap();
    assert_eq!(created["status"]["conditions"][1]["type"], "Established");
    let app = json!({"apiVersion": "mcrt.dev/v1", "kind": "App", "metadata": {"name": "a"}, "spec": {}});
    server.create(app).unwrap();
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let old = server.get("mcrt.dev/v1alpha1", "App", None, "a").unwrap();
    assert_eq!(old["apiVersion"], "mcrt.dev/v1alpha1");
    assert_eq!(
        server.get("mcrt.dev/v0", "App", None, "a").unwrap_err().code(),
        404
    );

    let mut events = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    assert!(matches!(
        within(events.try_next()).await.unwrap(),
        Some(WatchEvent::Added(_))
    ));
    server
        .delete(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            None,
            "apps.mcrt.dev",
        )
        .unwrap();
    assert!(api.list(&ListParams::default()).await.is_err());
    while within(events.try_next()).await.unwrap().is_some() {}
    server.create(crd()).unwrap();
    assert!(api.list(&ListParams::default()).await.unwrap().items.is_empty());
    let mut misnamed = crd();
    misnamed["metadata"]["name"] = "other".into();
    assert_eq!(server.create(misnamed).unwrap_err().code(), 422);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let server = Server::new("one");
    for name in ["a", "b"] {
        server
            .create(config_map_json(name, &json!({"team": name})))
            .unwrap();
    }
    let api = config_maps(&server);
    let deleted = api
        .delete_collection(&DeleteParams::default(), &ListParams::default().labels("team=a"))
        .await;
    assert_eq!(deleted.unwrap().left().unwrap().items[0].name_any(), "a");
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 2);
}

fn name(change: FleetChange) -> String {
    match change {
        FleetChange::Joined(server) => format!("+{}", server.name()),
        FleetChange::Left { name, .. } => format!("-{name}"),
        FleetChange::Synced => "synced".to_owned(),
    }
}

#[tokio::test]
async fn a_fleet_tells_its_members_and_then_every_change() {
    let fleet = Fleet::new();
    let old = fleet.join("b");
    fleet.join("a");
    let mut changes = fleet.changes();
    fleet.leave("a");
    let new = fleet.join("b");
    fleet.join("c");
    assert_ne!(old.uid(), new.uid());
    let mut seen = Vec::new();
    while seen.len() < 7 {
        seen.push(name(within(changes.next()).await.unwrap()));
    }
    assert_eq!(seen, ["+a", "+b", "synced", "-a", "-b", "+b", "+c"]);
    let members: Vec<_> = fleet
        .servers()
        .iter()
        .map(|server| server.name().to_owned())
        .collect();
    assert_eq!(members, ["b", "c"]);
    assert_eq!(fleet.get("b").unwrap().uid(), new.uid());
    assert_eq!(fleet.host().name(), "host");
    assert!(fleet.leave("a").is_none());
    drop(fleet);
    assert!(within(changes.next()).await.is_none());
}

#[tokio::test]
async fn the_status_of_what_is_not_there_makes_nothing() {
    let server = Server::new("one");
    let body = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}});
    let request = http::Request::put("/api/v1/namespaces/default/services/web/status")
        .header("content-type", "application/json")
        .body(body.to_string().into_bytes())
        .unwrap();
    let refused = common::client(&server)
        .request::<serde_json::Value>(request)
        .await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 404));
}
