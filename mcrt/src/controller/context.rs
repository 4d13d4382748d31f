//! What a reconcile can reach: its request, its cluster, the host, the fleet.
use super::{
    IndexReader, Reconciler, Request,
    engagement::Engagement,
    index::IndexKey,
    place,
    reach::ClusterContext,
    relations::{CachedBy, DeclaredBy, HasHost, Homed},
    runtime::Shared,
    watch::Index,
};
use crate::{
    Result,
    cache::{Cacheable, Store},
    cluster::ObjectKey,
    fleet::{Cluster, Fleet},
};
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{Api, Client, runtime::events::Event};
use serde::{Serialize, de::DeserializeOwned};
use std::{fmt, marker::PhantomData, sync::Arc};
use tokio_util::sync::CancellationToken;

/// What one reconcile works with. Cheap to clone, and owned: it can be moved into tasks and joined futures.
///
/// Reads from the store do not wait ([`store`](Self::store), [`cached`](Self::cached)); live reads do
/// ([`get`](Self::get), [`api`](Self::api)).
pub struct Context<C> {
    inner: Arc<Inner>,
    controller: PhantomData<fn() -> C>,
}

pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    pub(super) home: Arc<Engagement>,
    pub(super) target: Arc<Engagement>,
    /// As it was when the reconcile began: it stays usable to its end.
    pub(super) host: Option<Arc<Engagement>>,
    pub(super) object: ObjectKey,
    pub(super) uid: Option<String>,
    pub(super) attempt: u32,
    pub(super) stop: CancellationToken,
}

impl<C> Context<C> {
    pub(super) fn new(inner: Inner) -> Self {
        Self {
            inner: Arc::new(inner),
            controller: PhantomData,
        }
    }

    /// The object and the cluster that this reconcile is about.
    pub fn request(&self) -> Request<C::Object>
    where
        C: Reconciler,
    {
        let (home, target) = (self.home().name().clone(), self.cluster().name().clone());
        Request::new(home, self.inner.object.clone()).targeting(target)
    }

    /// The cluster where the work goes.
    pub fn cluster(&self) -> &Cluster {
        &self.inner.target.cluster
    }

    /// The cluster where the object lives: the same one, unless the request says otherwise.
    pub fn home(&self) -> &Cluster {
        &self.inner.home.cluster
    }

    /// The engaged clusters, those that the controller does not select too.
    pub fn fleet(&self) -> &Fleet {
        &self.inner.shared.fleet
    }

    /// The clusters of the fleet in which the controller works, sorted by name: all of them, unless it
    /// [selects](super::ControllerBuilder::clusters).
    pub fn clusters(&self) -> Vec<Cluster> {
        self.inner.shared.selected()
    }

    /// A client for the cluster where the work goes: what no declaration covers.
    pub fn client(&self) -> Client {
        self.cluster().client()
    }

    /// How often in a row this request has failed: 0 at the first try.
    pub fn attempt(&self) -> u32 {
        self.inner.attempt
    }

    /// Resolves when this reconcile should come to an end: its cluster leaves, or the controller stops.
    pub async fn cancelled(&self) {
        let Inner {
            home, target, stop, ..
        } = &*self.inner;
        tokio::select! {
            () = stop.cancelled() => {}
            () = home.leaving.cancelled() => {}
            () = target.leaving.cancelled() => {}
        }
    }

    /// A reference that makes the request's object the owner of another one in the same cluster.
    ///
    /// Owner references do not cross clusters: [`apply`](Self::apply) refuses one in any cluster but the object's.
    pub fn owner_reference(&self) -> OwnerReference {
        let kind = &self.inner.shared.kind;
        OwnerReference {
            api_version: kind.api_version.clone(),
            kind: kind.kind.clone(),
            name: self.inner.object.name.to_string(),
            uid: self.inner.uid.clone().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    /// Publishes an event about the request's object, in the cluster where it lives.
    ///
    /// # Errors
    /// If the API server refuses it or cannot be reached.
    pub async fn event(&self, event: &Event) -> Result<()> {
        let kind = &self.inner.shared.kind;
        let reference = ObjectReference {
            api_version: Some(kind.api_version.clone()),
            kind: Some(kind.kind.clone()),
            namespace: self.inner.object.namespace.as_deref().map(str::to_owned),
            name: Some(self.inner.object.name.to_string()),
            uid: self.inner.uid.clone(),
            ..ObjectReference::default()
        };
        let recorder = self.inner.home.recorder(&self.inner.shared.name);
        Ok(recorder.publish(event, &reference).await?)
    }

    /// The host.
    ///
    /// # Panics
    /// If a hand-wired controller declares nothing there; for the others that does not compile.
    pub fn host(&self) -> ClusterContext<C, place::Host>
    where
        C: HasHost,
    {
        let host = self
            .inner
            .host
            .clone()
            .expect("a controller that declares the host starts with one");
        let namespace = host.cluster.client().default_namespace().to_owned();
        ClusterContext::new(self.inner.clone(), host, Some(namespace))
    }

    /// The index of the cluster where the work goes; of the host, if it indexes a kind of the host.
    pub fn index<T: Cacheable, V: IndexKey>(&self, handle: Index<C, T, V>) -> IndexReader<T, V> {
        let is_here = |engagement: &Arc<Engagement>| engagement.index(handle.slot).is_some();
        let target = Some(self.inner.target.clone()).filter(is_here);
        let here = target.or_else(|| self.inner.host.clone().filter(is_here));
        IndexReader::of_one(handle, here)
    }
}

/// Reads and writes in the cluster where the work goes.
impl<C: Homed> Context<C> {
    fn here(&self) -> ClusterContext<C, C::Place> {
        let namespace = self.inner.object.namespace.as_deref().map(str::to_owned);
        ClusterContext::new(self.inner.clone(), self.inner.target.clone(), namespace)
    }

    /// kube's API of a declared kind; a namespaced kind in the namespace of the request's object.
    pub fn api<K: DeclaredBy<C, C::Place> + super::ApiKind>(&self) -> Api<K> {
        self.here().api()
    }

    /// The store of a watched kind.
    pub fn store<K: CachedBy<C, C::Place>>(&self) -> Store<K::Stored>
    where
        K::Stored: Cacheable,
    {
        self.here().store::<K>()
    }

    /// An object of a watched kind from its store, in the namespace of the request's object.
    ///
    /// # Errors
    /// [`NeverSynced`](crate::NeverSynced) while the store has never been told what exists: it knows no object then,
    /// which does not say that there is none.
    pub fn cached<K: CachedBy<C, C::Place>>(&self, name: &str) -> Result<Option<Arc<K::Stored>>>
    where
        K::Stored: Cacheable,
    {
        self.here().cached::<K>(name)
    }

    /// Reads an object from the API server, in the namespace of the request's object.
    ///
    /// # Errors
    /// If the API server refuses or cannot be reached, or what it sends does not decode. An object that does not exist
    /// is `None`.
    pub async fn get<K: DeclaredBy<C, C::Place> + super::ApiKind>(&self, name: &str) -> Result<Option<K>> {
        self.here().get(name).await
    }

    /// Writes what the object says, by server-side apply under the controller's field manager, taking fields over
    /// from others. Sets the label `app.kubernetes.io/managed-by` unless the object does.
    ///
    /// # Errors
    /// If the API server refuses or cannot be reached, or what it sends does not decode. With
    /// [`GiveUp`](crate::ErrorClass::GiveUp), and before anything is sent, if the object has no name, or is owned by
    /// the request's object and would go to another cluster than that lives in.
    pub async fn apply<K>(&self, object: &K) -> Result<K>
    where
        K: DeclaredBy<C, C::Place> + super::ApiKind + Serialize + DeserializeOwned,
    {
        self.here().apply(object).await
    }
}

impl<C> Clone for Context<C> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            controller: PhantomData,
        }
    }
}

impl<C> fmt::Debug for Context<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("controller", &self.inner.shared.name)
            .field("cluster", self.cluster())
            .field("object", &self.inner.object)
            .finish_non_exhaustive()
    }
}
