//! vclusters of a simulated host, as several releases write them.
use crate::{Address, Vcluster};
use futures::{StreamExt, stream::BoxStream};
use mcrt::{
    CacheSettings, Provider,
    connect::{Access, Policy, TransportSettings},
    provider::{Change, ClusterSpec, ProviderContext, host::Names},
};
use mcrt_sim::{Fleet, Server};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Never waited for in full.
const SOON: Duration = Duration::from_mins(2);

fn kubeconfig(server: &str, token: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: kubernetes-super-admin@kubernetes\n\
         clusters: [{{name: kubernetes, cluster: {{server: '{server}'}}}}]\n\
         contexts: [{{name: kubernetes-super-admin@kubernetes, context: {{cluster: kubernetes, user: kubernetes-super-admin}}}}]\n\
         users: [{{name: kubernetes-super-admin, user: {{token: {token}}}}}]\n"
    )
}

fn secret(namespace: &str, name: &str, data: &Value) -> Value {
    let vcluster = name.trim_start_matches("vc-");
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": "vcluster", "vcluster-name": vcluster}},
        "stringData": data,
    })
}

fn written(namespace: &str, name: &str, server: &str) -> Value {
    secret(
        namespace,
        name,
        &json!({"config": kubeconfig(server, "hunter2"), "token": "hunter2"}),
    )
}

fn unlabelled(mut secret: Value) -> Value {
    secret["metadata"]["labels"] = json!({});
    secret
}

fn put(host: &Server, object: Value) {
    if host.replace(object.clone()).is_err() {
        host.create(object).unwrap();
    }
}

fn host() -> Server {
    let host = Fleet::new().host();
    for namespace in ["team-a", "team-b"] {
        put(
            &host,
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
        );
    }
    host
}

struct Reader(BoxStream<'static, Change>);

/// What a stream says before it has synced.
#[derive(Default)]
struct Start {
    servers: BTreeMap<String, String>,
    rejected: BTreeMap<String, String>,
}

impl Reader {
    fn of(host: &Server, provider: Vcluster) -> Self {
        let access = Access::service("host", host.service());
        let cx = ProviderContext::new(
            Some(access),
            TransportSettings::default(),
            CacheSettings::default(),
        );
        Self(Arc::new(provider).changes(cx))
    }

    async fn next(&mut self) -> Change {
        let change = tokio::time::timeout(SOON, self.0.next()).await;
        change.expect("a change comes").expect("the stream goes on")
    }

    async fn cluster(&mut self) -> ClusterSpec {
        match self.next().await {
            Change::Upsert(spec) => spec,
            other => panic!("{other:?}"),
        }
    }

    async fn start(&mut self) -> Start {
        let mut start = Start::default();
        loop {
            match self.next().await {
                Change::Upsert(spec) => {
                    start.servers.insert(spec.name.to_string(), spec.access.server());
                }
                Change::Rejected { name, reason } => {
                    start.rejected.insert(name.to_string(), reason);
                }
                Change::Synced => return start,
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_on_this_machine_becomes_the_service_and_others_stay() {
    let host = host();
    put(&host, written("team-a", "vc-db", "https://localhost:8443"));
    put(&host, written("team-b", "vc-db", "https://db.example.com"));
    let start = Reader::of(&host, Vcluster::new()).start().await;
    assert!(start.rejected.is_empty(), "{:?}", start.rejected);
    let servers: Vec<_> = start
        .servers
        .iter()
        .map(|(name, server)| format!("{name} {server}"))
        .collect();
    assert_eq!(
        servers,
        [
            "team-a/db https://db.team-a:443/",
            "team-b/db https://db.example.com/"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn addresses_names_and_labels_are_settable() {
    let host = host();
    let mut stage = written("team-a", "vc-db", "https://localhost:8443");
    stage["metadata"]["labels"]["stage"] = json!("test");
    put(&host, stage);
    put(&host, written("team-b", "vc-web", "https://localhost:8443"));
    let ingress = Address::of(|namespace, name| format!("https://{name}.{namespace}.example.com:8443"));
    let provider = Vcluster::default()
        .in_namespace("team-a")
        .in_namespace("team-b")
        .labels("app=vcluster,stage=test")
        .names(Names::Short)
        .address(ingress)
        .tls_server_name("localhost");
    let mut reader = Reader::of(&host, provider);
    let spec = reader.cluster().await;
    assert_eq!(
        (spec.name.as_str(), &*spec.access.server()),
        ("db", "https://db.team-a.example.com:8443/")
    );
    assert_eq!(spec.properties.labels["stage"], "test");
    assert!(matches!(reader.next().await, Change::Synced));
}

#[tokio::test(start_paused = true)]
async fn the_policy_decides_of_the_address_that_is_used() {
    let host = host();
    put(&host, written("team-a", "vc-db", "https://localhost:8443"));
    let start = Reader::of(&host, Vcluster::new().address(Address::AsWritten))
        .start()
        .await;
    let reason = &start.rejected["team-a/db"];
    assert!(reason.contains("allow_local_servers"), "{reason}");
    let plain = Address::of(|_, _| "http://db.example.com".to_owned());
    let start = Reader::of(&host, Vcluster::new().address(plain)).start().await;
    assert!(start.rejected["team-a/db"].contains("no TLS"));
    let forwarded = Vcluster::new()
        .address(Address::AsWritten)
        .policy(Policy::strict().allow_local_servers());
    let start = Reader::of(&host, forwarded).start().await;
    assert_eq!(start.servers["team-a/db"], "https://localhost:8443/");
}

#[tokio::test(start_paused = true)]
async fn what_is_called_alike_is_no_cluster() {
    let host = host();
    put(&host, written("team-a", "vc-db", "https://localhost:8443"));
    // What it was made of, a vcluster that is called like that, and what Helm and others keep.
    put(
        &host,
        secret(
            "team-a",
            "vc-config-db",
            &json!({"config.yaml": "controlPlane: {}"}),
        ),
    );
    put(&host, written("team-b", "vc-config-db", "https://localhost:8443"));
    put(
        &host,
        secret("team-a", "sh.helm.release.v1.db.v1", &json!({"release": "x"})),
    );
    put(
        &host,
        unlabelled(written("team-a", "vc-other", "https://localhost:8443")),
    );
    let start = Reader::of(&host, Vcluster::new()).start().await;
    assert_eq!(
        start.servers.keys().collect::<Vec<_>>(),
        ["team-a/db", "team-b/config-db"]
    );
    assert!(start.rejected.is_empty(), "{:?}", start.rejected);
}

#[tokio::test(start_paused = true)]
async fn older_vclusters_are_found_by_name_and_key() {
    let host = host();
    put(
        &host,
        unlabelled(written("team-a", "vc-db", "https://localhost:8443")),
    );
    put(
        &host,
        unlabelled(secret("team-a", "vc-token", &json!({"token": "hunter2"}))),
    );
    let mut other = unlabelled(written("team-a", "vc-other", "https://localhost:8443"));
    other["type"] = json!("example.com/other");
    put(&host, other);
    let provider = Vcluster::new().in_namespace("team-a").without_labels();
    let mut reader = Reader::of(&host, provider);
    let start = reader.start().await;
    assert_eq!(start.servers.keys().collect::<Vec<_>>(), ["team-a/db"]);
    assert!(start.rejected.is_empty(), "{:?}", start.rejected);
}

#[tokio::test(start_paused = true)]
async fn a_secret_comes_is_spoilt_rotated_and_goes() {
    let host = host();
    let mut reader = Reader::of(&host, Vcluster::new());
    reader.start().await;
    put(&host, secret("team-a", "vc-db", &json!({"token": "hunter2"})));
    let Change::Rejected { name, reason } = reader.next().await else {
        panic!("a reason")
    };
    assert_eq!(name.as_str(), "team-a/db");
    assert!(reason.contains("has no key `config`"), "{reason}");
    put(&host, written("team-a", "vc-db", "https://localhost:8443"));
    let first = reader.cluster().await;
    for value in ["{hunter2", "", "[]"] {
        put(&host, secret("team-a", "vc-db", &json!({"config": value})));
        match reader.next().await {
            Change::Rejected { reason, .. } => assert!(!reason.contains("hunter2"), "{reason}"),
            other => panic!("{other:?}"),
        }
        put(&host, written("team-a", "vc-db", "https://localhost:8443"));
        reader.cluster().await;
    }
    put(
        &host,
        secret(
            "team-a",
            "vc-db",
            &json!({"config": kubeconfig("https://localhost:8443", "other")}),
        ),
    );
    let rotated = reader.cluster().await;
    assert_eq!(
        (&rotated.uid, rotated.access.identity()),
        (&first.uid, first.access.identity())
    );
    assert_ne!(rotated.access.fingerprint(), first.access.fingerprint());
    host.delete("v1", "Secret", Some("team-a"), "vc-db").unwrap();
    assert!(matches!(reader.next().await, Change::Remove(_)));
}
