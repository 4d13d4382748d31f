//! The provider `cluster-profile`: profiles in a namespace of the host, read by who may do nothing else, and a
//! credential program that runs.
use crate::described::Objects;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use mcrt::{
    Provider,
    apis::cluster_profile::ClusterProfile,
    connect::{Access, Policy},
    provider::cluster_profile::ProviderFile,
    providers::ClusterProfiles,
    testing::conformance::{Adapter, Reach, Site, Verb},
};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// What the program is called, for the operator and in the profiles.
const WAY: &str = "tokens";
/// Prints the token in the file that is called like the cluster of the profile's extension.
const PROGRAM: &str = r#"
name=$(printf %s "$KUBERNETES_EXEC_INFO" | sed 's/.*"clusterName":"\([^"]*\)".*/\1/')
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' \
  "$(cat "$TOKENS/$name")"
"#;

struct Profiles {
    objects: Objects,
    host: Access,
    namespace: String,
    /// A file for each cluster.
    tokens: tempfile::TempDir,
    noise: AtomicUsize,
}

impl Profiles {
    /// Where the cluster is, as its profile says, once the program knows the token.
    fn ways(&self, key: &str, reach: &Reach) -> Value {
        let beside = self.tokens.path().join(format!(".{key}"));
        std::fs::write(&beside, reach.token()).unwrap();
        std::fs::rename(beside, self.tokens.path().join(key)).unwrap();
        let config = json!({"name": "client.authentication.k8s.io/exec", "extension": {"clusterName": key}});
        let ca = ByteString(reach.ca_pem().as_bytes().to_vec());
        let cluster =
            json!({"server": reach.server(), "certificate-authority-data": ca, "extensions": [config]});
        json!([{"name": WAY, "cluster": cluster}])
    }

    async fn create(&self, key: &str, ways: Value) {
        let profile = json!({
            "metadata": {"name": key, "labels": {"mcrt.dev/selected": "yes"}},
            "spec": {"clusterManager": {"name": "conformance"}},
            "status": {"conditions": [healthy(true)], "accessProviders": ways},
        });
        self.objects
            .create::<ClusterProfile>(&self.namespace, profile)
            .await;
    }

    async fn status(&self, key: &str, status: Value) {
        self.objects
            .status::<ClusterProfile>(&self.namespace, key, status)
            .await;
    }
}

fn healthy(is_healthy: bool) -> Value {
    let status = if is_healthy { "True" } else { "False" };
    json!({"type": "ControlPlaneHealthy", "status": status, "reason": "Conformance", "message": "",
           "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

impl Adapter for Profiles {
    const NAME: &'static str = "cluster-profile";

    async fn begin(site: &Site) -> Self {
        let namespace = site.namespace().await;
        site.install(&ClusterProfile::crd()).await;
        let roles = include_str!("../../../mcrt/src/provider/cluster_profile/rbac.yaml");
        // The roles for what is not used here are not given.
        let least = roles.split("\n---\n").next().unwrap();
        Self {
            objects: Objects::of(site),
            host: site.host_as(least, &namespace).await,
            namespace,
            tokens: tempfile::tempdir().unwrap(),
            noise: AtomicUsize::new(0),
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": ["-c", PROGRAM],
            "env": [{"name": "TOKENS", "value": self.tokens.path()}], "provideClusterInfo": true,
        });
        let file = json!({"providers": [{"name": WAY, "execConfig": exec}]}).to_string();
        let provider = ClusterProfiles::new(ProviderFile::from_json(&file).unwrap())
            .in_namespace(&self.namespace)
            .labels("mcrt.dev/selected=yes")
            .policy(Policy::strict().allow_local_servers());
        Arc::new(provider)
    }

    fn host(&self) -> Option<Access> {
        Some(self.host.clone())
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        (verb == Verb::Claim).then_some("a name is a namespace and a name, of which there is one object")
    }

    fn cluster(&self, key: &str) -> String {
        format!("{}/{key}", self.namespace)
    }

    async fn add(&self, key: &str, reach: &Reach) {
        self.create(key, self.ways(key, reach)).await;
    }

    async fn remove(&self, key: &str) {
        self.objects.delete::<ClusterProfile>(&self.namespace, key).await;
    }

    async fn touch(&self, key: &str) {
        self.objects
            .annotate::<ClusterProfile>(&self.namespace, key)
            .await;
    }

    async fn point_elsewhere(&self, key: &str, reach: &Reach) {
        self.status(key, json!({"accessProviders": self.ways(key, reach)}))
            .await;
    }

    async fn rotate(&self, key: &str, reach: &Reach) {
        // The profile says nothing else: the program does.
        self.ways(key, reach);
    }

    async fn spoil(&self, key: &str) {
        self.status(
            key,
            json!({"accessProviders": [{"name": WAY, "cluster": {"server": ""}}]}),
        )
        .await;
    }

    async fn add_spoilt(&self, key: &str) {
        let unknown = json!([{"name": "unknown", "cluster": {"server": "https://unknown.test"}}]);
        self.create(key, unknown).await;
    }

    async fn noise(&self) {
        let name = format!("noise-{}", self.noise.fetch_add(1, Ordering::Relaxed));
        let metadata = json!({"name": name});
        let unlabelled = json!({"metadata": metadata, "spec": {"clusterManager": {"name": "conformance"}}});
        self.objects
            .create::<ClusterProfile>(&self.namespace, unlabelled)
            .await;
        let map = json!({"metadata": {"name": name, "labels": {"mcrt.dev/selected": "yes"}}});
        self.objects.create::<ConfigMap>(&self.namespace, map).await;
    }

    async fn unselect(&self, key: &str) {
        let change = json!({"metadata": {"labels": {"mcrt.dev/selected": null}}});
        self.objects
            .patch::<ClusterProfile>(&self.namespace, key, change)
            .await;
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.remove(key).await;
        self.add(key, reach).await;
    }

    async fn unready(&self, key: &str, is_unready: bool) {
        self.status(key, json!({"conditions": [healthy(!is_unready)]}))
            .await;
    }

    async fn leave(&self, key: &str) {
        self.objects.leave::<ClusterProfile>(&self.namespace, key).await;
    }

    fn odd_keys(&self) -> Vec<String> {
        ["a.b-c.example.com".to_owned(), "x".repeat(200)].into()
    }
}

#[test]
fn on_the_simulated_fleet() {
    crate::sites::served::<Profiles>();
}

#[test]
fn on_real_api_servers() {
    crate::sites::real::<Profiles>();
}
