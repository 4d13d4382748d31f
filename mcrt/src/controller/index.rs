//! Indexes of a controller: bound to each cluster as it engages, read by their handles.
use super::{Request, declaration::Summary, engagement::Engagement, watch::Index};
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

/// An index in one cluster: an `Arc<Bound<T, V>>` whose types its handle knows.
pub(crate) struct BoundIndex(Box<dyn Any + Send + Sync>);

struct Bound<T: Cacheable, V> {
    cluster_store: Store<T>,
    index: IndexRef<T, V>,
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
            Some(BoundIndex(Box::new(Arc::new(Bound {
                cluster_store: cache.store(),
                index,
            }))))
        })
    }
}

/// An index, ready for look-ups: of one cluster, or of all that a map function may look into.
pub struct IndexReader<T: Cacheable, V> {
    parts: Vec<(Cluster, Arc<Bound<T, V>>)>,
}

impl<T: Cacheable, V: IndexKey> IndexReader<T, V> {
    pub(crate) fn new<'a, C>(
        handle: Index<C, T, V>,
        engagements: impl IntoIterator<Item = &'a Arc<Engagement>>,
    ) -> Self {
        let parts = engagements.into_iter().filter_map(|engagement| {
            let bound: &Arc<Bound<T, V>> = engagement.index(handle.slot)?.0.downcast_ref()?;
            Some((engagement.cluster.clone(), bound.clone()))
        });
        Self {
            parts: parts.collect(),
        }
    }

    /// The part of one cluster; empty if the index has none there.
    #[must_use]
    pub fn of(&self, cluster: &Cluster) -> Self {
        let here = self.parts.iter().filter(|(other, _)| other == cluster);
        Self {
            parts: here
                .map(|(cluster, bound)| (cluster.clone(), bound.clone()))
                .collect(),
        }
    }

    /// The objects under `key`.
    pub fn get(&self, key: &V) -> Vec<Arc<T>> {
        self.parts
            .iter()
            .flat_map(|(_, bound)| bound.cluster_store.by_index(&bound.index, key))
            .collect()
    }

    /// The objects under `key`, as requests in the cluster where each lives.
    pub fn requests(&self, key: &V) -> Vec<Request<T>> {
        let requests = self.parts.iter().flat_map(|(cluster, bound)| {
            let objects = bound.cluster_store.by_index(&bound.index, key);
            objects
                .into_iter()
                .map(move |object| Request::of(cluster.name().clone(), &*object))
        });
        requests.collect()
    }
}

impl<T: Cacheable, V> fmt::Debug for IndexReader<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.parts.iter().map(|(cluster, _)| cluster))
            .finish()
    }
}
