//! Indexes of a controller: bound to each cluster as it engages, read by their handles.
use super::{Request, declaration::Summary, engagement::Engagement, runtime::Shared, watch::Index};
use crate::{
    cache::{Cache, Cacheable, IndexRef, Store},
    fleet::Cluster,
};
use futures::future::BoxFuture;
use kube::core::ApiResource;
use std::{
    any::{Any, TypeId},
    fmt,
    hash::Hash,
    marker::PhantomData,
    sync::Arc,
};

/// What an index may be keyed by.
pub trait IndexKey: Clone + Eq + Hash + Send + Sync + 'static {}
impl<V: Clone + Eq + Hash + Send + Sync + 'static> IndexKey for V {}

/// An index of some kind, by something.
pub(crate) trait AnyIndex: Send + Sync + 'static {
    fn name(&self) -> &'static str;

    /// Whether a declaration keeps what is indexed.
    fn covers(&self, declaration: &Summary) -> bool;

    /// Adds the index to the cache, if that stores what is indexed.
    fn bind<'a>(&'a self, cache: &'a (dyn Any + Send + Sync)) -> BoxFuture<'a, Option<BoundIndex>>;
}

pub(crate) struct Indexed<T, V> {
    pub(crate) name: &'static str,
    /// Which kind, where the type alone does not say.
    pub(crate) resource: Option<ApiResource>,
    pub(crate) keys: Arc<dyn Fn(&T) -> Vec<V> + Send + Sync>,
}

/// An index in one cluster: a `Bound<T, V>` whose types its handle knows.
pub(crate) struct BoundIndex(Box<dyn AnyBound>);

impl BoundIndex {
    /// Removes the index: its cache may go on without it.
    pub(super) fn end(&self) {
        self.0.end();
    }
}

trait AnyBound: Any + Send + Sync {
    fn end(&self);
}

struct Bound<T: Cacheable, V> {
    cluster_store: Store<T>,
    index: IndexRef<T, V>,
}

impl<T: Cacheable, V: IndexKey> AnyBound for Bound<T, V> {
    fn end(&self) {
        self.cluster_store.unindex(&self.index);
    }
}

impl<T: Cacheable, V: IndexKey> AnyIndex for Indexed<T, V> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn covers(&self, declaration: &Summary) -> bool {
        let meant = self
            .resource
            .as_ref()
            .is_none_or(|resource| declaration.scope.resource == *resource);
        meant && declaration.stored == TypeId::of::<T>()
    }

    fn bind<'a>(&'a self, cache: &'a (dyn Any + Send + Sync)) -> BoxFuture<'a, Option<BoundIndex>> {
        Box::pin(async move {
            let cache: &Cache<T> = cache.downcast_ref()?;
            if self
                .resource
                .as_ref()
                .is_some_and(|resource| cache.scope().resource != *resource)
            {
                return None;
            }
            let index = cache.index(self.name, self.keys.clone()).await;
            Some(BoundIndex(Box::new(Bound {
                cluster_store: cache.store(),
                index,
            })))
        })
    }
}

/// An index, ready for look-ups: of one cluster, or of all that a map function may look into.
///
/// It looks clusters up when it is asked, not before: to make one costs nothing, however many clusters there are, and
/// one that is kept sees clusters come and go.
pub struct IndexReader<T: Cacheable, V> {
    clusters: Clusters,
    slot: u16,
    types: PhantomData<fn() -> (T, V)>,
}

/// Which clusters a reader looks into.
#[derive(Clone)]
enum Clusters {
    All(Arc<Shared>),
    One(Option<Arc<Engagement>>),
}

impl Clusters {
    /// The engagements of the moment.
    fn now(&self) -> Vec<Arc<Engagement>> {
        match self {
            // The lock is not held while keys are hashed.
            Self::All(shared) => shared.engaged.read().all(),
            Self::One(engagement) => engagement.iter().cloned().collect(),
        }
    }

    fn of(&self, cluster: &Cluster) -> Option<Arc<Engagement>> {
        match self {
            Self::All(shared) => shared.engaged.read().of(cluster),
            Self::One(engagement) => engagement.clone().filter(|one| one.cluster == *cluster),
        }
    }
}

impl<T: Cacheable, V: IndexKey> IndexReader<T, V> {
    pub(crate) fn of_all<C>(handle: Index<C, T, V>, shared: Arc<Shared>) -> Self {
        Self::new(handle.slot, Clusters::All(shared))
    }

    pub(crate) fn of_one<C>(handle: Index<C, T, V>, engagement: Option<Arc<Engagement>>) -> Self {
        Self::new(handle.slot, Clusters::One(engagement))
    }

    fn new(slot: u16, clusters: Clusters) -> Self {
        Self {
            clusters,
            slot,
            types: PhantomData,
        }
    }

    /// The part of one cluster; empty if the index has none there.
    #[must_use]
    pub fn of(&self, cluster: &Cluster) -> Self {
        Self::new(self.slot, Clusters::One(self.clusters.of(cluster)))
    }

    /// The objects under `key`.
    pub fn get(&self, key: &V) -> Vec<Arc<T>> {
        self.look_up(|_, bound| bound.cluster_store.by_index(&bound.index, key))
    }

    /// The objects under `key`, as requests in the cluster where each lives.
    pub fn requests(&self, key: &V) -> Vec<Request<T>> {
        self.look_up(|cluster, bound| {
            let keys = bound.cluster_store.keys_by_index(&bound.index, key).into_iter();
            keys.map(|key| Request::new(cluster.name().clone(), key))
                .collect()
        })
    }

    fn look_up<F>(&self, find: impl Fn(&Cluster, &Bound<T, V>) -> Vec<F>) -> Vec<F> {
        let clusters = self.clusters.now();
        let bound = |engagement: &Arc<Engagement>| {
            let bound = engagement.index(self.slot)?;
            let bound = &*bound.0 as &dyn Any;
            Some(find(&engagement.cluster, bound.downcast_ref()?))
        };
        clusters.iter().filter_map(bound).flatten().collect()
    }
}

impl<T: Cacheable, V> fmt::Debug for IndexReader<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clusters = self.clusters.now();
        let indexed = clusters
            .iter()
            .filter(|cluster| cluster.index(self.slot).is_some());
        f.debug_list()
            .entries(indexed.map(|engagement| &engagement.cluster))
            .finish()
    }
}
