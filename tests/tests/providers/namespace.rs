//! The provider `namespace`: every cluster is a namespace of the host, whatever the members of the site are.
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use mcrt::{
    Provider,
    connect::Access,
    providers::Namespaces,
    testing::conformance::{Adapter, Member, Reach, Site, Spot, Verb},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};

/// What tells the namespaces of one site.
const LABEL: &str = "mcrt.dev/site";

/// What the controller over the clusters needs, beside what the provider does.
const CONTROLLER: &str = "
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: controller}
rules:
  - apiGroups: ['']
    resources: [configmaps]
    verbs: [get, list, watch, create, update, patch]
";

struct Slices {
    site: Site,
    access: Access,
}

impl Slices {
    fn name(&self, key: &str) -> String {
        format!("{}-{key}", self.site.id())
    }

    fn namespaces(&self) -> Api<Namespace> {
        Api::all(self.site.host_client())
    }

    async fn label(&self, key: &str, value: Option<&str>) {
        let patch = Patch::Merge(json!({"metadata": {"labels": {LABEL: value}}}));
        let patched = self
            .namespaces()
            .patch(&self.name(key), &PatchParams::default(), &patch)
            .await;
        patched.unwrap();
    }

    /// Ends a namespace whose controllers may not run: what is in it goes first.
    async fn finish(&self, key: &str) {
        let (name, namespaces) = (self.name(key), self.namespaces());
        let maps: Api<ConfigMap> = Api::namespaced(self.site.host_client(), &name);
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let over = async {
            while let Some(mut namespace) = namespaces.get_opt(&name).await.unwrap() {
                // The namespace's controller may do all of this at the same time: what fails is done again.
                for map in maps.list(&ListParams::default()).await.unwrap() {
                    let map = map.metadata.name.unwrap();
                    let _ = maps.patch(&map, &PatchParams::default(), &free).await;
                    let _ = maps.delete(&map, &DeleteParams::default()).await;
                }
                namespace.spec.get_or_insert_default().finalizers = None;
                let _ = namespaces
                    .replace_subresource("finalize", &name, &PostParams::default(), &namespace)
                    .await;
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(Duration::from_secs(30), over).await.unwrap();
    }
}

impl Adapter for Slices {
    const NAME: &'static str = "namespace";

    async fn begin(site: &Site) -> Self {
        let roles = [
            include_str!("../../../mcrt/src/provider/namespace/rbac.yaml"),
            CONTROLLER,
        ]
        .concat();
        let own = site.namespace().await;
        Self {
            access: site.host_as(&roles, &own).await,
            site: site.clone(),
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Namespaces::new().labels(format!("{LABEL}={}", self.site.id())))
    }

    fn host(&self) -> Option<Access> {
        Some(self.access.clone())
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        Some(match verb {
            Verb::AddSilent | Verb::PointElsewhere | Verb::Rotate => {
                "a namespace is reached as the host is: by its address, with its credentials"
            }
            Verb::Spoil | Verb::AddSpoilt => "there is nothing in a namespace that could be wrong",
            Verb::Claim => "the host has one namespace of a name",
            Verb::Unready => "a namespace is there, or it is terminating",
            Verb::OddNames => "the name of a namespace is a DNS label",
            _ => return None,
        })
    }

    fn cluster(&self, key: &str) -> String {
        self.name(key)
    }

    fn spot(&self, key: &str, _: &Member) -> Spot {
        Spot {
            client: self.site.host_client(),
            namespace: self.name(key),
        }
    }

    async fn add(&self, key: &str, _: &Reach) {
        self.finish_if_terminating(key).await;
        let object = json!({"metadata": {"name": self.name(key), "labels": {LABEL: self.site.id()}}});
        let namespace: Namespace = serde_json::from_value(object).unwrap();
        match self.namespaces().create(&PostParams::default(), &namespace).await {
            // It was unselected before.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                self.label(key, Some(self.site.id())).await
            }
            created => drop(created.unwrap()),
        }
    }

    async fn remove(&self, key: &str) {
        let (name, namespaces) = (self.name(key), self.namespaces());
        drop(namespaces.delete(&name, &DeleteParams::default()).await.unwrap());
    }

    async fn touch(&self, key: &str) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"mcrt.dev/touched": "yes"}}}));
        let patched = self
            .namespaces()
            .patch(&self.name(key), &PatchParams::default(), &patch)
            .await;
        patched.unwrap();
    }

    async fn noise(&self) {
        self.site.create_namespace(&self.name("noise")).await;
    }

    async fn unselect(&self, key: &str) {
        self.label(key, None).await;
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.remove(key).await;
        self.finish(key).await;
        self.add(key, reach).await;
    }

    async fn leave(&self, key: &str) {
        let maps: Api<ConfigMap> = Api::namespaced(self.site.host_client(), &self.name(key));
        let object = json!({"metadata": {"name": "held", "finalizers": ["mcrt.dev/held"]}});
        let map: ConfigMap = serde_json::from_value(object).unwrap();
        maps.create(&PostParams::default(), &map).await.unwrap();
        self.remove(key).await;
    }
}

impl Slices {
    async fn finish_if_terminating(&self, key: &str) {
        let found = self.namespaces().get_opt(&self.name(key)).await.unwrap();
        if found.is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_some()) {
            self.finish(key).await;
        }
    }
}

#[test]
fn on_the_simulated_fleet() {
    crate::sites::served::<Slices>();
}

#[test]
fn on_real_api_servers() {
    crate::sites::real::<Slices>();
}
