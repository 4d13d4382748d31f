//! One lane: the keys of one target cluster, its place in each ring and its numbers.
use super::config::PRIORITIES;
use super::counters::LaneCounters;
use super::slab::{List, NIL};

/// One life of one cluster in one queue; never used again, so what names an ended lane is told apart from its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    pub(super) slot: u32,
    pub(super) life: u32,
}

impl Lane {
    pub(in super::super) fn slot(self) -> u32 {
        self.slot
    }
}

/// Where a lane stands in the ring of one priority.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing ready.
    Out,
    /// Newly active: served before the old ones, once.
    New,
    /// Served in turn; a lane that ran empty stays for one turn, so that running empty on purpose gains nothing.
    Old,
    /// Not to be served now: paused, ended or at its cap.
    Parked,
}

/// The ready keys of one lane in one priority.
pub(super) struct Fifo {
    pub(super) keys: List,
    pub(super) len: u32,
    pub(super) place: Place,
    pub(super) prev: u32,
    pub(super) next: u32,
    /// What it may still be served in this turn; at least one while in a ring.
    pub(super) credit: u32,
}

impl Fifo {
    const EMPTY: Self = Self {
        keys: List::EMPTY,
        len: 0,
        place: Place::Out,
        prev: NIL,
        next: NIL,
        credit: 0,
    };
}

/// What the queue knows of one lane.
pub(super) struct LaneState {
    pub(super) fifos: [Fifo; PRIORITIES],
    /// Records with this target, and those with this home and another target.
    pub(super) targets: List,
    pub(super) homes: List,
    /// How many of each back off after a failure.
    pub(super) failing_targets: u32,
    pub(super) failing_homes: u32,
    pub(super) life: u32,
    pub(super) weight: u32,
    pub(super) ready: u32,
    pub(super) delayed: u32,
    pub(super) running: u32,
    /// Running items with this target or home.
    pub(super) busy: u32,
    pub(super) dispatched: u64,
    pub(super) paused: bool,
    pub(super) ended: bool,
}

impl LaneState {
    pub(super) fn new(life: u32, weight: u32) -> Self {
        Self {
            fifos: [Fifo::EMPTY; PRIORITIES],
            targets: List::EMPTY,
            homes: List::EMPTY,
            failing_targets: 0,
            failing_homes: 0,
            life,
            weight,
            ready: 0,
            delayed: 0,
            running: 0,
            busy: 0,
            dispatched: 0,
            paused: true,
            ended: false,
        }
    }

    /// Whether it may not be served now, whatever it has.
    pub(super) fn blocked(&self, cap: u32) -> bool {
        self.paused || self.ended || self.running >= cap
    }

    /// How many of its ready keys could start now.
    pub(super) fn open(&self, cap: u32) -> u64 {
        if self.blocked(cap) {
            0
        } else {
            u64::from(self.ready.min(cap - self.running))
        }
    }

    pub(super) fn counters(&self) -> LaneCounters {
        LaneCounters {
            ready: self.ready as usize,
            delayed: self.delayed as usize,
            running: self.running as usize,
            dispatched: self.dispatched,
            paused: self.paused,
        }
    }
}
