//! What a map function can reach: stores and indexes, nothing that waits.
use super::{
    IndexReader, engagement::Engagement, index::IndexKey, relations::IndexableBy, runtime::Shared,
    watch::Index,
};
use crate::{
    cache::{Cacheable, Store},
    fleet::{Cluster, Fleet},
};
use std::{fmt, marker::PhantomData, sync::Arc};

/// What a map function works with: it runs with every change of what it maps, so it reads stores and indexes only.
pub struct MapContext<C> {
    shared: Arc<Shared>,
    engagement: Arc<Engagement>,
    controller: PhantomData<fn() -> C>,
}

impl<C> MapContext<C> {
    pub(super) fn new(shared: Arc<Shared>, engagement: Arc<Engagement>) -> Self {
        Self {
            shared,
            engagement,
            controller: PhantomData,
        }
    }

    /// The cluster where the change happened. In the map of fleet events: the host if the reconciled kind lives
    /// there, else the cluster that the event is about, or any while that one is not engaged.
    pub fn cluster(&self) -> &Cluster {
        &self.engagement.cluster
    }

    /// The engaged clusters, those that the controller does not select too.
    pub fn fleet(&self) -> &Fleet {
        &self.shared.fleet
    }

    /// The clusters of the fleet in which the controller works, sorted by name: all of them, unless it
    /// [selects](super::ControllerBuilder::clusters). A request for any other is dropped.
    pub fn clusters(&self) -> Vec<Cluster> {
        self.shared.selected()
    }

    /// The index of every engaged cluster where the controller works, the host included where it has one.
    pub fn index<T: Cacheable, V: IndexKey>(&self, handle: Index<C, T, V>) -> IndexReader<T, V> {
        IndexReader::of_all(handle, self.shared.clone())
    }

    /// The store of a watched kind in the cluster where the change happened, if it is watched there. `T` is what
    /// is kept: the kind, or its metadata.
    pub fn store<T: Cacheable + IndexableBy<C>>(&self) -> Option<Store<T>> {
        self.engagement.store()
    }
}

impl<C> fmt::Debug for MapContext<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MapContext").field(self.cluster()).finish()
    }
}
