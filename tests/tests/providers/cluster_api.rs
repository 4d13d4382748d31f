//! The provider `cluster-api`: Clusters and Secrets in two namespaces of the host, read by who may do nothing else.
use crate::described::Objects;
use k8s_openapi::api::core::v1::Secret;
use mcrt::{
    Provider,
    apis::cluster_api::Cluster,
    connect::{Access, Policy},
    provider::host::Names,
    providers::ClusterApi,
    testing::conformance::{Adapter, Reach, Site, Verb},
};
use serde_json::{Value, json};
use std::sync::Arc;

const LABEL: &str = "mcrt.dev/member";

struct Clusters {
    objects: Objects,
    host: Access,
    namespace: String,
    other: String,
}

fn secret_of(cluster: &str) -> String {
    format!("{cluster}-kubeconfig")
}

fn initialized() -> Value {
    json!({"initialization": {"infrastructureProvisioned": true, "controlPlaneInitialized": true}})
}

impl Clusters {
    async fn write(&self, namespace: &str, name: &str, kubeconfig: &str) {
        self.write_secret(namespace, name, kubeconfig).await;
        let metadata = json!({"name": name, "labels": {LABEL: "yes"}});
        let cluster = json!({"metadata": metadata, "spec": {"paused": false}, "status": initialized()});
        self.objects.create::<Cluster>(namespace, cluster).await;
    }

    async fn write_secret(&self, namespace: &str, cluster: &str, kubeconfig: &str) {
        let labels = json!({"cluster.x-k8s.io/cluster-name": cluster});
        let secret = json!({
            "metadata": {"name": secret_of(cluster), "labels": labels},
            "type": "cluster.x-k8s.io/secret",
            "stringData": {"value": kubeconfig},
        });
        self.objects.create::<Secret>(namespace, secret).await;
    }

    async fn rewrite(&self, key: &str, kubeconfig: &str) {
        let data = json!({"stringData": {"value": kubeconfig}});
        let secret = secret_of(key);
        self.objects.patch::<Secret>(&self.namespace, &secret, data).await;
    }

    async fn change(&self, key: &str, change: Value) {
        self.objects.patch::<Cluster>(&self.namespace, key, change).await;
    }
}

impl Adapter for Clusters {
    const NAME: &'static str = "cluster-api";

    async fn begin(site: &Site) -> Self {
        site.install(&Cluster::crd()).await;
        let namespace = site.namespace().await;
        let other = format!("{namespace}-other");
        site.create_namespace(&other).await;
        let roles = include_str!("../../../mcrt/src/provider/cluster_api/rbac.yaml");
        Self {
            objects: Objects::of(site),
            host: site.host_as(roles, &namespace).await,
            namespace,
            other,
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        let provider = ClusterApi::new()
            .in_namespace(&self.namespace)
            .in_namespace(&self.other)
            .labels(LABEL)
            .names(Names::Short)
            .leave_when_paused()
            .policy(Policy::strict().allow_local_servers());
        Arc::new(provider)
    }

    fn host(&self) -> Option<Access> {
        Some(self.host.clone())
    }

    fn lacks(_: Verb) -> Option<&'static str> {
        None
    }

    async fn add(&self, key: &str, reach: &Reach) {
        self.write(&self.namespace, key, &reach.kubeconfig("c")).await;
    }

    async fn remove(&self, key: &str) {
        self.objects.delete::<Cluster>(&self.namespace, key).await;
        self.objects
            .delete::<Secret>(&self.namespace, &secret_of(key))
            .await;
    }

    async fn touch(&self, key: &str) {
        self.objects.annotate::<Cluster>(&self.namespace, key).await;
        self.objects
            .annotate::<Secret>(&self.namespace, &secret_of(key))
            .await;
    }

    async fn point_elsewhere(&self, key: &str, reach: &Reach) {
        self.rewrite(key, &reach.kubeconfig("c")).await;
    }

    async fn rotate(&self, key: &str, reach: &Reach) {
        self.rewrite(key, &reach.kubeconfig("c")).await;
    }

    async fn spoil(&self, key: &str) {
        self.rewrite(key, "{clusters: [").await;
    }

    async fn add_spoilt(&self, key: &str) {
        self.write(&self.namespace, key, "").await;
    }

    async fn noise(&self) {
        self.write_secret(&self.namespace, "nobody", "{}").await;
        let metadata = json!({"name": "unborn", "labels": {LABEL: "yes"}});
        let unborn = json!({"metadata": metadata, "spec": {}, "status": {"phase": "Provisioning"}});
        self.objects.create::<Cluster>(&self.namespace, unborn).await;
        let unlabelled = json!({"metadata": {"name": "unlabelled"}, "spec": {}, "status": initialized()});
        self.objects.create::<Cluster>(&self.namespace, unlabelled).await;
    }

    async fn unselect(&self, key: &str) {
        self.change(key, json!({"metadata": {"labels": {LABEL: null}}}))
            .await;
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.remove(key).await;
        self.add(key, reach).await;
    }

    async fn claim(&self, key: &str, reach: &Reach) {
        self.write(&self.other, key, &reach.kubeconfig("c")).await;
    }

    async fn unready(&self, key: &str, is_unready: bool) {
        self.change(key, json!({"spec": {"paused": is_unready}})).await;
    }

    async fn leave(&self, key: &str) {
        self.objects.leave::<Cluster>(&self.namespace, key).await;
    }

    fn odd_keys(&self) -> Vec<String> {
        // One whose Secret is called like that of nobody, and one as long as its label can say.
        ["one-kubeconfig".to_owned(), "x".repeat(63)].into()
    }
}

#[test]
fn on_a_simulated_host() {
    crate::sites::served::<Clusters>();
}

#[test]
fn on_real_api_servers() {
    crate::sites::real::<Clusters>();
}
