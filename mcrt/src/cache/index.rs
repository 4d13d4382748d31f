//! Indexes: functions of the user's, run by the writer, and their values, kept in the table.
use super::postings::Postings;
use std::{any::Any, fmt, hash::Hash, marker::PhantomData, sync::Arc};

/// Names one index of one cache. Given to the store of another cache, it finds nothing.
pub struct IndexRef<K, V> {
    pub(super) cache: u64,
    pub(super) number: usize,
    name: &'static str,
    types: PhantomData<fn(&K) -> V>,
}

impl<K, V> IndexRef<K, V> {
    pub(super) fn new(cache: u64, number: usize, name: &'static str) -> Self {
        Self {
            cache,
            number,
            name,
            types: PhantomData,
        }
    }

    /// The name it was added under.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl<K, V> Clone for IndexRef<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, V> Copy for IndexRef<K, V> {}

impl<K, V> fmt::Debug for IndexRef<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IndexRef").field(&self.name).finish()
    }
}

/// Values of one index for one object, on their way into its postings.
pub(super) type Values = Box<dyn Any + Send>;

/// The writer's half of an index: the user's function.
pub(super) trait Indexer<K>: Send {
    fn name(&self) -> &'static str;
    /// Runs the function, which may panic.
    fn values(&self, object: &K) -> Values;
    /// The values of an object whose function panicked.
    fn none(&self) -> Values;
    /// The table's half, empty.
    fn postings(&self) -> Box<dyn AnyPostings>;
}

/// The table's half of an index.
pub(super) trait AnyPostings: Send + Sync {
    fn set(&mut self, slot: u32, values: Values);
    fn clear(&mut self, slot: u32);
    fn shrink(&mut self);
    /// Itself, for look-ups that know the type of its values.
    fn as_any(&self) -> &dyn Any;
}

/// A function of the user's that gives the values of an object.
pub type Keys<K, V> = dyn Fn(&K) -> Vec<V> + Send + Sync;

pub(super) struct FnIndexer<K, V> {
    pub(super) name: &'static str,
    pub(super) keys: Arc<Keys<K, V>>,
}

impl<K, V: Hash + Eq + Send + Sync + 'static> Indexer<K> for FnIndexer<K, V> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn values(&self, object: &K) -> Values {
        Box::new((self.keys)(object))
    }
    fn none(&self) -> Values {
        Box::new(Vec::<V>::new())
    }
    fn postings(&self) -> Box<dyn AnyPostings> {
        Box::new(Postings::<V>::new())
    }
}

impl<V: Hash + Eq + Send + Sync + 'static> AnyPostings for Postings<V> {
    fn set(&mut self, slot: u32, values: Values) {
        match values.downcast::<Vec<V>>() {
            Ok(values) => self.set(slot, *values),
            Err(_) => self.clear(slot),
        }
    }
    fn clear(&mut self, slot: u32) {
        self.clear(slot);
    }
    fn shrink(&mut self) {
        self.shrink();
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
