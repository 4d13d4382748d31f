//! A host with Cluster API, in either version, and what else is on it.
use super::ClusterApi;
use crate::{
    apis::cluster_api::Cluster,
    cache::CacheSettings,
    connect::{Access, TransportSettings},
    provider::{Change, ClusterSpec, Provider, ProviderContext, host::Names, tests::Reader},
};
use futures::{StreamExt, stream::BoxStream};
use mcrt_sim::{Fleet, Server};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

fn kubeconfig(server: &str, token: &str) -> String {
    format!(
        "clusters: [{{name: k, cluster: {{server: '{server}'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n\
         current-context: c\n\
         users: [{{name: u, user: {{token: {token}}}}}]\n"
    )
}

/// A host in the making; nothing of Cluster API is installed.
struct Host(Server);

impl Host {
    fn bare() -> Self {
        let host = Fleet::new().host();
        for namespace in ["x", "y"] {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            host.create(object).unwrap();
        }
        Self(host)
    }

    fn install(
        &self,
        crd: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    ) {
        let mut crd = serde_json::to_value(crd).unwrap();
        crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
        crd["kind"] = json!("CustomResourceDefinition");
        self.put(crd);
    }

    fn new() -> Self {
        let host = Self::bare();
        host.install(&Cluster::crd());
        host
    }

    fn put(&self, object: Value) -> Value {
        let status = object.get("status").cloned();
        let written = self.0.replace(object.clone()).or_else(|_| self.0.create(object));
        let mut written = written.unwrap_or_else(|status| panic!("{status:?}"));
        if let Some(status) = status {
            written["status"] = status;
            return self
                .0
                .replace_status(written)
                .unwrap_or_else(|status| panic!("{status:?}"));
        }
        written
    }

    fn cluster(&self, namespace: &str, name: &str, status: Value) -> Value {
        let object = cluster("v1beta2", namespace, name, status);
        self.put(object)
    }

    fn delete(&self, kind: &str, namespace: &str, name: &str) {
        let version = if kind == "Secret" {
            "v1"
        } else {
            "cluster.x-k8s.io/v1beta2"
        };
        self.0.delete(version, kind, Some(namespace), name).unwrap();
    }

    fn context(&self) -> ProviderContext {
        let access = Access::service("host", self.0.service());
        ProviderContext::new(
            Some(access),
            TransportSettings::default(),
            CacheSettings::default(),
        )
    }

    fn read(&self, provider: ClusterApi) -> Reader {
        Reader::with(&Arc::new(provider), self.context())
    }

    fn changes(&self) -> BoxStream<'static, Change> {
        Arc::new(ClusterApi::new()).changes(self.context())
    }
}

fn cluster(version: &str, namespace: &str, name: &str, status: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("cluster.x-k8s.io/{version}"), "kind": "Cluster",
        "metadata": {"namespace": namespace, "name": name, "labels": {"stage": "prod"}},
        "spec": {},
    });
    object["status"] = status;
    object
}

fn initialized() -> Value {
    json!({"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true}})
}

fn secret(namespace: &str, name: &str, of: &str, kubeconfig: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
        "metadata": {"namespace": namespace, "name": name, "labels": {"cluster.x-k8s.io/cluster-name": of}},
        "stringData": {"value": kubeconfig},
    })
}

fn good(namespace: &str, of: &str, server: &str) -> Value {
    secret(
        namespace,
        &format!("{of}-kubeconfig"),
        of,
        &kubeconfig(server, "hunter2"),
    )
}

fn owned(mut object: Value, api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    object["metadata"]["ownerReferences"] =
        json!([{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true}]);
    object
}

async fn upserted(changes: &mut BoxStream<'static, Change>) -> ClusterSpec {
    match changes.next().await {
        Some(Change::Upsert(spec)) => spec,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_comes_when_its_control_plane_has_answered_and_goes_when_it_is_being_deleted() {
    let host = Host::new();
    host.cluster("x", "a", json!({"phase": "Provisioning"}));
    host.put(good("x", "a", "https://a.test"));
    let mut reader = host.read(ClusterApi::new());
    assert_eq!(reader.until("synced").await, ["synced"]);
    host.cluster("x", "a", initialized());
    assert_eq!(reader.next().await, "+x/a");
    let mut held = cluster("v1beta2", "x", "a", initialized());
    held["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
    host.put(held);
    assert!(reader.is_quiet(Duration::from_secs(40)).await);
    host.delete("Cluster", "x", "a");
    assert_eq!(reader.next().await, "-x/a");
    assert!(
        host.0
            .get("cluster.x-k8s.io/v1beta2", "Cluster", Some("x"), "a")
            .is_ok(),
        "its finalizer holds it"
    );
    host.delete("Secret", "x", "a-kubeconfig");
    assert!(reader.is_quiet(Duration::from_secs(40)).await);
}

#[tokio::test(start_paused = true)]
async fn the_secret_may_come_before_or_after_and_a_rotation_needs_no_event_of_the_cluster() {
    let host = Host::new();
    host.cluster("x", "a", initialized());
    let mut changes = host.changes();
    let Some(Change::Rejected { name, reason }) = changes.next().await else {
        panic!("a reason")
    };
    assert_eq!(name.as_str(), "x/a");
    assert!(
        reason.contains("`x/a-kubeconfig` is not there, or lacks the label"),
        "{reason}"
    );
    assert!(matches!(changes.next().await, Some(Change::Synced)));
    host.put(good("x", "a", "https://a.test"));
    let first = upserted(&mut changes).await;
    host.put(secret(
        "x",
        "a-kubeconfig",
        "a",
        &kubeconfig("https://a.test", "other"),
    ));
    let rotated = upserted(&mut changes).await;
    assert_eq!(
        (&rotated.uid, rotated.access.identity()),
        (&first.uid, first.access.identity())
    );
    assert_ne!(rotated.access.fingerprint(), first.access.fingerprint());
    host.put(good("x", "b", "https://b.test"));
    let made = host.cluster("x", "b", initialized());
    let second = upserted(&mut changes).await;
    assert_eq!(made["metadata"]["uid"], *second.uid);
    host.put(good("x", "b", "https://c.test"));
    let moved = upserted(&mut changes).await;
    assert_ne!(moved.access.identity(), second.access.identity());
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_gone_for_a_while_or_is_spoilt_leaves_the_cluster_as_it_was() {
    let host = Host::new();
    host.cluster("x", "a", initialized());
    host.put(good("x", "a", "https://a.test"));
    let mut reader = host.read(ClusterApi::new());
    reader.until("synced").await;
    host.delete("Secret", "x", "a-kubeconfig");
    assert!(
        reader
            .next()
            .await
            .starts_with("?x/a: Secret `x/a-kubeconfig` is not there")
    );
    host.put(good("x", "a", "https://a.test"));
    assert_eq!(reader.next().await, "+x/a");
    for (value, reason) in [
        ("", "key `value` is empty"),
        ("{hunter2", "not a kubeconfig"),
        ("{}", "current-context"),
        (&kubeconfig("", "hunter2"), "server: missing"),
        (&kubeconfig("http://a.test", "hunter2"), "no TLS"),
    ] {
        host.put(secret("x", "a-kubeconfig", "a", value));
        let told = reader.next().await;
        assert!(
            told.starts_with("?x/a: ") && told.contains(reason) && !told.contains("hunter2"),
            "{told}"
        );
        assert_eq!(reader.clusters["x/a"], "https://a.test/");
    }
    let mut keyless = good("x", "a", "https://a.test");
    keyless["stringData"] = json!({"kubeconfig": "hunter2"});
    host.delete("Secret", "x", "a-kubeconfig");
    reader.next().await;
    host.put(keyless);
    assert!(reader.next().await.contains("has no key `value`"));
    host.put(good("x", "a", "https://a.test"));
    assert_eq!(reader.next().await, "+x/a");
}

#[tokio::test(start_paused = true)]
async fn the_older_version_is_read_where_it_is_the_only_one() {
    let host = Host::bare();
    host.install(&Cluster::crd_v1beta1());
    for (name, status) in [
        (
            "a",
            json!({"controlPlaneReady": true, "infrastructureReady": true}),
        ),
        (
            "b",
            json!({"conditions": [{"type": "ControlPlaneInitialized", "status": "True", "severity": ""}]}),
        ),
        (
            "c",
            json!({"controlPlaneReady": false, "infrastructureReady": true}),
        ),
    ] {
        host.put(cluster("v1beta1", "x", name, status));
        host.put(good("x", name, "https://a.test"));
    }
    let mut reader = host.read(ClusterApi::new());
    assert_eq!(reader.until("synced").await, ["+x/a", "+x/b", "synced"]);
    // Not ready for a moment: it was initialized, which is for good, but the old version has no other word for it.
    host.put(cluster(
        "v1beta1",
        "x",
        "b",
        json!({"controlPlaneReady": false,
        "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}),
    ));
    assert!(reader.is_quiet(Duration::from_secs(40)).await);
}

#[tokio::test(start_paused = true)]
async fn a_host_without_cluster_api_is_told_of_and_asked_again() {
    let host = Host::bare();
    let mut events = crate::provider::restarting(Arc::new(ClusterApi::new()), host.context());
    let mut failed = false;
    for _ in 0..6 {
        if let Some(crate::provider::Event::Said(Change::Failed(reason))) = events.next().await {
            assert!(
                reason.contains("v1beta2 or v1beta1: install Cluster API"),
                "{reason}"
            );
            failed = true;
        }
    }
    assert!(failed);
    host.install(&Cluster::crd());
    host.cluster("x", "a", initialized());
    host.put(good("x", "a", "https://a.test"));
    loop {
        match events.next().await.unwrap() {
            crate::provider::Event::Said(Change::Upsert(spec)) => {
                break assert_eq!(spec.name.as_str(), "x/a");
            }
            crate::provider::Event::Said(Change::Remove(name)) => panic!("{name}"),
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_drops_the_version_goes_on_in_the_other_and_takes_no_cluster() {
    let host = Host::bare();
    host.install(&Cluster::crd_v1beta1());
    host.put(cluster("v1beta1", "x", "a", json!({"controlPlaneReady": true})));
    host.put(good("x", "a", "https://a.test"));
    let mut events = crate::provider::restarting(Arc::new(ClusterApi::new()), host.context());
    let mut next = async || events.next().await.unwrap();
    loop {
        if let crate::provider::Event::Said(Change::Synced) = next().await {
            break;
        }
    }
    // Both are served, then the newer alone.
    host.install(&Cluster::crd());
    host.cluster("x", "a", initialized());
    let mut crd = Cluster::crd();
    crd.spec.versions[1].served = false;
    host.install(&crd);
    host.0.disconnect_watches();
    let mut again = false;
    loop {
        match next().await {
            crate::provider::Event::Started => again = true,
            crate::provider::Event::Said(Change::Remove(name)) => panic!("{name}"),
            crate::provider::Event::Said(Change::Synced) if again => break,
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn secrets_of_the_same_pattern_are_told_apart() {
    let host = Host::new();
    // A cluster called like another's Secret, and one called like the Secret for the users of another.
    for name in ["a", "a-kubeconfig", "a-user"] {
        host.cluster("x", name, initialized());
    }
    host.put(good("x", "a", "https://a.test"));
    host.put(good("x", "a-kubeconfig", "https://b.test"));
    host.put(secret(
        "x",
        "a-user-kubeconfig",
        "a",
        &kubeconfig("https://users.test", "t"),
    ));
    host.put(secret("x", "a-ca", "a", "no kubeconfig"));
    let mut reader = host.read(ClusterApi::new());
    reader.until("synced").await;
    assert_eq!(reader.clusters["x/a"], "https://a.test/");
    assert_eq!(reader.clusters["x/a-kubeconfig"], "https://b.test/");
    let reason = &reader.rejected["x/a-user"];
    assert!(reason.contains("is that of the cluster `a`"), "{reason}");
    host.put(good("x", "a-user", "https://c.test"));
    assert_eq!(reader.next().await, "+x/a-user");
}

#[tokio::test(start_paused = true)]
async fn a_secret_of_somebody_else_is_not_taken_for_the_clusters() {
    let host = Host::new();
    let uid = |made: &Value| made["metadata"]["uid"].as_str().unwrap().to_owned();
    let own = uid(&host.cluster("x", "own", initialized()));
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "x", "name": "it"}});
    let map = uid(&host.put(map));
    // Whose Secret, its owner, whether it counts. Owners of known kinds exist, or they would be collected.
    let owners = [
        ("own", "cluster.x-k8s.io/v1beta2 Cluster own", &*own, true),
        ("former", "cluster.x-k8s.io/v1beta2 Cluster own", &own, false),
        (
            "kcp",
            "controlplane.cluster.x-k8s.io/v1beta2 KubeadmControlPlane it",
            "u",
            true,
        ),
        (
            "infra",
            "infrastructure.cluster.x-k8s.io/v1beta2 AWSManagedCluster it",
            "u",
            true,
        ),
        ("fake", "evilcluster.x-k8s.io/v1 Cluster it", "u", false),
        ("rancher", "provisioning.cattle.io/v1 Cluster it", "u", false),
        ("core", "v1 ConfigMap it", &map, false),
        ("other", "kamaji.example.com/v1 ControlPlane it", "u", true),
    ];
    for (name, owner, uid, _) in owners {
        let [version, kind, owner] = owner.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{owner}")
        };
        let mut object = cluster("v1beta2", "x", name, initialized());
        let (group, _) = version.split_once('/').unwrap_or_default();
        if name == "other" {
            object["spec"]["controlPlaneRef"] = json!({"apiGroup": group, "kind": kind, "name": "it"});
        }
        host.put(object);
        host.put(owned(
            good("x", name, "https://a.test"),
            version,
            kind,
            owner,
            uid,
        ));
    }
    let mut reader = host.read(ClusterApi::new());
    reader.until("synced").await;
    for (name, owner, _, counts) in owners {
        let name = format!("x/{name}");
        let reason = reader.rejected.get(&name).map_or("", String::as_str);
        assert_eq!(reader.clusters.contains_key(&name), counts, "{name}: {reason}");
        let kind = owner.split(' ').nth(1).unwrap();
        assert!(counts || reason.contains(kind), "{name}: {reason}");
    }
    let mut reader = host.read(ClusterApi::new().allow_owner("provisioning.cattle.io"));
    reader.until("synced").await;
    assert!(reader.clusters.contains_key("x/rancher"));
}

#[tokio::test(start_paused = true)]
async fn secrets_without_the_label_are_read_where_that_is_said() {
    let host = Host::new();
    host.cluster("x", "a", initialized());
    let mut unlabelled = good("x", "a", "https://a.test");
    unlabelled["metadata"]["labels"] = json!({});
    host.put(unlabelled);
    let mut reader = host.read(ClusterApi::new());
    reader.until("synced").await;
    assert!(reader.rejected["x/a"].contains("lacks the label `cluster.x-k8s.io/cluster-name`"));
    let mut reader = host.read(ClusterApi::new().secret_labels(""));
    assert_eq!(reader.until("synced").await, ["+x/a", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn paused_clusters_stay_unless_they_are_to_leave() {
    let host = Host::new();
    host.cluster("x", "a", initialized());
    host.put(good("x", "a", "https://a.test"));
    let mut staying = host.read(ClusterApi::new());
    let mut leaving = host.read(ClusterApi::new().leave_when_paused());
    staying.until("synced").await;
    leaving.until("synced").await;
    let mut paused = cluster("v1beta2", "x", "a", initialized());
    paused["spec"]["paused"] = json!(true);
    host.put(paused);
    assert_eq!(leaving.next().await, "-x/a");
    assert_eq!(staying.next().await, "+x/a", "its property");
    let mut paused = cluster("v1beta2", "x", "a", initialized());
    paused["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
    host.put(paused);
    host.cluster("x", "a", initialized());
    assert_eq!(leaving.next().await, "+x/a");
}

#[tokio::test(start_paused = true)]
async fn what_is_given_becomes_labels_and_properties() {
    let host = Host::new();
    let condition = |type_: &str, status: &str| json!({"type": type_, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let mut object = cluster("v1beta2", "x", "a", initialized());
    object["spec"]["topology"] = json!({"classRef": {"name": "small"}, "version": "v1.37.0"});
    object["status"]["conditions"] = json!([
        condition("RemoteConnectionProbe", "False"),
        condition("ControlPlaneAvailable", "True"),
        condition("Available", "False"),
    ]);
    host.put(object);
    host.put(good("x", "a", "https://a.test"));
    let mut changes = host.changes();
    let spec = upserted(&mut changes).await;
    assert_eq!(spec.properties.labels["stage"], "prod");
    let named: Vec<_> = spec
        .properties
        .named
        .iter()
        .map(|(name, property)| format!("{name}={}", property.value))
        .collect();
    assert_eq!(
        named,
        [
            "ControlPlaneAvailable=True",
            "RemoteConnectionProbe=False",
            "topology.class=small",
            "topology.version=v1.37.0"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit_its_type_is_rejected_alone() {
    let host = Host::bare();
    // A definition without a schema lets anything through.
    let mut crd = Cluster::crd();
    for version in &mut crd.spec.versions {
        let schema = version
            .schema
            .as_mut()
            .unwrap()
            .open_api_v3_schema
            .as_mut()
            .unwrap();
        schema.properties = None;
        schema.x_kubernetes_preserve_unknown_fields = Some(true);
    }
    host.install(&crd);
    for name in ["a", "b", "good"] {
        host.put(good("x", name, "https://a.test"));
        host.cluster("x", name, initialized());
    }
    let mut reader = host.read(ClusterApi::new());
    reader.until("synced").await;
    assert_eq!(reader.clusters.len(), 3);
    host.cluster(
        "x",
        "a",
        json!({"initialization": {"controlPlaneInitialized": "hunter2"}}),
    );
    let told = reader.next().await;
    assert!(
        told.starts_with("?x/a: ") && told.contains("`status` does not fit") && !told.contains("hunter2"),
        "{told}"
    );
    let mut object = cluster("v1beta2", "x", "b", initialized());
    object["spec"] = json!({"controlPlaneRef": 7});
    host.put(object);
    assert!(reader.next().await.contains("`spec` does not fit"));
    assert_eq!(reader.clusters.len(), 3, "the last good stays");
    let mut reader = host.read(ClusterApi::new());
    reader.until("synced").await;
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["x/good"]);
}

#[tokio::test(start_paused = true)]
async fn namespaces_labels_and_names_are_settable() {
    let host = Host::new();
    for namespace in ["x", "y"] {
        host.cluster(namespace, "a", initialized());
        host.put(good(namespace, "a", &format!("https://{namespace}.test")));
    }
    let mut other = cluster("v1beta2", "x", "b", initialized());
    other["metadata"]["labels"] = json!({"stage": "test"});
    host.put(other);
    host.put(good("x", "b", "https://b.test"));
    for (provider, names) in [
        (ClusterApi::new(), &["x/a", "x/b", "y/a"][..]),
        (ClusterApi::default().in_namespace("x"), &["x/a", "x/b"]),
        (ClusterApi::new().in_namespace("y").names(Names::Short), &["a"]),
        (ClusterApi::new().labels("stage=test"), &["x/b"]),
        (ClusterApi::new().labels(""), &["x/a", "x/b", "y/a"]),
    ] {
        let mut reader = host.read(provider.clone());
        reader.until("synced").await;
        assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), names, "{provider:?}");
    }
    let mut reader = host.read(ClusterApi::new().names(Names::Short));
    reader.until("synced").await;
    assert_eq!(reader.clusters["a"], "https://x.test/");
    assert!(
        reader.rejected["a"].contains("`y/a` claims"),
        "{:?}",
        reader.rejected
    );
}
