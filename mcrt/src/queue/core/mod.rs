//! The queue without tasks, clocks or locks: everything happens in the call, time is an argument.
//!
//! ```text
//! add -> record (one per key) -> wheel, until due -> list of its lane and priority
//!     -> pop: priority, then lane in turn, then first come -> running -> finish: gone, ready or waiting again
//! ```
//! Each operation takes constant time; a purge takes time in the keys it removes, waking a lane in those that back off.
mod add;
mod config;
mod counters;
mod finish;
mod gate;
mod lane;
mod lanes;
mod pop;
mod purge;
mod rings;
mod slab;
mod waiters;
mod wake;
mod wheel;

use std::num::NonZeroU32;
use std::time::Duration;

use hashbrown::HashTable;

use self::lanes::Lanes;
use self::slab::{Chain, Chunk, Slab, State};
use self::wheel::Wheel;

pub(super) use self::add::Addition;
pub(super) use self::gate::{Gate, Step};
pub(super) use self::pop::Popped;
pub(super) use self::waiters::Ticket;

pub use self::config::{Backoff, Priority, QueueSettings};
pub use self::counters::{LaneCounters, Purged, QueueCounters};
pub use self::finish::Outcome;
pub use self::lane::Lane;

/// The queue's whole state. Times are microseconds since it was made.
pub(super) struct Core<O> {
    settings: QueueSettings,
    slab: Slab<O>,
    table: HashTable<u32>,
    lanes: Lanes,
    wheel: Wheel,
    /// The latest time seen: callers read their clocks before they take the lock, so times arrive out of order.
    clock: u64,
    running: u32,
    delayed: usize,
    /// Per ring: dispatches to others since it was served, while it could have been.
    skipped: [u32; config::PRIORITIES],
    totals: QueueCounters,
    /// To be dropped after the lock.
    spent: Option<Box<Spent<O>>>,
}

/// The memory of a list that is worked off: it may have been huge, and freeing it takes its time.
#[allow(dead_code, reason = "it is only kept to be dropped")]
pub(super) struct Spent<O> {
    records: Vec<Chunk<O>>,
    table: HashTable<u32>,
}

impl<O> Core<O> {
    pub(super) fn new(settings: QueueSettings) -> Self {
        Self {
            lanes: Lanes::new(settings.lane_cap()),
            settings,
            slab: Slab::new(),
            table: HashTable::new(),
            wheel: Wheel::new(),
            clock: 0,
            running: 0,
            delayed: 0,
            skipped: [0; config::PRIORITIES],
            totals: QueueCounters::default(),
            spent: None,
        }
    }

    /// Starts a lane, paused.
    pub(super) fn engage(&mut self, weight: NonZeroU32) -> Lane {
        self.lanes.engage(weight)
    }

    pub(super) fn pause(&mut self, lane: Lane) {
        if self.lanes.is_live(lane) {
            self.lanes.pause(lane.slot);
        }
    }

    pub(super) fn resume(&mut self, lane: Lane) {
        if self.lanes.is_live(lane) {
            self.lanes.resume(lane.slot);
        }
    }

    /// Memory that is needed no more, for the caller to drop after the lock.
    pub(super) fn take_spent(&mut self) -> Option<Box<Spent<O>>> {
        self.spent.take()
    }

    /// How many items could be handed out now.
    pub(super) fn available(&self) -> usize {
        let permits = self.settings.permits().saturating_sub(self.running);
        usize::try_from(self.lanes.open)
            .unwrap_or(usize::MAX)
            .min(permits as usize)
    }

    /// When the wheel has to be looked at next.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.wheel.next().map(|tick| tick * wheel::TICK)
    }

    /// Running items that name the lane as target or home; none of a lane that is gone.
    pub(super) fn busy(&self, lane: Lane) -> usize {
        self.lanes.get(lane).map_or(0, |state| state.busy as usize)
    }

    pub(super) fn lane_counters(&self, lane: Lane) -> Option<LaneCounters> {
        self.lanes.get(lane).map(lane::LaneState::counters)
    }

    pub(super) fn counters(&self) -> QueueCounters {
        let [ready_high, ready_normal, ready_low] = self.lanes.ready;
        let table = self.table.capacity() * 8 / 7 * (size_of::<u32>() + 1);
        QueueCounters {
            lanes: self.lanes.engaged as usize,
            ready: ready_high + ready_normal + ready_low,
            ready_high,
            ready_normal,
            ready_low,
            delayed: self.delayed,
            running: self.running as usize,
            heap_bytes: self.slab.heap_bytes() + table + self.lanes.heap_bytes() + Wheel::heap_bytes(),
            ..self.totals
        }
    }

    /// Moves what is due to its lane; at most `budget` moves, so that the lock is held briefly.
    ///
    /// Returns whether nothing due is left.
    pub(super) fn advance(&mut self, now: u64, mut budget: u32) -> bool {
        self.tell(now);
        let tick = self.clock / wheel::TICK;
        while let Some(i) = self.wheel.expire(&mut self.slab, tick, &mut budget) {
            if self.slab[i].state == State::RunningWaiting {
                self.slab[i].state = State::RunningDirty;
            } else {
                self.left_waiting(i);
                self.make_ready(i);
            }
        }
        budget > 0
    }

    /// Takes note of the time; it never goes back.
    fn tell(&mut self, now: u64) -> u64 {
        self.clock = self.clock.max(now);
        self.clock
    }

    fn later(&self, delay: Duration) -> u64 {
        let micros = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        self.clock + micros.min(wheel::LONGEST)
    }

    /// Puts a record that is in no list where it belongs at `due`.
    fn schedule(&mut self, i: u32, due: u64) {
        self.slab[i].due = due;
        if due <= self.clock {
            self.make_ready(i);
        } else {
            self.slab[i].state = State::Waiting;
            self.delayed += 1;
            self.lanes.at_mut(self.slab[i].target).delayed += 1;
            self.wheel.insert(&mut self.slab, i);
            if self.slab[i].failures > 0 {
                self.begin_backoff(i);
            }
        }
    }

    fn make_ready(&mut self, i: u32) {
        self.slab[i].state = State::Ready;
        self.lanes.enqueue(&mut self.slab, i);
    }

    /// Keeps the numbers right for a record that was waiting and is out of the wheel.
    fn left_waiting(&mut self, i: u32) {
        self.delayed -= 1;
        self.lanes.at_mut(self.slab[i].target).delayed -= 1;
        if self.slab[i].failures > 0 {
            self.end_backoff(i);
        }
    }

    /// Forgets a record that is in no queue list; its object is for the caller to drop after the lock.
    fn release(&mut self, i: u32) -> Option<O> {
        let (hash, home, target) = {
            let record = &self.slab[i];
            (record.hash, record.home, record.target)
        };
        if let Ok(entry) = self.table.find_entry(hash, |&j| j == i) {
            entry.remove();
        }
        self.slab
            .unlink(&mut self.lanes.at_mut(target).targets, Chain::Target, i);
        self.lanes.reap(target);
        if home != target {
            self.slab
                .unlink(&mut self.lanes.at_mut(home).homes, Chain::Home, i);
            self.lanes.reap(home);
        }
        let object = self.slab.remove(i);
        if let Some(records) = self.slab.give_back() {
            let table = std::mem::take(&mut self.table);
            self.spent = Some(Box::new(Spent { records, table }));
        }
        object
    }

    /// Whether a record belongs to an ended lane.
    fn is_doomed(&self, i: u32) -> bool {
        let record = &self.slab[i];
        self.lanes.has_ended(record.target) || self.lanes.has_ended(record.home)
    }
}
