//! All lanes, their ready keys, and how much of that could start; the order in which they are served is `rings`.
use std::num::NonZeroU32;

use super::config::PRIORITIES;
use super::lane::{Lane, LaneState, Place};
use super::rings::Ring;
use super::slab::{Chain, Slab};

/// All lanes and, per priority, the ring of those to be served.
pub(super) struct Lanes {
    pub(super) slots: Vec<LaneState>,
    free: Vec<u32>,
    pub(super) rings: [Ring; PRIORITIES],
    pub(super) ready: [usize; PRIORITIES],
    /// Sum over all lanes of what could start now, permits aside.
    pub(super) open: u64,
    pub(super) engaged: u32,
    /// Lanes that have ended and are still named by records: mostly none, and then none has to be looked for.
    ending: u32,
    lane_cap: u32,
}

impl Lanes {
    pub(super) fn new(lane_cap: u32) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            rings: [Ring::EMPTY; PRIORITIES],
            ready: [0; PRIORITIES],
            open: 0,
            engaged: 0,
            ending: 0,
            lane_cap,
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<LaneState>() + self.free.capacity() * size_of::<u32>()
    }

    pub(super) fn get(&self, lane: Lane) -> Option<&LaneState> {
        self.slots
            .get(lane.slot as usize)
            .filter(|state| state.life == lane.life)
    }

    pub(super) fn is_live(&self, lane: Lane) -> bool {
        self.get(lane).is_some_and(|state| !state.ended)
    }

    pub(super) fn at(&self, slot: u32) -> &LaneState {
        &self.slots[slot as usize]
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> &mut LaneState {
        &mut self.slots[slot as usize]
    }

    pub(super) fn lane(&self, slot: u32) -> Lane {
        Lane {
            slot,
            life: self.at(slot).life,
        }
    }

    pub(super) fn engage(&mut self, weight: NonZeroU32) -> Lane {
        let slot = if let Some(slot) = self.free.pop() {
            let life = self.at(slot).life;
            *self.at_mut(slot) = LaneState::new(life, weight.get());
            slot
        } else {
            self.slots.push(LaneState::new(0, weight.get()));
            u32::try_from(self.slots.len() - 1).expect("four billion lanes do not fit into memory")
        };
        self.engaged += 1;
        self.refit();
        self.lane(slot)
    }

    /// Nothing of the lane is served from now on.
    pub(super) fn end(&mut self, slot: u32) {
        self.change(slot, |lane| lane.ended = true);
        self.leave_rings(slot);
        self.engaged -= 1;
        self.ending += 1;
        self.refit();
    }

    /// Whether the slot's lane has ended.
    #[inline]
    pub(super) fn has_ended(&self, slot: u32) -> bool {
        self.ending > 0 && self.at(slot).ended
    }

    /// Lets the slot of an ended lane be used again, under another life, once no record names it.
    pub(super) fn reap(&mut self, slot: u32) {
        if !self.has_ended(slot) {
            return;
        }
        let lane = self.at_mut(slot);
        if lane.targets.is_empty() && lane.homes.is_empty() {
            self.ending -= 1;
            let lane = self.at_mut(slot);
            lane.life = lane.life.wrapping_add(1);
            self.free.push(slot);
        }
    }

    pub(super) fn pause(&mut self, slot: u32) {
        self.change(slot, |lane| lane.paused = true);
        self.leave_rings(slot);
    }

    pub(super) fn resume(&mut self, slot: u32) {
        self.change(slot, |lane| lane.paused = false);
        self.unpark(slot, Place::New);
    }

    /// Takes a record that may start out of the list of its lane and priority, and counts it as running.
    pub(super) fn start<O>(&mut self, slab: &mut Slab<O>, i: u32) {
        let (slot, ring) = (slab[i].target, slab[i].priority.ring());
        // One ready less and one running more: whatever the cap, one less that could start.
        self.open -= 1;
        self.ready[ring] -= 1;
        let lane = self.at_mut(slot);
        lane.ready -= 1;
        lane.running += 1;
        lane.dispatched += 1;
        let fifo = &mut lane.fifos[ring];
        slab.unlink(&mut fifo.keys, Chain::Queue, i);
        fifo.len -= 1;
    }

    pub(super) fn finish(&mut self, slot: u32) {
        self.change(slot, |lane| lane.running -= 1);
        self.unpark(slot, Place::Old);
    }

    /// Appends a record to the list of its lane and priority.
    pub(super) fn enqueue<O>(&mut self, slab: &mut Slab<O>, i: u32) {
        let (slot, ring) = (slab[i].target, slab[i].priority.ring());
        self.change(slot, |lane| lane.ready += 1);
        self.ready[ring] += 1;
        let cap = self.cap();
        let lane = self.at_mut(slot);
        let fifo = &mut lane.fifos[ring];
        slab.push_back(&mut fifo.keys, Chain::Queue, i);
        fifo.len += 1;
        if fifo.place == Place::Out {
            if lane.blocked(cap) {
                lane.fifos[ring].place = Place::Parked;
            } else {
                lane.fifos[ring].credit = lane.weight;
                self.link(slot, ring, Place::New);
            }
        }
    }

    /// Takes a record out of the list of its lane and priority; the lane keeps its turn.
    pub(super) fn dequeue<O>(&mut self, slab: &mut Slab<O>, i: u32) {
        let (slot, ring) = (slab[i].target, slab[i].priority.ring());
        self.change(slot, |lane| lane.ready -= 1);
        self.ready[ring] -= 1;
        let fifo = &mut self.at_mut(slot).fifos[ring];
        slab.unlink(&mut fifo.keys, Chain::Queue, i);
        fifo.len -= 1;
    }

    pub(super) fn cap(&self) -> u32 {
        if self.engaged <= 1 {
            u32::MAX
        } else {
            self.lane_cap
        }
    }

    /// Changes a lane and keeps `open` the sum it is.
    fn change(&mut self, slot: u32, change: impl FnOnce(&mut LaneState)) {
        let cap = self.cap();
        let lane = &mut self.slots[slot as usize];
        let before = lane.open(cap);
        change(lane);
        self.open = self.open + lane.open(cap) - before;
    }

    /// After the number of engaged lanes has changed: one alone has no cap.
    fn refit(&mut self) {
        if self.engaged > 2 {
            return;
        }
        let cap = self.cap();
        self.open = self.slots.iter().map(|lane| lane.open(cap)).sum();
        if self.engaged == 1 {
            for slot in 0..u32::try_from(self.slots.len()).expect("slots are numbered in 32 bits") {
                self.unpark(slot, Place::Old);
            }
        }
    }
}
