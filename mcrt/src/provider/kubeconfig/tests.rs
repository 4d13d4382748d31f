//! Secrets come, change and go; not all of them are fit for use.
use super::Kubeconfig;
use crate::{
    cache::CacheSettings,
    connect::{Access, Policy, TransportSettings},
    provider::{Change, Provider, ProviderContext, host::Names, tests::Reader},
};
use base64::Engine as _;
use futures::StreamExt;
use mcrt_sim::{Fleet, Server, Verdict};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const LABEL: &str = "sigs.k8s.io/multicluster-runtime-kubeconfig";

fn kubeconfig(server: &str, token: &str) -> String {
    format!(
        "clusters: [{{name: k, cluster: {{server: '{server}'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         users: [{{name: u, user: {{token: {token}}}}}]\n"
    )
}

fn secret(namespace: &str, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"namespace": namespace, "name": name, "labels": {LABEL: "true", "stage": "prod"}},
        "stringData": data,
    })
}

fn good(namespace: &str, name: &str, server: &str) -> Value {
    secret(
        namespace,
        name,
        &json!({"kubeconfig": kubeconfig(server, "hunter2")}),
    )
}

fn put(host: &Server, object: &Value) {
    if host.replace(object.clone()).is_err() {
        host.create(object.clone()).unwrap();
    }
}

fn host(namespaces: &[&str]) -> Server {
    let host = Fleet::new().host();
    for namespace in namespaces {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        host.create(object).unwrap();
    }
    host
}

fn context(host: &Server) -> ProviderContext {
    let access = Access::service("host", host.service());
    ProviderContext::new(
        Some(access),
        TransportSettings::default(),
        CacheSettings::default(),
    )
}

fn read(host: &Server, provider: Kubeconfig) -> Reader {
    Reader::with(&Arc::new(provider), context(host))
}

#[tokio::test(start_paused = true)]
async fn secrets_with_the_label_are_clusters_and_no_others_are_read() {
    let host = host(&["x", "y"]);
    put(&host, &good("x", "a", "https://a.test"));
    put(&host, &good("y", "a", "https://b.test"));
    let mut unlabelled = good("x", "other", "https://c.test");
    unlabelled["metadata"]["labels"] = json!({});
    put(&host, &unlabelled);
    host.hook(|request| {
        let selects = request
            .query("labelSelector")
            .is_some_and(|labels| labels.contains(LABEL));
        assert!(selects || request.plural() != "secrets", "{request:?}");
        Verdict::Pass
    });
    let mut reader = read(&host, Kubeconfig::new());
    assert_eq!(reader.until("synced").await, ["+x/a", "+y/a", "synced"]);
    assert_eq!(reader.clusters["y/a"], "https://b.test/");
}

#[tokio::test(start_paused = true)]
async fn names_are_short_in_one_namespace_and_as_one_says() {
    let host = host(&["x", "y", "z"]);
    for namespace in ["x", "y", "z"] {
        put(&host, &good(namespace, "a", "https://a.test"));
    }
    for (provider, names) in [
        (Kubeconfig::new().in_namespace("x"), &["a"][..]),
        (Kubeconfig::new().in_namespace("x").in_namespace("x"), &["a"]),
        (
            Kubeconfig::new().in_namespace("x").in_namespace("y"),
            &["x/a", "y/a"],
        ),
        (
            Kubeconfig::new().in_namespace("x").names(Names::Namespaced),
            &["x/a"],
        ),
        (Kubeconfig::new().names(Names::Short), &["a"]),
    ] {
        let mut reader = read(&host, provider.clone());
        reader.until("synced").await;
        let found: Vec<_> = reader.clusters.keys().collect();
        assert_eq!(found, names, "{provider:?}");
    }
    let mut reader = read(&host, Kubeconfig::new().names(Names::Short));
    reader.until("synced").await;
    assert!(
        reader.rejected["a"].contains("`y/a`, `z/a` claim too"),
        "{}",
        reader.rejected["a"]
    );
}

#[tokio::test(start_paused = true)]
async fn label_key_context_and_policy_are_settable() {
    let host = host(&["x"]);
    let mut object = secret(
        "x",
        "a",
        &json!({"value": kubeconfig("https://localhost:1", "t").replace("contexts: [", "contexts: [{name: d, context: {cluster: k}}, ")}),
    );
    object["metadata"]["labels"] = json!({"member": "yes"});
    put(&host, &object);
    let provider = Kubeconfig::default().labels("member").key("value");
    let mut reader = read(&host, provider.clone());
    reader.until("synced").await;
    assert!(
        reader.rejected["x/a"].contains("current-context"),
        "{:?}",
        reader.rejected
    );
    let mut reader = read(&host, provider.clone().context("c"));
    reader.until("synced").await;
    assert!(
        reader.rejected["x/a"].contains("allow_local_servers"),
        "{:?}",
        reader.rejected
    );
    let local = Policy::strict().allow_local_servers();
    let mut reader = read(&host, provider.context("c").policy(local));
    assert_eq!(reader.until("synced").await, ["+x/a", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_loses_its_label_or_is_deleted_takes_its_cluster_with_it() {
    let host = host(&["x"]);
    let objects = ["a", "b", "c", "d"].map(|name| good("x", name, "https://a.test"));
    for object in &objects {
        put(&host, object);
    }
    let mut reader = read(&host, Kubeconfig::new().in_namespace("x"));
    reader.until("synced").await;
    for label in [json!("false"), Value::Null] {
        let mut change = objects[0].clone();
        change["metadata"]["labels"][LABEL] = label;
        host.merge(change).unwrap();
        assert_eq!(reader.next().await, "-a");
        put(&host, &objects[0]);
        assert_eq!(reader.next().await, "+a");
    }
    host.delete("v1", "Secret", Some("x"), "b").unwrap();
    assert_eq!(reader.next().await, "-b");
    let mut held = objects[2].clone();
    held["metadata"]["finalizers"] = json!(["example.com/holds"]);
    put(&host, &held);
    host.delete("v1", "Secret", Some("x"), "c").unwrap();
    assert_eq!(
        reader.next().await,
        "-c",
        "a Secret that is being deleted is gone"
    );
    host.delete("v1", "Namespace", None, "x").unwrap();
    let mut gone = reader.take(2).await;
    gone.sort();
    assert_eq!(gone, ["-a", "-d"]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_used_is_rejected_alone_and_the_last_good_stays() {
    let expired = {
        let mut params = rcgen::CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2024, 2, 29);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let base64 = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
        format!(
            "{{client-certificate-data: {}, client-key-data: {}}}",
            base64(certificate),
            base64(key.serialize_pem())
        )
    };
    let typo = kubeconfig("https://a.test", "hunter2");
    let bad = [
        (json!({}), "has no key `kubeconfig`"),
        (json!({"Kubeconfig": typo}), "has no key `kubeconfig`"),
        (json!({"kubeconfig": ""}), "key `kubeconfig` is empty"),
        (json!({"kubeconfig": " \n\t"}), "key `kubeconfig` is empty"),
        (json!({"kubeconfig": "{hunter2"}), "correct the YAML"),
        (json!({"kubeconfig": "[hunter2]"}), "correct the YAML"),
        (json!({"kubeconfig": "clusters: hunter2"}), "correct the YAML"),
        (json!({"kubeconfig": "{}"}), "current-context"),
        (
            json!({"kubeconfig": typo.replace("https://a.test", "")}),
            "server: missing",
        ),
        (
            json!({"kubeconfig": typo.replace("https://a.test", "http://a.test")}),
            "has no TLS",
        ),
        (
            json!({"kubeconfig": typo.replace("token: hunter2", "tokne: hunter2")}),
            "not known",
        ),
        (
            json!({"kubeconfig": typo.replace("user: {token", "user: {tokenFile: /hunter2, token")}),
            "tokenFile",
        ),
        (
            json!({"kubeconfig": typo.replace("cluster: k,", "cluster: l,")}),
            "clusters[l]: no such cluster",
        ),
        (
            json!({"kubeconfig": typo.replace("{token: hunter2}", &expired)}),
            "expired on 2024-02-29",
        ),
        (
            json!({"kubeconfig": typo.replace("{token: hunter2}", "{exec: {command: hunter2, apiVersion: client.authentication.k8s.io/v1}}")}),
            "runs a program",
        ),
        (
            json!({"kubeconfig": format!("---\n{typo}---\n{typo}")}),
            "several documents",
        ),
    ];
    let host = host(&["x"]);
    put(&host, &good("x", "a", "https://a.test"));
    put(&host, &good("x", "good", "https://b.test"));
    for (number, (data, _)) in bad.iter().enumerate() {
        put(&host, &secret("x", &format!("bad{number}"), data));
    }
    let mut reader = read(&host, Kubeconfig::new().in_namespace("x"));
    let all = reader.until("synced").await.join("\n");
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["a", "good"], "{all}");
    for (number, (data, reason)) in bad.iter().enumerate() {
        let told = &reader.rejected[&format!("bad{number}")];
        assert!(
            told.contains(reason) && told.contains(&format!("Secret `x/bad{number}`")),
            "{told}"
        );
        assert!(!told.contains("hunter2"), "{told}");
        put(&host, &secret("x", "a", data));
        let told = reader.next().await;
        assert!(told.starts_with("?a: ") && told.contains(reason), "{told}");
        assert_eq!(reader.clusters["a"], "https://a.test/");
        put(&host, &good("x", "a", "https://a.test"));
        assert_eq!(reader.next().await, "+a", "good again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_token_is_the_same_life_and_a_new_server_is_another() {
    let host = host(&["x"]);
    put(&host, &good("x", "a", "https://a.test"));
    let mut changes = Arc::new(Kubeconfig::new()).changes(context(&host));
    let Some(Change::Upsert(first)) = changes.next().await else {
        panic!("a cluster")
    };
    assert!(matches!(changes.next().await, Some(Change::Synced)));
    assert_eq!(first.properties.labels["stage"], "prod");
    // Something else in the Secret says nothing of the cluster.
    let mut change = good("x", "a", "https://a.test");
    change["metadata"]["annotations"] = json!({"example.com/note": "x"});
    put(&host, &change);
    let mut next = async |object: Value| {
        put(&host, &object);
        match changes.next().await {
            Some(Change::Upsert(spec)) => spec,
            other => panic!("{other:?}"),
        }
    };
    let token = next(secret(
        "x",
        "a",
        &json!({"kubeconfig": kubeconfig("https://a.test", "other")}),
    ))
    .await;
    assert_eq!(
        (&token.uid, token.access.identity()),
        (&first.uid, first.access.identity())
    );
    assert_ne!(token.access.fingerprint(), first.access.fingerprint());
    let server = next(good("x", "a", "https://b.test")).await;
    assert_ne!(server.access.identity(), first.access.identity());
    let mut labelled = good("x", "a", "https://b.test");
    labelled["metadata"]["labels"]["stage"] = json!("test");
    let labelled = next(labelled).await;
    assert_eq!(labelled.properties.labels["stage"], "test");
    host.delete("v1", "Secret", Some("x"), "a").unwrap();
    assert!(matches!(changes.next().await, Some(Change::Remove(_))));
}

#[tokio::test(start_paused = true)]
async fn long_names_are_clusters_where_they_fit_and_are_told_where_they_do_not() {
    let namespace = "n".repeat(63);
    let host = host(&[&namespace]);
    let (long, longest) = ("a".repeat(180), "b".repeat(253));
    for name in [&long, &longest] {
        put(&host, &good(&namespace, name, "https://a.test"));
    }
    put(&host, &good(&namespace, "ok", "https://a.test"));
    let mut reader = read(&host, Kubeconfig::new());
    let all = reader.until("synced").await;
    assert_eq!(reader.clusters.len(), 2, "{all:?}");
    assert!(
        all.iter()
            .any(|told| told.starts_with("!Secret") && told.contains("253 or fewer")),
        "{all:?}"
    );
    let mut reader = read(&host, Kubeconfig::new().in_namespace(&namespace));
    reader.until("synced").await;
    assert_eq!(reader.clusters.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_secrets_are_read_by_one_list() {
    let host = host(&["x"]);
    for number in 0..1_000 {
        put(&host, &good("x", &format!("c{number}"), "https://a.test"));
    }
    let mut reader = read(&host, Kubeconfig::new());
    reader.until("synced").await;
    assert_eq!(reader.clusters.len(), 1_000);
    for number in [7, 999] {
        put(&host, &good("x", &format!("c{number}"), "https://b.test"));
        assert_eq!(reader.next().await, format!("+x/c{number}"));
    }
    assert!(reader.is_quiet(Duration::from_secs(50)).await);
}
