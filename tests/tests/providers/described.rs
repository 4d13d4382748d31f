//! Objects of the host that describe clusters, as an adapter writes them.
use kube::{
    Api, Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject},
};
use mcrt::testing::conformance::Site;
use serde_json::{Value, json};
use std::time::Duration;

/// The objects of a site's host, of whatever kind.
pub(crate) struct Objects {
    site: Site,
}

impl Objects {
    pub(crate) fn of(site: &Site) -> Self {
        Self { site: site.clone() }
    }

    fn api<K: Resource<DynamicType = ()>>(&self, namespace: &str) -> Api<DynamicObject> {
        let kind = ApiResource::erase::<K>(&());
        Api::namespaced_with(self.site.host_client(), namespace, &kind)
    }

    pub(crate) async fn create<K: Resource<DynamicType = ()>>(&self, namespace: &str, object: Value) {
        let status = object.get("status").cloned();
        let mut object = object;
        object["apiVersion"] = K::api_version(&()).into();
        object["kind"] = K::kind(&()).into();
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let name = object.metadata.name.clone().unwrap();
        let api = self.api::<K>(namespace);
        match api.create(&PostParams::default(), &object).await {
            // What is no description may be there already.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            created => drop(created.unwrap()),
        }
        if let Some(status) = status {
            self.status::<K>(namespace, &name, status).await;
        }
    }

    pub(crate) async fn patch<K: Resource<DynamicType = ()>>(
        &self,
        namespace: &str,
        name: &str,
        change: Value,
    ) {
        let api = self.api::<K>(namespace);
        api.patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await
            .unwrap();
    }

    pub(crate) async fn status<K: Resource<DynamicType = ()>>(
        &self,
        namespace: &str,
        name: &str,
        status: Value,
    ) {
        let api = self.api::<K>(namespace);
        let change = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &change)
            .await
            .unwrap();
    }

    /// Returns when it is gone, unless a finalizer holds it.
    pub(crate) async fn delete<K: Resource<DynamicType = ()>>(&self, namespace: &str, name: &str) {
        let api = self.api::<K>(namespace);
        api.delete(name, &DeleteParams::default()).await.unwrap();
        let gone = async {
            while let Some(object) = api.get_opt(name).await.unwrap()
                && object
                    .metadata
                    .finalizers
                    .is_none_or(|finalizers| finalizers.is_empty())
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(self.site.limit(), gone).await.unwrap();
    }

    /// Begins to delete an object that stays.
    pub(crate) async fn leave<K: Resource<DynamicType = ()>>(&self, namespace: &str, name: &str) {
        let held = json!({"metadata": {"finalizers": ["mcrt.dev/held-by-a-test"]}});
        self.patch::<K>(namespace, name, held).await;
        self.delete::<K>(namespace, name).await;
    }

    pub(crate) async fn annotate<K: Resource<DynamicType = ()>>(&self, namespace: &str, name: &str) {
        let note = json!({"metadata": {"annotations": {"mcrt.dev/note": "does not matter"}}});
        self.patch::<K>(namespace, name, note).await;
    }
}
