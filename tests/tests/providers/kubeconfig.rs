//! The provider `kubeconfig`: Secrets in two namespaces of the host, read by who may do nothing else.
use crate::described::Objects;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::{
    Provider,
    connect::{Access, Policy},
    provider::host::Names,
    providers::Kubeconfig,
    testing::conformance::{Adapter, Reach, Site, Verb},
};
use serde_json::{Value, json};
use std::sync::Arc;

const LABEL: &str = "sigs.k8s.io/multicluster-runtime-kubeconfig";

struct Secrets {
    objects: Objects,
    host: Access,
    namespace: String,
    other: String,
}

impl Secrets {
    async fn write(&self, namespace: &str, name: &str, data: Value) {
        let metadata = json!({"name": name, "labels": {LABEL: "true"}});
        let secret = json!({"metadata": metadata, "stringData": data});
        self.objects.create::<Secret>(namespace, secret).await;
    }

    async fn rewrite(&self, name: &str, kubeconfig: &str) {
        let data = json!({"stringData": {"kubeconfig": kubeconfig}});
        self.objects.patch::<Secret>(&self.namespace, name, data).await;
    }
}

impl Adapter for Secrets {
    const NAME: &'static str = "kubeconfig";

    async fn begin(site: &Site) -> Self {
        let namespace = site.namespace().await;
        let other = format!("{namespace}-other");
        site.create_namespace(&other).await;
        let roles = include_str!("../../../mcrt/src/provider/kubeconfig/rbac.yaml");
        Self {
            objects: Objects::of(site),
            host: site.host_as(roles, &namespace).await,
            namespace,
            other,
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        let provider = Kubeconfig::new()
            .in_namespace(&self.namespace)
            .in_namespace(&self.other)
            .names(Names::Short)
            .policy(Policy::strict().allow_local_servers());
        Arc::new(provider)
    }

    fn host(&self) -> Option<Access> {
        Some(self.host.clone())
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        (verb == Verb::Unready)
            .then_some("a Secret is there or it is not: the fleet finds out whether the cluster is well")
    }

    async fn add(&self, key: &str, reach: &Reach) {
        let data = json!({"kubeconfig": reach.kubeconfig("c")});
        self.write(&self.namespace, key, data).await;
    }

    async fn remove(&self, key: &str) {
        self.objects.delete::<Secret>(&self.namespace, key).await;
    }

    async fn touch(&self, key: &str) {
        self.objects.annotate::<Secret>(&self.namespace, key).await;
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
        self.write(&self.namespace, key, json!({"kubeconfig": ""})).await;
    }

    async fn noise(&self) {
        let unlabelled = json!({"metadata": {"name": "noise"}, "stringData": {"kubeconfig": "{}"}});
        self.objects.create::<Secret>(&self.namespace, unlabelled).await;
        let unlike = json!({"metadata": {"name": "unlike", "labels": {LABEL: "false"}}});
        self.objects.create::<Secret>(&self.namespace, unlike).await;
        let map = json!({"metadata": {"name": "noise", "labels": {LABEL: "true"}}});
        self.objects.create::<ConfigMap>(&self.namespace, map).await;
    }

    async fn unselect(&self, key: &str) {
        let change = json!({"metadata": {"labels": {LABEL: null}}});
        self.objects.patch::<Secret>(&self.namespace, key, change).await;
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.remove(key).await;
        self.add(key, reach).await;
    }

    async fn claim(&self, key: &str, reach: &Reach) {
        let data = json!({"kubeconfig": reach.kubeconfig("c")});
        self.write(&self.other, key, data).await;
    }

    async fn leave(&self, key: &str) {
        self.objects.leave::<Secret>(&self.namespace, key).await;
    }

    fn odd_keys(&self) -> Vec<String> {
        ["a.b-c.example.com".to_owned(), "x".repeat(253)].into()
    }
}

#[test]
fn on_a_simulated_host() {
    crate::sites::served::<Secrets>();
}

#[test]
fn on_real_api_servers() {
    crate::sites::real::<Secrets>();
}
