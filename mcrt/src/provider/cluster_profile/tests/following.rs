//! When clusters come, stay and go.
use super::{QUIET, context, delete, healthy, host, profile, provider, put, read, way, with};
use crate::{
    apis::cluster_profile::ClusterProfile,
    cluster::{Properties, PropertyOrigin},
    provider::{
        Change, Provider,
        cluster_profile::{ClusterProfiles, EngageWhen},
        tests::Reader,
    },
};
use futures::StreamExt;
use mcrt_sim::Server;
use serde_json::{Value, json};
use std::sync::Arc;

async fn started(host: &Server, provider: ClusterProfiles) -> (Reader, Vec<String>) {
    let mut reader = read(host, provider);
    let all = reader.until("synced").await;
    (reader, all)
}

/// With this status of the condition, or none.
fn in_health(key: &str, status: Option<&str>) -> Value {
    let conditions = status.map(|status| json!([healthy(status)]));
    with(
        profile(key, "https://s"),
        "/status/conditions",
        conditions.unwrap_or(json!([])),
    )
}

#[tokio::test(start_paused = true)]
async fn profiles_become_clusters_and_go_when_they_are_deleted() {
    let host = host();
    put(&host, profile("a/x", "https://x"));
    put(&host, profile("b/x", "https://y"));
    let (mut reader, all) = started(&host, provider()).await;
    assert_eq!(all, ["+a/x", "+b/x", "synced"]);
    put(
        &host,
        with(
            profile("a/x", "https://z"),
            "/metadata/finalizers",
            json!(["example.com/held"]),
        ),
    );
    assert_eq!(reader.next().await, "+a/x");
    assert_eq!(reader.clusters["a/x"], "https://z/");
    delete(&host, "a/x");
    assert_eq!(reader.next().await, "-a/x", "at the deletion timestamp");
    delete(&host, "b/x");
    assert_eq!(reader.next().await, "-b/x");
    assert!(reader.is_quiet(QUIET).await);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_made_anew_is_another_cluster_even_if_its_end_was_not_seen() {
    let host = host();
    put(&host, profile("a/x", "https://x"));
    let mut changes = Arc::new(provider()).changes(context(&host));
    let mut uids = Vec::new();
    for _ in 0..2 {
        loop {
            match changes.next().await.unwrap() {
                Change::Upsert(spec) => break uids.push(spec.uid),
                Change::Synced | Change::Remove(_) => {}
                other => panic!("{other:?}"),
            }
        }
        delete(&host, "a/x");
        put(&host, profile("a/x", "https://x"));
    }
    assert_ne!(uids[0], uids[1]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_engaged_once_it_is_healthy_and_stays_when_it_is_not() {
    let host = host();
    for (key, status) in [
        ("a/absent", None),
        ("a/false", Some("False")),
        ("a/true", Some("True")),
        ("a/unknown", Some("Unknown")),
    ] {
        put(&host, in_health(key, status));
    }
    let (mut reader, all) = started(&host, provider()).await;
    assert_eq!(
        all,
        [
            "?a/absent: ClusterProfile `a/absent`: not ready: it has no condition ControlPlaneHealthy",
            "?a/false: ClusterProfile `a/false`: not ready: its condition ControlPlaneHealthy is False (Said)",
            "+a/true",
            "?a/unknown: ClusterProfile `a/unknown`: not ready: its condition ControlPlaneHealthy is Unknown (Said)",
            "synced",
        ]
    );
    put(&host, in_health("a/false", Some("True")));
    assert_eq!(reader.next().await, "+a/false");
    put(&host, in_health("a/false", Some("False")));
    assert_eq!(
        reader.next().await,
        "+a/false",
        "with the condition among its properties"
    );
    put(
        &host,
        with(
            in_health("a/false", Some("False")),
            "/status/accessProviders",
            json!([way("one", "https://new")]),
        ),
    );
    assert_eq!(reader.next().await, "+a/false");
    assert_eq!(reader.clusters["a/false"], "https://new/");
    assert!(reader.is_quiet(QUIET).await);
}

#[tokio::test(start_paused = true)]
async fn when_a_cluster_is_engaged_can_be_said() {
    let host = host();
    for (key, status) in [
        ("a/absent", None),
        ("a/false", Some("False")),
        ("a/true", Some("True")),
    ] {
        put(&host, in_health(key, status));
    }
    let custom = |profile: &ClusterProfile| profile.metadata.name.as_deref() == Some("absent");
    for (provider, expected) in [
        (
            provider().engage_when(EngageWhen::NotUnhealthy),
            vec!["a/absent", "a/true"],
        ),
        (
            provider().engage_when(EngageWhen::Always),
            vec!["a/absent", "a/false", "a/true"],
        ),
        (provider().ready_when(custom), vec!["a/absent"]),
    ] {
        let (reader, _) = started(&host, provider).await;
        assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_to_leave_when_it_is_unhealthy_leaves_and_comes_back() {
    let host = host();
    put(&host, profile("a/x", "https://s"));
    let (mut reader, all) = started(&host, provider().leave_when_unhealthy()).await;
    assert_eq!(all, ["+a/x", "synced"]);
    put(&host, in_health("a/x", Some("False")));
    let why = "?a/x: ClusterProfile `a/x`: not ready: its condition ControlPlaneHealthy is False (Said)";
    assert_eq!(reader.take(2).await, ["-a/x", why]);
    put(&host, in_health("a/x", Some("True")));
    assert_eq!(reader.next().await, "+a/x");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_its_type_is_told_alone_and_keeps_its_last_good() {
    let bare = host();
    // Served without a schema, as older or foreign definitions may be.
    put(&bare, profile("default/good", "https://s"));
    put(
        &bare,
        with(
            profile("default/bad", "https://s"),
            "/status/accessProviders",
            json!("PLANTED"),
        ),
    );
    put(
        &bare,
        json!({"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
                      "metadata": {"name": "empty", "namespace": "default"}}),
    );
    let (mut reader, all) = started(&bare, provider()).await;
    assert_eq!(
        all,
        [
            "?default/bad: ClusterProfile `default/bad`: cannot be read: a value does not fit its type (it is not shown)",
            "?default/empty: ClusterProfile `default/empty`: not ready: it has no condition ControlPlaneHealthy",
            "+default/good",
            "synced"
        ]
    );
    put(
        &bare,
        with(profile("default/good", "https://s"), "/spec", json!([1])),
    );
    assert!(reader.next().await.starts_with("?default/good: "));
    assert_eq!(reader.clusters["default/good"], "https://s/");
}

#[tokio::test(start_paused = true)]
async fn a_profile_is_selected_by_namespace_label_manager_and_cluster_set() {
    let host = host();
    let set = |profile: Value, label: &str| with(profile, "/metadata/labels", json!({label: "s"}));
    put(
        &host,
        set(profile("a/x", "https://s"), "multicluster.x-k8s.io/clusterset"),
    );
    put(
        &host,
        set(profile("a/y", "https://s"), "clusterset.multicluster.x-k8s.io"),
    );
    put(&host, profile("a/z", "https://s"));
    put(
        &host,
        with(
            profile("b/x", "https://s"),
            "/spec/clusterManager/name",
            json!("other"),
        ),
    );
    for (provider, expected) in [
        (provider().in_namespace("a"), vec!["a/x", "a/y", "a/z"]),
        (
            provider().in_namespace("a").in_namespace("b").labels("of=x"),
            vec!["b/x"],
        ),
        (provider().manager("other"), vec!["b/x"]),
        (provider().cluster_set("s"), vec!["a/x", "a/y"]),
    ] {
        let (reader, _) = started(&host, provider).await;
        assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_longer_selected_leaves_and_begins_anew() {
    let host = host();
    put(&host, profile("a/x", "https://s"));
    let namespace = |labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a", "labels": labels}});
    put(&host, namespace(json!({"multicluster.x-k8s.io/clusterset": "s"})));
    let (mut reader, all) = started(&host, provider().cluster_set("s")).await;
    assert_eq!(all, ["+a/x", "synced"]);
    put(&host, in_health("a/x", Some("False")));
    assert_eq!(reader.next().await, "+a/x");
    put(&host, namespace(json!({})));
    assert_eq!(reader.next().await, "-a/x");
    put(&host, namespace(json!({"multicluster.x-k8s.io/clusterset": "s"})));
    assert!(
        reader.next().await.starts_with("?a/x: "),
        "it is not healthy, and was not engaged"
    );
}

#[tokio::test(start_paused = true)]
async fn what_the_inventory_says_is_among_the_properties() {
    let host = host();
    let known = with(
        with(
            profile("a/x", "https://s"),
            "/status/properties",
            json!([{"name": "region", "value": "eu"}, {"name": "kubernetes-version", "value": "spoofed"}]),
        ),
        "/status/version",
        json!({"kubernetes": "v1.37.2"}),
    );
    put(&host, known);
    let mut changes = Arc::new(provider()).changes(context(&host));
    let Some(Change::Upsert(spec)) = changes.next().await else {
        panic!()
    };
    let Properties { labels, named, .. } = spec.properties;
    assert_eq!(labels["of"], "x");
    let named: Vec<_> = named
        .into_iter()
        .map(|(name, property)| (name, property.value, property.origin))
        .collect();
    let said = |name: &str, value: &str| (name.to_owned(), value.to_owned(), PropertyOrigin::Inventory);
    assert_eq!(
        named,
        [
            said("ControlPlaneHealthy", "True"),
            said("kubernetes-version", "v1.37.2"),
            said("region", "eu")
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_started_again_remembers_who_was_engaged() {
    let host = host();
    put(&host, profile("a/x", "https://s"));
    let provider = Arc::new(provider());
    let mut reader = Reader::with(&provider, context(&host));
    reader.until("synced").await;
    drop(reader);
    put(&host, in_health("a/x", Some("False")));
    let mut reader = Reader::with(&provider, context(&host));
    assert_eq!(reader.until("synced").await, ["+a/x", "synced"]);
}
