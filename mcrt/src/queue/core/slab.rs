//! The records of all keys, in fixed chunks and linked in place: growing copies nothing, so it never holds the lock for long.
use std::ops::{Index, IndexMut};

use super::config::Priority;

/// No record, no lane.
pub(super) const NIL: u32 = u32::MAX;

const CHUNK_BITS: u32 = 10;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// In its lane's list, since `due`.
    Ready,
    /// In the wheel until `due`.
    Waiting,
    /// Handed out; not wanted again so far.
    Running,
    /// Handed out, and wanted again since `due`.
    RunningDirty,
    /// Handed out, wanted again at `due`, and in the wheel.
    RunningWaiting,
    /// In no list: its home ended while it was ready elsewhere; the purge under way frees it.
    Condemned,
}

/// One of the lists a record is in: each is doubly linked through the record itself.
#[derive(Clone, Copy)]
pub(super) enum Chain {
    /// Its lane's list or a slot of the wheel: never both.
    Queue,
    /// The members of its target.
    Target,
    /// The members of its home, when that is not the target.
    Home,
}

#[derive(Clone, Copy)]
struct Link {
    prev: u32,
    next: u32,
}

/// One key, whatever its state; 64 bytes when the object is a pointer.
pub(super) struct Record<O> {
    object: Option<O>,
    pub(super) hash: u64,
    /// Microseconds of the queue's clock; what it means depends on the state.
    pub(super) due: u64,
    pub(super) home: u32,
    pub(super) target: u32,
    links: [Link; 3],
    /// The wheel's slot, while it is in one.
    pub(super) slot: u16,
    /// Failures in a row: they live here so that success and purge forget them for free.
    pub(super) failures: u16,
    /// While running: of the next run.
    pub(super) priority: Priority,
    pub(super) state: State,
}

impl<O> Record<O> {
    pub(super) fn new(object: O, hash: u64, home: u32, target: u32) -> Self {
        let unlinked = Link { prev: NIL, next: NIL };
        Self {
            object: Some(object),
            hash,
            due: 0,
            home,
            target,
            links: [unlinked; 3],
            slot: 0,
            failures: 0,
            priority: Priority::Low,
            state: State::Running,
        }
    }

    pub(super) fn object(&self) -> &O {
        self.object.as_ref().expect("only records in use are reachable")
    }

    pub(super) fn is(&self, hash: u64, home: u32, target: u32, object: &O) -> bool
    where
        O: Eq,
    {
        self.hash == hash
            && self.home == home
            && self.target == target
            && self.object.as_ref().is_some_and(|own| own == object)
    }
}

/// The ends of one linked list.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) head: u32,
    pub(super) tail: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NIL, tail: NIL };

    pub(super) const fn is_empty(self) -> bool {
        self.head == NIL
    }
}

/// All records; freed places are linked through their queue chain and used again first.
pub(super) struct Slab<O> {
    chunks: Vec<Vec<Record<O>>>,
    free: u32,
    live: usize,
}

impl<O> Slab<O> {
    pub(super) const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            free: NIL,
            live: 0,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.live
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let records: usize = self.chunks.iter().map(Vec::capacity).sum();
        records * size_of::<Record<O>>() + self.chunks.capacity() * size_of::<Vec<Record<O>>>()
    }

    pub(super) fn insert(&mut self, record: Record<O>) -> u32 {
        self.live += 1;
        if self.free != NIL {
            let i = self.free;
            self.free = self[i].links[Chain::Queue as usize].next;
            self[i] = record;
            return i;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let chunk = self.chunks.len() - 1;
        let last = &mut self.chunks[chunk];
        last.push(record);
        u32::try_from(chunk * CHUNK + last.len() - 1).expect("four billion records do not fit into memory")
    }

    /// Frees the place and hands back the object, for the caller to drop after the lock.
    pub(super) fn remove(&mut self, i: u32) -> Option<O> {
        let free = self.free;
        let record = &mut self[i];
        record.links[Chain::Queue as usize].next = free;
        let object = record.object.take();
        self.free = i;
        self.live -= 1;
        if self.live == 0 && self.chunks.len() > 1 {
            // A first list may have been huge: give its memory back once it is worked off.
            self.chunks.truncate(1);
            self.chunks[0].clear();
            self.chunks.shrink_to_fit();
            self.free = NIL;
        }
        object
    }

    pub(super) fn next(&self, i: u32, chain: Chain) -> u32 {
        self[i].links[chain as usize].next
    }

    pub(super) fn push_back(&mut self, list: &mut List, chain: Chain, i: u32) {
        let tail = std::mem::replace(&mut list.tail, i);
        self[i].links[chain as usize] = Link {
            prev: tail,
            next: NIL,
        };
        if tail == NIL {
            list.head = i;
        } else {
            self[tail].links[chain as usize].next = i;
        }
    }

    pub(super) fn unlink(&mut self, list: &mut List, chain: Chain, i: u32) {
        let Link { prev, next } = self[i].links[chain as usize];
        if prev == NIL {
            list.head = next;
        } else {
            self[prev].links[chain as usize].next = next;
        }
        if next == NIL {
            list.tail = prev;
        } else {
            self[next].links[chain as usize].prev = prev;
        }
    }
}

impl<O> Index<u32> for Slab<O> {
    type Output = Record<O>;

    fn index(&self, i: u32) -> &Record<O> {
        &self.chunks[(i >> CHUNK_BITS) as usize][i as usize & (CHUNK - 1)]
    }
}

impl<O> IndexMut<u32> for Slab<O> {
    fn index_mut(&mut self, i: u32) -> &mut Record<O> {
        &mut self.chunks[(i >> CHUNK_BITS) as usize][i as usize & (CHUNK - 1)]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_record_of_a_pointer_fills_one_cache_line() {
        assert_eq!(size_of::<Record<Arc<str>>>(), 72);
        assert_eq!(size_of::<Record<Arc<(String, String)>>>(), 64);
    }

    #[test]
    fn an_emptied_slab_gives_its_memory_back() {
        let mut slab = Slab::new();
        let all: Vec<u32> = (0..10_000u32)
            .map(|n| slab.insert(Record::new(n, 0, 0, 0)))
            .collect();
        let full = slab.heap_bytes();
        for i in all {
            assert_eq!(slab.remove(i), Some(i));
        }
        assert!(slab.heap_bytes() * 9 < full);
        assert_eq!(slab.insert(Record::new(7, 0, 0, 0)), 0);
    }
}
