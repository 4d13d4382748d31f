//! Reads and writes in one cluster, of the kinds declared there.
use super::{
    context::Inner,
    engagement::Engagement,
    relations::{CachedBy, DeclaredBy},
};
use crate::{
    Error, Result,
    cache::{Cacheable, Store, WatchState},
    cluster::ObjectKey,
    fleet::Cluster,
};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
    core::{ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope, NamespaceScope},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{fmt, marker::PhantomData, sync::Arc};

/// The label that every applied object carries.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// A kind whose API server path follows from its type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be watched",
    label = "not a Kubernetes kind",
    note = "a kind implements `kube::Resource`: derive `kube::CustomResource`, or name a type of `k8s_openapi`"
)]
pub trait ApiKind:
    Resource<DynamicType = (), Scope: ApiScope> + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static
{
}
#[diagnostic::do_not_recommend]
impl<K> ApiKind for K where
    K: Resource<DynamicType = (), Scope: ApiScope>
        + Clone
        + fmt::Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// Whether objects of a kind live in namespaces.
pub trait ApiScope: Sized {
    /// Whether they do, as far as the type says: `None` for a dynamic kind.
    const NAMESPACED: Option<bool>;

    /// The API of a kind of this scope, within the namespace where that means something.
    fn api<K: Resource<Scope = Self>>(
        client: Client,
        namespace: Option<&str>,
        kind: &K::DynamicType,
    ) -> Api<K>;
}

impl ApiScope for ClusterResourceScope {
    const NAMESPACED: Option<bool> = Some(false);

    fn api<K: Resource<Scope = Self>>(client: Client, _: Option<&str>, kind: &K::DynamicType) -> Api<K> {
        Api::all_with(client, kind)
    }
}

impl ApiScope for NamespaceResourceScope {
    const NAMESPACED: Option<bool> = Some(true);

    fn api<K: Resource<Scope = Self>>(
        client: Client,
        namespace: Option<&str>,
        kind: &K::DynamicType,
    ) -> Api<K> {
        within(client, namespace, kind)
    }
}

impl ApiScope for DynamicResourceScope {
    const NAMESPACED: Option<bool> = None;

    fn api<K: Resource<Scope = Self>>(
        client: Client,
        namespace: Option<&str>,
        kind: &K::DynamicType,
    ) -> Api<K> {
        within(client, namespace, kind)
    }
}

/// The API of a kind whose objects may live in namespaces, within one if it is known.
fn within<K: Resource<Scope: NamespaceScope>>(
    client: Client,
    namespace: Option<&str>,
    kind: &K::DynamicType,
) -> Api<K> {
    let all = Api::all_with(client, kind);
    match namespace {
        Some(namespace) => all.constrain(namespace),
        None => all,
    }
}

/// One cluster as a reconcile sees it, with the kinds that the controller `C` declares on the place `S`.
pub struct ClusterContext<C, S> {
    cx: Arc<Inner>,
    engagement: Arc<Engagement>,
    namespace: Option<String>,
    types: PhantomData<fn() -> (C, S)>,
}

impl<C, S> ClusterContext<C, S> {
    pub(super) fn new(cx: Arc<Inner>, engagement: Arc<Engagement>, namespace: Option<String>) -> Self {
        Self {
            cx,
            engagement,
            namespace,
            types: PhantomData,
        }
    }

    /// The same cluster, in another namespace.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// The cluster.
    pub fn cluster(&self) -> &Cluster {
        &self.engagement.cluster
    }

    /// A client for the cluster.
    pub fn client(&self) -> Client {
        self.engagement.cluster.client()
    }

    /// kube's API of a declared kind; a namespaced kind in this context's namespace.
    pub fn api<K: DeclaredBy<C, S> + ApiKind>(&self) -> Api<K> {
        <K::Scope as ApiScope>::api(self.client(), self.namespace.as_deref(), &())
    }

    /// The store of a watched kind.
    ///
    /// # Panics
    /// If a hand-wired controller does not watch the kind in this cluster; for the others that does not compile.
    pub fn store<K: CachedBy<C, S>>(&self) -> Store<K::Stored>
    where
        K::Stored: Cacheable,
    {
        self.engagement
            .store()
            .expect("the controller's wiring declares a watch of this kind on this place")
    }

    /// An object of a watched kind from its store, in this context's namespace.
    ///
    /// # Errors
    /// [`NeverSynced`] while the store has never been told what exists: that is no empty store. One that was synced
    /// before its watch failed is read as it was left; see [`Store::state`].
    pub fn cached<K: CachedBy<C, S>>(&self, name: &str) -> Result<Option<Arc<K::Stored>>>
    where
        K::Stored: Cacheable,
    {
        let store = self.store::<K>();
        if !store.was_synced() {
            return Err(NeverSynced {
                cluster: self.cluster().to_string(),
                state: store.state(),
            }
            .into());
        }
        let namespaced = store.get(&ObjectKey {
            namespace: self.namespace.as_deref().map(Arc::from),
            name: Arc::from(name),
        });
        Ok(namespaced.or_else(|| store.get(&ObjectKey::cluster_scoped(name))))
    }

    /// Reads an object from the API server, in this context's namespace.
    ///
    /// # Errors
    /// As [`Context::get`](super::Context::get).
    pub async fn get<K: DeclaredBy<C, S> + ApiKind>(&self, name: &str) -> Result<Option<K>> {
        Ok(self.api::<K>().get_opt(name).await?)
    }

    /// Writes what the object says: see [`Context::apply`](super::Context::apply).
    ///
    /// # Errors
    /// As [`Context::apply`](super::Context::apply).
    pub async fn apply<K>(&self, object: &K) -> Result<K>
    where
        K: DeclaredBy<C, S> + ApiKind + Serialize,
    {
        let Some(name) = object.meta().name.clone() else {
            return Err(Error::give_up("an object to apply needs `metadata.name`"));
        };
        self.check_owner(object)?;
        let namespace = object.meta().namespace.clone().or_else(|| self.namespace.clone());
        let api: Api<K> = <K::Scope as ApiScope>::api(self.client(), namespace.as_deref(), &());
        let intent = intent(object, &self.cx.shared.name)?;
        let params = PatchParams::apply(&self.cx.shared.field_manager).force();
        Ok(api.patch(&name, &params, &Patch::Apply(&intent)).await?)
    }

    /// The garbage collector of another cluster would take the owner for deleted, and the object with it.
    fn check_owner(&self, object: &impl Resource) -> Result<()> {
        let Some(uid) = &self.cx.uid else { return Ok(()) };
        let owned = object
            .meta()
            .owner_references
            .iter()
            .flatten()
            .any(|owner| owner.uid == *uid);
        if owned && self.engagement.cluster != self.cx.home.cluster {
            return Err(Error::give_up(format!(
                "owner references do not cross clusters: the owner lives in `{}`, the object would go to `{}`; \
                 use a label instead",
                self.cx.home.cluster, self.engagement.cluster,
            )));
        }
        Ok(())
    }
}

impl<C, S> fmt::Debug for ClusterContext<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClusterContext").field(self.cluster()).finish()
    }
}

/// A store was read before its watch told what exists.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error("the store of cluster `{cluster}` has never been synced, its watch is {state}: {}", advice(*state))]
pub struct NeverSynced {
    /// The cluster.
    pub cluster: String,
    /// How the watch fares.
    pub state: WatchState,
}

/// What to do about a store in this state.
fn advice(state: WatchState) -> &'static str {
    match state {
        WatchState::Absent => "the cluster does not serve the kind; install its definition there",
        WatchState::Forbidden => "the cluster refuses to list or watch the kind; grant both verbs",
        WatchState::Closed => "the cluster has left",
        WatchState::Idle | WatchState::Syncing | WatchState::Synced => "wait, or read live with `get`",
    }
}

/// What is sent: the object, named in full, without what only the server writes.
fn intent<K: Resource<DynamicType = ()> + Serialize>(object: &K, controller: &str) -> Result<Value> {
    let mut intent = serde_json::to_value(object)?;
    intent["apiVersion"] = Value::from(K::api_version(&()));
    intent["kind"] = Value::from(K::kind(&()));
    if let Some(meta) = intent["metadata"].as_object_mut() {
        for written_by_server in [
            "managedFields",
            "resourceVersion",
            "uid",
            "creationTimestamp",
            "generation",
        ] {
            meta.remove(written_by_server);
        }
        let labels = meta
            .entry("labels")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(labels) = labels.as_object_mut() {
            labels
                .entry(MANAGED_BY)
                .or_insert_with(|| Value::from(controller));
        }
    }
    Ok(intent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_read_says_why_and_what_to_do() {
        let said = |state| {
            let cluster = "a".to_owned();
            NeverSynced { cluster, state }.to_string()
        };
        for (state, expected) in [
            (WatchState::Absent, "does not serve the kind"),
            (WatchState::Forbidden, "grant both verbs"),
            (WatchState::Syncing, "wait, or read live"),
        ] {
            assert!(said(state).contains(expected), "{}", said(state));
            assert!(said(state).contains(state.as_str()) && said(state).contains("`a`"));
        }
    }
}
