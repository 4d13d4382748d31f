//! The objects of a cache and their indexes: one lock covers both, so readers never see one without the other.
use super::{
    index::{AnyPostings, Values},
    kept::Kept,
    scope::Cacheable,
};
use crate::cluster::ObjectKey;
use ahash::RandomState;
use hashbrown::HashTable;
use kube::Resource;
use std::sync::Arc;

/// Objects in slots, found by namespace and name. Keys are not stored: each object knows its own.
pub(super) struct Table<K> {
    slots: Vec<Option<Kept<K>>>,
    free: Vec<u32>,
    keys: HashTable<u32>,
    hasher: RandomState,
    /// Each with its number, which no other index of this table has had.
    indexes: Vec<(usize, Box<dyn AnyPostings>)>,
    numbered: usize,
}

/// A key without an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KeyRef<'a> {
    pub(super) namespace: Option<&'a str>,
    pub(super) name: &'a str,
}

impl<'a> KeyRef<'a> {
    pub(super) fn of(object: &'a impl Resource) -> Self {
        let meta = object.meta();
        Self {
            namespace: meta.namespace.as_deref(),
            name: meta.name.as_deref().unwrap_or_default(),
        }
    }
}

impl<'a> From<&'a ObjectKey> for KeyRef<'a> {
    fn from(key: &'a ObjectKey) -> Self {
        Self {
            namespace: key.namespace.as_deref(),
            name: &key.name,
        }
    }
}

impl From<KeyRef<'_>> for ObjectKey {
    fn from(key: KeyRef<'_>) -> Self {
        Self {
            namespace: key.namespace.map(Arc::from),
            name: key.name.into(),
        }
    }
}

impl<K: Cacheable> Table<K> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            keys: HashTable::new(),
            hasher: RandomState::new(),
            indexes: Vec::new(),
            numbered: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The occupied slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Kept<K>)> {
        (0u32..)
            .zip(&self.slots)
            .filter_map(|(slot, object)| Some((slot, object.as_ref()?)))
    }

    pub(super) fn find(&self, key: KeyRef<'_>) -> Option<(u32, &Kept<K>)> {
        let is_it = |slot: &u32| self.at(*slot).is_some_and(|object| object.key() == key);
        let slot = *self.keys.find(self.hasher.hash_one(key), is_it)?;
        Some((slot, self.at(slot)?))
    }

    pub(super) fn at(&self, slot: u32) -> Option<&Kept<K>> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(super) fn index(&self, number: usize) -> Option<&dyn AnyPostings> {
        let mut indexes = self.indexes.iter();
        let (_, index) = indexes.find(|(other, _)| *other == number)?;
        Some(&**index)
    }

    /// Puts a new object into a slot of its own. Its key must not be in the table yet.
    pub(super) fn add(&mut self, object: Kept<K>, values: Vec<Values>) -> u32 {
        let hash = self.hasher.hash_one(object.key());
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(object);
            slot
        } else {
            self.slots.push(Some(object));
            u32::try_from(self.slots.len() - 1).expect("a process cannot hold four billion objects")
        };
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.keys
            .insert_unique(hash, slot, |slot| hash_of(slots, hasher, *slot));
        self.set_values(slot, values);
        slot
    }

    /// Puts another version of an object into its slot and returns the one that was there.
    pub(super) fn replace(&mut self, slot: u32, object: Kept<K>, values: Vec<Values>) -> Option<Kept<K>> {
        self.set_values(slot, values);
        self.slots.get_mut(slot as usize)?.replace(object)
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<Kept<K>> {
        let hash = hash_of(&self.slots, &self.hasher, slot);
        let object = self.slots.get_mut(slot as usize)?.take()?;
        if let Ok(entry) = self.keys.find_entry(hash, |known| *known == slot) {
            entry.remove();
        }
        for (_, index) in &mut self.indexes {
            index.clear(slot);
        }
        self.free.push(slot);
        Some(object)
    }

    /// Adds a filled index behind the others and returns its number.
    pub(super) fn add_index(&mut self, index: Box<dyn AnyPostings>) -> usize {
        let number = self.numbered;
        self.numbered += 1;
        self.indexes.push((number, index));
        number
    }

    /// Removes an index; gives its place among the others, and itself, to be dropped outside the lock.
    pub(super) fn remove_index(&mut self, number: usize) -> Option<(usize, Box<dyn AnyPostings>)> {
        let place = self.indexes.iter().position(|(other, _)| *other == number)?;
        Some((place, self.indexes.remove(place).1))
    }

    /// Gives unused capacity back.
    pub(super) fn shrink(&mut self) {
        self.slots.shrink_to_fit();
        self.free.shrink_to_fit();
        let (slots, hasher) = (&self.slots, &self.hasher);
        self.keys.shrink_to_fit(|slot| hash_of(slots, hasher, *slot));
        self.indexes.iter_mut().for_each(|(_, index)| index.shrink());
    }

    fn set_values(&mut self, slot: u32, values: Vec<Values>) {
        for ((_, index), values) in self.indexes.iter_mut().zip(values) {
            index.set(slot, values);
        }
    }
}

fn hash_of<K: Cacheable>(slots: &[Option<Kept<K>>], hasher: &RandomState, slot: u32) -> u64 {
    slots[slot as usize]
        .as_ref()
        .map_or(0, |object| hasher.hash_one(object.key()))
}
