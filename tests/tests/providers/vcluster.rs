//! The provider of `mcrt-vcluster`: Secrets in two namespaces of the host, read by who may do nothing else.
use crate::described::Objects;
use k8s_openapi::api::core::v1::Secret;
use mcrt::{
    Provider,
    connect::{Access, Policy},
    provider::host::Names,
    testing::conformance::{Adapter, Reach, Site, Verb},
};
use mcrt_vcluster::{Address, Vcluster};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

struct Vclusters {
    objects: Objects,
    host: Access,
    namespace: String,
    other: String,
    /// Where each is: its kubeconfig does not say.
    servers: Arc<Mutex<BTreeMap<(String, String), String>>>,
}

fn secret_of(vcluster: &str) -> String {
    format!("vc-{vcluster}")
}

impl Vclusters {
    async fn write(&self, namespace: &str, name: &str, data: Value) {
        let metadata = json!({"name": secret_of(name), "labels": {"app": "vcluster", "vcluster-name": name}});
        let secret = json!({"metadata": metadata, "stringData": data});
        self.objects.create::<Secret>(namespace, secret).await;
    }

    async fn rewrite(&self, key: &str, kubeconfig: &str) {
        let data = json!({"stringData": {"config": kubeconfig}});
        let secret = secret_of(key);
        self.objects.patch::<Secret>(&self.namespace, &secret, data).await;
    }

    /// As a vcluster writes it: for whoever forwards a port.
    fn kubeconfig(&self, namespace: &str, key: &str, reach: &Reach) -> String {
        let place = (namespace.to_owned(), key.to_owned());
        self.servers.lock().insert(place, reach.server().to_owned());
        reach
            .kubeconfig("c")
            .replace(reach.server(), "https://localhost:8443")
    }
}

impl Adapter for Vclusters {
    const NAME: &'static str = "vcluster";

    async fn begin(site: &Site) -> Self {
        let namespace = site.namespace().await;
        let other = format!("{namespace}-other");
        site.create_namespace(&other).await;
        let roles = include_str!("../../../mcrt-vcluster/rbac.yaml");
        Self {
            objects: Objects::of(site),
            host: site.host_as(roles, &namespace).await,
            namespace,
            other,
            servers: Arc::default(),
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        let servers = Arc::clone(&self.servers);
        let address = Address::of(move |namespace, name| {
            let place = (namespace.to_owned(), name.to_owned());
            servers.lock().get(&place).cloned().unwrap_or_default()
        });
        let provider = Vcluster::new()
            .in_namespace(&self.namespace)
            .in_namespace(&self.other)
            .names(Names::Short)
            .address(address)
            .policy(Policy::strict().allow_local_servers());
        Arc::new(provider)
    }

    fn host(&self) -> Option<Access> {
        Some(self.host.clone())
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        (verb == Verb::Unready)
            .then_some("a vcluster that is paused keeps its Secret: it is a cluster that does not answer")
    }

    async fn add(&self, key: &str, reach: &Reach) {
        let data = json!({"config": self.kubeconfig(&self.namespace, key, reach)});
        self.write(&self.namespace, key, data).await;
    }

    async fn remove(&self, key: &str) {
        self.objects
            .delete::<Secret>(&self.namespace, &secret_of(key))
            .await;
    }

    async fn touch(&self, key: &str) {
        self.objects
            .annotate::<Secret>(&self.namespace, &secret_of(key))
            .await;
    }

    async fn point_elsewhere(&self, key: &str, reach: &Reach) {
        let kubeconfig = self.kubeconfig(&self.namespace, key, reach);
        self.rewrite(key, &kubeconfig).await;
    }

    async fn rotate(&self, key: &str, reach: &Reach) {
        self.point_elsewhere(key, reach).await;
    }

    async fn spoil(&self, key: &str) {
        self.rewrite(key, "{clusters: [").await;
    }

    async fn add_spoilt(&self, key: &str) {
        self.write(&self.namespace, key, json!({"token": "t"})).await;
    }

    async fn noise(&self) {
        let values = json!({"config.yaml": "controlPlane: {}"});
        self.write(&self.namespace, "config-one", values).await;
        let unlabelled = json!({"metadata": {"name": "vc-noise"}, "stringData": {"config": "{}"}});
        self.objects.create::<Secret>(&self.namespace, unlabelled).await;
    }

    async fn unselect(&self, key: &str) {
        let change = json!({"metadata": {"labels": {"app": null}}});
        self.objects
            .patch::<Secret>(&self.namespace, &secret_of(key), change)
            .await;
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.remove(key).await;
        self.add(key, reach).await;
    }

    async fn claim(&self, key: &str, reach: &Reach) {
        let data = json!({"config": self.kubeconfig(&self.other, key, reach)});
        self.write(&self.other, key, data).await;
    }

    async fn leave(&self, key: &str) {
        self.objects
            .leave::<Secret>(&self.namespace, &secret_of(key))
            .await;
    }

    fn odd_keys(&self) -> Vec<String> {
        ["config-one".to_owned(), "x".repeat(63)].into()
    }
}

#[test]
fn on_a_simulated_host() {
    crate::sites::served::<Vclusters>();
}

#[test]
fn on_real_api_servers() {
    crate::sites::real::<Vclusters>();
}
