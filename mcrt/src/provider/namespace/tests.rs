//! Namespaces come, change and go.
use super::{Namespaces, fits};
use crate::{
    cache::CacheSettings,
    cluster::ClusterName,
    connect::{Access, ServiceAccess, TransportSettings},
    provider::{Change, Provider, ProviderContext, tests::Reader},
};
use futures::StreamExt;
use mcrt_sim::{Fleet, Server};
use serde_json::json;
use std::{sync::Arc, time::Duration};

fn host() -> Server {
    Fleet::new().host()
}

fn make(host: &Server, name: &str, labels: &serde_json::Value) {
    let object = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels},
    });
    host.create(object).unwrap();
}

fn context(host: &Server, revision: u64) -> ProviderContext {
    let access = ServiceAccess::new("host", host.service()).revision(revision);
    ProviderContext::new(
        Some(access.into()),
        TransportSettings::default(),
        CacheSettings::default(),
    )
}

fn read(host: &Server, provider: Namespaces) -> Reader {
    Reader::with(&Arc::new(provider), context(host, 0))
}

async fn first(provider: &Arc<Namespaces>, host: &Server, revision: u64) -> crate::provider::ClusterSpec {
    let mut changes = Arc::clone(provider).changes(context(host, revision));
    loop {
        match changes.next().await.unwrap() {
            Change::Upsert(spec) => return spec,
            change => assert!(!matches!(change, Change::Synced), "no cluster"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_namespace_but_those_of_kubernetes_is_a_cluster() {
    let host = host();
    make(&host, "team-a", &json!({}));
    let mut reader = read(&host, Namespaces::new());
    assert_eq!(reader.until("synced").await, ["+default", "+team-a", "synced"]);
    assert!(reader.clusters["team-a"].contains("namespace team-a"));
    make(&host, "team-b", &json!({}));
    make(&host, "kube-other", &json!({}));
    assert_eq!(reader.next().await, "+team-b");
    host.delete("v1", "Namespace", None, "team-a").unwrap();
    assert_eq!(reader.next().await, "-team-a");
    make(&host, "team-a", &json!({}));
    assert_eq!(reader.next().await, "+team-a");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn labels_select_and_names_are_skipped_as_one_says() {
    let host = host();
    make(&host, "team-a", &json!({"tenant": "yes"}));
    make(&host, "team-b", &json!({"tenant": "yes"}));
    make(&host, "other", &json!({}));
    let mut reader = read(&host, Namespaces::new().labels("tenant").skip("*-b"));
    assert_eq!(reader.until("synced").await, ["+team-a", "synced"]);
    host.merge(json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "team-a", "labels": {"tenant": null}},
    }))
    .unwrap();
    assert_eq!(reader.next().await, "-team-a");
    let mut reader = read(&host, Namespaces::default().skip_none().labels(""));
    let all = reader.until("synced").await;
    assert!(all.contains(&"+kube-system".to_owned()), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_terminating_leaves_before_it_is_gone() {
    let host = host();
    make(&host, "team-a", &json!({}));
    host.create(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "namespace": "team-a", "finalizers": ["example.com/held"]},
    }))
    .unwrap();
    let mut reader = read(&host, Namespaces::new().skip("default"));
    assert_eq!(reader.until("synced").await, ["+team-a", "synced"]);
    host.delete("v1", "Namespace", None, "team-a").unwrap();
    assert_eq!(reader.next().await, "-team-a");
    assert!(
        host.get("v1", "Namespace", None, "team-a").is_ok(),
        "it is still there"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_has_the_uid_and_the_labels_of_its_namespace_and_follows_them() {
    let host = host();
    make(&host, "team-a", &json!({"stage": "prod"}));
    let provider = Arc::new(Namespaces::new().skip("default"));
    let spec = first(&provider, &host, 0).await;
    let object = host.get("v1", "Namespace", None, "team-a").unwrap();
    assert_eq!(spec.uid, object["metadata"]["uid"].as_str().unwrap());
    assert_eq!(spec.name, ClusterName::new("team-a").unwrap());
    assert_eq!(spec.properties.labels["stage"], "prod");
}

#[tokio::test(start_paused = true)]
async fn every_stream_of_a_provider_has_the_same_server_until_the_host_is_another() {
    let (host, other) = (host(), self::host());
    for server in [&host, &other] {
        make(server, "team-a", &json!({}));
    }
    let provider = Arc::new(Namespaces::new().skip("default"));
    let server = |access: &Access| match access {
        Access::Member(member) => member.of().clone(),
        access => panic!("{access:?}"),
    };
    let one = server(&first(&provider, &host, 0).await.access);
    let renewed = server(&first(&provider, &host, 1).await.access);
    assert!(one.is(&renewed), "with other credentials");
    let elsewhere = provider.server(&Access::service("elsewhere", other.service()));
    assert!(!one.is(&elsewhere));
}

#[test]
fn stars_stand_for_any_characters() {
    for (pattern, name, expected) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("kube-*", "kube-system", true),
        ("kube-*", "kube", false),
        ("*", "x", true),
        ("*-b", "a-b-b", true),
        ("a*c*e", "abcde", true),
        ("a*c*e", "abcd", false),
        ("", "a", false),
    ] {
        assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
    }
}
