//! The records of all keys, in fixed chunks and linked in place: growing copies nothing, so it never holds the lock for long.
use std::ops::{Index, IndexMut};

use super::config::Priority;

/// No record, no lane.
pub(super) const NIL: u32 = u32::MAX;

const CHUNK: usize = 1024;
const BLOCK: usize = 8;

/// Eight records, whatever their size, are whole cache lines: none straddles one more than it has to.
#[repr(align(64))]
pub(super) struct Block<O>([Record<O>; BLOCK]);

pub(super) type Chunk<O> = Box<[Block<O>]>;

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
    const VACANT: Self = Self {
        object: None,
        hash: 0,
        due: 0,
        home: NIL,
        target: NIL,
        links: [Link { prev: NIL, next: NIL }; 3],
        slot: 0,
        failures: 0,
        priority: Priority::Low,
        state: State::Running,
    };

    pub(super) fn new(object: O, hash: u64, home: u32, target: u32) -> Self {
        Self {
            object: Some(object),
            hash,
            home,
            target,
            ..Self::VACANT
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
    chunks: Vec<Chunk<O>>,
    free: u32,
    /// From here on, no place was ever used.
    fresh: u32,
    live: usize,
}

impl<O> Slab<O> {
    pub(super) const fn new() -> Self {
        Self {
            chunks: Vec::new(),
            free: NIL,
            fresh: 0,
            live: 0,
        }
    }

    /// Once the last record is gone, takes out what a huge list has needed, for the caller to drop after the lock.
    pub(super) fn give_back(&mut self) -> Option<Vec<Chunk<O>>> {
        if self.live > 0 || self.chunks.len() <= 1 {
            return None;
        }
        self.free = NIL;
        self.fresh = 0;
        let first = self.chunks.pop();
        Some(std::mem::replace(&mut self.chunks, first.into_iter().collect()))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.chunks.len() * size_of::<[Block<O>; CHUNK / BLOCK]>()
            + self.chunks.capacity() * size_of::<Chunk<O>>()
    }

    pub(super) fn insert(&mut self, record: Record<O>) -> u32 {
        let i = self.place();
        self[i] = record;
        self.live += 1;
        i
    }

    fn place(&mut self) -> u32 {
        if self.free != NIL {
            let i = self.free;
            self.free = self[i].links[Chain::Queue as usize].next;
            return i;
        }
        let i = self.fresh;
        self.fresh = i
            .checked_add(1)
            .expect("four billion records do not fit into memory");
        if i as usize == self.chunks.len() * CHUNK {
            self.chunks.push(vacant_chunk());
        }
        i
    }

    /// Frees the place and hands back the object, for the caller to drop after the lock.
    pub(super) fn remove(&mut self, i: u32) -> Option<O> {
        let free = self.free;
        let record = &mut self[i];
        record.links[Chain::Queue as usize].next = free;
        let object = record.object.take();
        self.free = i;
        self.live -= 1;
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

    /// Moves a record of the list to its front.
    pub(super) fn move_to_front(&mut self, list: &mut List, chain: Chain, i: u32) {
        if list.head == i {
            return;
        }
        self.unlink(list, chain, i);
        let head = std::mem::replace(&mut list.head, i);
        self[i].links[chain as usize] = Link {
            prev: NIL,
            next: head,
        };
        if head == NIL {
            list.tail = i;
        } else {
            self[head].links[chain as usize].prev = i;
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

fn vacant_chunk<O>() -> Chunk<O> {
    let blocks = (0..CHUNK / BLOCK).map(|_| Block([const { Record::VACANT }; BLOCK]));
    blocks.collect()
}

impl<O> Index<u32> for Slab<O> {
    type Output = Record<O>;

    fn index(&self, i: u32) -> &Record<O> {
        let i = i as usize;
        &self.chunks[i / CHUNK][i % CHUNK / BLOCK].0[i % BLOCK]
    }
}

impl<O> IndexMut<u32> for Slab<O> {
    fn index_mut(&mut self, i: u32) -> &mut Record<O> {
        let i = i as usize;
        &mut self.chunks[i / CHUNK][i % CHUNK / BLOCK].0[i % BLOCK]
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
        assert!(slab.give_back().is_some_and(|chunks| chunks.len() == 9));
        assert!(slab.heap_bytes() * 9 < full);
        assert!(slab.give_back().is_none());
        assert_eq!(slab.insert(Record::new(7, 0, 0, 0)), 0);
    }
}
