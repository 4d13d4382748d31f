//! The deprecated way.
use super::{ClusterProfiles, host, profile, put, read};
use crate::provider::{cluster_profile::SecretLayout, tests::Reader};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use mcrt_sim::Server;
use serde_json::{Value, json};

const CONSUMER: &str = "x-k8s.io/cluster-inventory-consumer";
const PROFILE: &str = "x-k8s.io/cluster-profile";
const NAMESPACE: &str = "x-k8s.io/cluster-profile-namespace";

fn kubeconfig(server: &str) -> String {
    let kubeconfig = json!({
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "c", "user": {"token": "PLANTED"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    });
    kubeconfig.to_string()
}

fn secret(key: &str, labels: &Value, kubeconfig: &str) -> Value {
    let (namespace, name) = key.split_once('/').unwrap();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name, "labels": labels},
           "data": {"Config": STANDARD.encode(kubeconfig)}})
}

async fn started(host: &Server, layout: SecretLayout) -> (Reader, Vec<String>) {
    let mut reader = read(host, ClusterProfiles::from_secrets("us", layout));
    let all = reader.until("synced").await;
    (reader, all)
}

#[tokio::test(start_paused = true)]
async fn a_secret_beside_the_profile_with_both_labels_is_its_kubeconfig() {
    let host = host();
    put(&host, profile("a/x", ""));
    let ours = json!({CONSUMER: "us", PROFILE: "x"});
    put(
        &host,
        secret(
            "a/theirs",
            &json!({CONSUMER: "them", PROFILE: "x"}),
            &kubeconfig("https://theirs"),
        ),
    );
    put(
        &host,
        secret("b/elsewhere", &ours, &kubeconfig("https://elsewhere")),
    );
    let (mut reader, all) = started(&host, SecretLayout::Labels).await;
    assert_eq!(
        all,
        [
            "?a/x: ClusterProfile `a/x`: not ready: there is no Secret with its kubeconfig for this consumer",
            "synced"
        ]
    );
    put(&host, secret("a/s", &ours, &kubeconfig("https://s")));
    assert_eq!(reader.next().await, "+a/x");
    put(&host, secret("a/t", &ours, &kubeconfig("https://t")));
    let said = reader.next().await;
    assert!(
        said.contains("there are several Secrets with its kubeconfig, such as `a/s` and `a/t`"),
        "{said}"
    );
    host.delete("v1", "Secret", Some("a"), "s").unwrap();
    assert_eq!(reader.next().await, "+a/x");
    assert_eq!(reader.clusters["a/x"], "https://t/");
    put(&host, secret("a/t", &ours, "users: [PLANTED"));
    let said = reader.next().await;
    assert!(
        said.starts_with("?a/x: ClusterProfile `a/x`: Secret `a/t`: key `Config`: not a kubeconfig"),
        "{said}"
    );
    assert!(!said.contains("PLANTED"));
    assert_eq!(reader.clusters["a/x"], "https://t/", "the last good stays");
}

#[tokio::test(start_paused = true)]
async fn a_secret_in_a_namespace_of_the_consumer_names_its_profile() {
    let host = host();
    let namespace = |labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "labels": labels}});
    put(&host, profile("a/x", ""));
    put(&host, profile("default/x", ""));
    put(
        &host,
        secret(
            "b/one",
            &json!({PROFILE: "x", NAMESPACE: "a"}),
            &kubeconfig("https://one"),
        ),
    );
    put(
        &host,
        secret("b/two", &json!({PROFILE: "x"}), &kubeconfig("https://two")),
    );
    let (mut reader, all) = started(&host, SecretLayout::Namespaces).await;
    assert_eq!(all.len(), 3, "{all:?}");
    put(&host, namespace(json!({CONSUMER: "us"})));
    let mut changes = reader.take(2).await;
    changes.sort();
    assert_eq!(changes, ["+a/x", "+default/x"]);
    assert_eq!(reader.clusters["a/x"], "https://one/");
    assert_eq!(reader.clusters["default/x"], "https://two/");
    put(&host, namespace(json!({CONSUMER: "them"})));
    let said = reader.take(2).await.concat();
    assert!(said.contains("?a/x: ") && said.contains("?default/x: "), "{said}");
}

#[tokio::test(start_paused = true)]
async fn both_layouts_can_count() {
    let host = host();
    put(&host, profile("a/x", ""));
    put(&host, profile("a/y", ""));
    put(
        &host,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b", "labels": {CONSUMER: "us"}}}),
    );
    put(
        &host,
        secret(
            "a/s",
            &json!({CONSUMER: "us", PROFILE: "x"}),
            &kubeconfig("https://x"),
        ),
    );
    put(
        &host,
        secret(
            "b/s",
            &json!({PROFILE: "y", NAMESPACE: "a"}),
            &kubeconfig("https://y"),
        ),
    );
    let (reader, all) = started(&host, SecretLayout::Both).await;
    assert_eq!(all, ["+a/x", "+a/y", "synced"]);
    assert_eq!(reader.clusters["a/y"], "https://y/");
}

#[tokio::test(start_paused = true)]
async fn a_consumer_that_no_label_can_name_is_refused() {
    let mut reader = read(
        &host(),
        ClusterProfiles::from_secrets("us,x!=y", SecretLayout::Labels),
    );
    assert!(
        reader
            .next()
            .await
            .contains("the name of the consumer is no value that a label can have")
    );
}
