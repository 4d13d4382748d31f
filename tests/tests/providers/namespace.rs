//! The provider `namespace`: namespaces of the host, whose objects are in them and nowhere else.
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
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const LABEL: &str = "mcrt.dev/tenant-of";
/// What the kit's controller does in the clusters, it does as the same user.
const WORK: &str = "
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: work}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch, create, patch]}]
";

struct Tenants {
    site: Site,
    host: Access,
}

impl Tenants {
    fn api(&self) -> Api<Namespace> {
        Api::all(self.site.host_client())
    }

    async fn create(&self, name: &str, labels: Value) {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}}));
        let created = self
            .api()
            .create(&PostParams::default(), &namespace.unwrap())
            .await;
        created.unwrap();
    }

    async fn change(&self, key: &str, change: Value) {
        let (name, params) = (self.cluster(key), PatchParams::default());
        self.api()
            .patch(&name, &params, &Patch::Merge(change))
            .await
            .unwrap();
    }

    /// Returns when it is gone. Where no controller empties namespaces, this does what that would.
    async fn delete(&self, name: &str) {
        let api = self.api();
        api.delete(name, &DeleteParams::default()).await.unwrap();
        let Some(mut namespace) = api.get_opt(name).await.unwrap() else {
            return;
        };
        let objects = Api::<ConfigMap>::namespaced(self.site.host_client(), name);
        let (delete, all) = (DeleteParams::default(), ListParams::default());
        objects.delete_collection(&delete, &all).await.unwrap();
        namespace.spec = Some(serde_json::from_value(json!({"finalizers": []})).unwrap());
        // Somebody else may have done it.
        let _ = api
            .replace_subresource("finalize", name, &PostParams::default(), &namespace)
            .await;
        let gone = async {
            while api.get_opt(name).await.unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(self.site.limit(), gone).await.unwrap();
    }
}

impl Adapter for Tenants {
    const NAME: &'static str = "namespace";

    async fn begin(site: &Site) -> Self {
        let own = site.namespace().await;
        let roles = [
            include_str!("../../../mcrt/src/provider/namespace/rbac.yaml"),
            WORK,
        ]
        .concat();
        Self {
            host: site.host_as(&roles, &own).await,
            site: site.clone(),
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Namespaces::new().labels(format!("{LABEL}={}", self.site.id())))
    }

    fn host(&self) -> Option<Access> {
        Some(self.host.clone())
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        Some(match verb {
            Verb::AddSilent | Verb::PointElsewhere | Verb::Rotate => {
                "every namespace is reached as the host is"
            }
            Verb::Spoil | Verb::AddSpoilt | Verb::Unready => {
                "a namespace says nothing but its name and labels"
            }
            Verb::Claim => "a host has one namespace of a name",
            Verb::OddNames => "namespaces are named by DNS labels",
            _ => return None,
        })
    }

    fn cluster(&self, key: &str) -> String {
        format!("{}-{key}", self.site.id())
    }

    fn spot(&self, key: &str, _: &Member) -> Spot {
        Spot {
            client: self.site.host_client(),
            namespace: self.cluster(key),
        }
    }

    async fn add(&self, key: &str, _: &Reach) {
        self.create(&self.cluster(key), json!({LABEL: self.site.id()}))
            .await;
    }

    async fn remove(&self, key: &str) {
        self.delete(&self.cluster(key)).await;
    }

    async fn touch(&self, key: &str) {
        let note = json!({"metadata": {"annotations": {"mcrt.dev/note": "does not matter"}}});
        self.change(key, note).await;
    }

    async fn noise(&self) {
        // Asked for again, it is there.
        self.site.create_namespace(&self.cluster("noise")).await;
    }

    async fn unselect(&self, key: &str) {
        self.change(key, json!({"metadata": {"labels": {LABEL: null}}}))
            .await;
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.remove(key).await;
        self.add(key, reach).await;
    }

    async fn leave(&self, key: &str) {
        let held = json!({"metadata": {"finalizers": ["mcrt.dev/held-by-a-test"]}});
        self.change(key, held).await;
        let deleted = self
            .api()
            .delete(&self.cluster(key), &DeleteParams::default())
            .await;
        deleted.unwrap();
    }
}

/// Without a socket, in paused time.
mod simulated {
    use super::{Site, Tenants};

    mcrt::conformance!(Tenants, Site::simulated(), paused);
}

#[test]
fn on_real_api_servers() {
    crate::sites::real::<Tenants>();
}
