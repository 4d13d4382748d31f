//! From the values of an index to the slots of a table, and back.
use ahash::RandomState;
use hashbrown::{HashSet, HashTable};
use smallvec::SmallVec;
use std::hash::Hash;

/// Beyond this many slots of one value, leaving the list by a scan would cost too much.
const FEW: usize = 32;

/// The values of every slot. Each value is kept once, however many slots have it.
pub(super) struct Postings<V> {
    values: Vec<Option<Posting<V>>>,
    free: Vec<u32>,
    by_value: HashTable<u32>,
    by_slot: Vec<SmallVec<[u32; 2]>>,
    hasher: RandomState,
}

struct Posting<V> {
    value: V,
    slots: Slots,
}

enum Slots {
    Few(SmallVec<[u32; 4]>),
    Many(HashSet<u32, RandomState>),
}

impl<V: Hash + Eq> Postings<V> {
    pub(super) fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
            by_value: HashTable::new(),
            by_slot: Vec::new(),
            hasher: RandomState::new(),
        }
    }

    /// Replaces the values of a slot. A value given twice counts once.
    pub(super) fn set(&mut self, slot: u32, values: Vec<V>) {
        self.clear(slot);
        let mut ids = SmallVec::new();
        for value in values {
            let id = self.id_of(value);
            if !ids.contains(&id) {
                ids.push(id);
                if let Some(posting) = &mut self.values[id as usize] {
                    posting.slots.insert(slot);
                }
            }
        }
        let at = slot as usize;
        if at >= self.by_slot.len() {
            if ids.is_empty() {
                return;
            }
            self.by_slot.resize_with(at + 1, SmallVec::new);
        }
        self.by_slot[at] = ids;
    }

    /// Takes the values of a slot away.
    pub(super) fn clear(&mut self, slot: u32) {
        let Some(ids) = self.by_slot.get_mut(slot as usize).map(std::mem::take) else {
            return;
        };
        for id in ids {
            let Some(posting) = &mut self.values[id as usize] else {
                continue;
            };
            if posting.slots.remove(slot) {
                let hash = self.hasher.hash_one(&posting.value);
                if let Ok(entry) = self.by_value.find_entry(hash, |known| *known == id) {
                    entry.remove();
                }
                self.values[id as usize] = None;
                self.free.push(id);
            }
        }
    }

    /// Calls back with every slot that has the value.
    pub(super) fn for_each(&self, value: &V, mut found: impl FnMut(u32)) {
        let Some(posting) = self.find(value).and_then(|id| self.values[id as usize].as_ref()) else {
            return;
        };
        match &posting.slots {
            Slots::Few(slots) => slots.iter().for_each(|slot| found(*slot)),
            Slots::Many(slots) => slots.iter().for_each(|slot| found(*slot)),
        }
    }

    /// Gives unused capacity back.
    pub(super) fn shrink(&mut self) {
        self.values.shrink_to_fit();
        self.by_slot.shrink_to_fit();
        let (values, hasher) = (&self.values, &self.hasher);
        self.by_value.shrink_to_fit(|id| hash_of(values, hasher, *id));
    }

    fn find(&self, value: &V) -> Option<u32> {
        let is_it = |id: &u32| {
            self.values[*id as usize]
                .as_ref()
                .is_some_and(|known| known.value == *value)
        };
        self.by_value.find(self.hasher.hash_one(value), is_it).copied()
    }

    fn id_of(&mut self, value: V) -> u32 {
        if let Some(id) = self.find(&value) {
            return id;
        }
        let hash = self.hasher.hash_one(&value);
        let posting = Some(Posting {
            value,
            slots: Slots::Few(SmallVec::new()),
        });
        let id = if let Some(id) = self.free.pop() {
            self.values[id as usize] = posting;
            id
        } else {
            self.values.push(posting);
            u32::try_from(self.values.len() - 1).expect("a process cannot hold four billion index values")
        };
        let (values, hasher) = (&self.values, &self.hasher);
        self.by_value
            .insert_unique(hash, id, |id| hash_of(values, hasher, *id));
        id
    }
}

fn hash_of<V: Hash>(values: &[Option<Posting<V>>], hasher: &RandomState, id: u32) -> u64 {
    values[id as usize]
        .as_ref()
        .map_or(0, |posting| hasher.hash_one(&posting.value))
}

impl Slots {
    fn insert(&mut self, slot: u32) {
        match self {
            Self::Few(slots) if slots.len() < FEW => slots.push(slot),
            Self::Few(slots) => {
                let mut many: HashSet<_, _> = slots.drain(..).collect();
                many.insert(slot);
                *self = Self::Many(many);
            }
            Self::Many(slots) => {
                slots.insert(slot);
            }
        }
    }

    /// Says whether none are left.
    fn remove(&mut self, slot: u32) -> bool {
        match self {
            Self::Few(slots) => {
                if let Some(at) = slots.iter().position(|known| *known == slot) {
                    slots.swap_remove(at);
                }
                slots.is_empty()
            }
            Self::Many(slots) => {
                slots.remove(&slot);
                slots.is_empty()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn slots(postings: &Postings<String>, value: &str) -> Vec<u32> {
        let mut slots = Vec::new();
        postings.for_each(&value.to_owned(), |slot| slots.push(slot));
        slots.sort_unstable();
        slots
    }

    #[test]
    fn a_value_given_twice_names_its_slot_once() {
        let mut postings = Postings::new();
        postings.set(3, vec!["a".to_owned(), "a".to_owned(), "b".to_owned()]);
        assert_eq!(slots(&postings, "a"), [3]);
        postings.set(3, vec!["b".to_owned()]);
        assert_eq!(slots(&postings, "a"), [] as [u32; 0]);
        assert_eq!(slots(&postings, "b"), [3]);
    }

    proptest! {
        #[test]
        fn postings_equal_a_plain_map(steps in prop::collection::vec((0u32..80, prop::collection::vec(0u8..5, 0..4)), 0..400)) {
            let (mut postings, mut model) = (Postings::new(), BTreeMap::new());
            for (slot, values) in steps {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                model.insert(slot, values.iter().cloned().collect::<BTreeSet<_>>());
                if values.is_empty() { postings.clear(slot) } else { postings.set(slot, values) }
            }
            postings.shrink();
            for value in ["0", "1", "2", "3", "4"] {
                let expected: Vec<u32> = model.iter().filter(|(_, v)| v.contains(value)).map(|(s, _)| *s).collect();
                prop_assert_eq!(slots(&postings, value), expected);
            }
            let used: BTreeSet<_> = model.values().flatten().collect();
            prop_assert_eq!(postings.by_value.len(), used.len());
        }
    }
}
