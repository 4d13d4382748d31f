//! Adding keys: a record per key, and what merging two adds of one key means.
use std::time::Duration;

use super::slab::{Chain, Record, State};
use super::{Core, Lane, Priority};

/// One add, hashed outside the lock.
pub(in super::super) struct Addition<O> {
    pub(in super::super) home: Lane,
    pub(in super::super) target: Lane,
    /// Taken if it makes a new key, else left for the caller to drop after the lock.
    pub(in super::super) object: Option<O>,
    pub(in super::super) hash: u64,
}

impl<O: Eq> Core<O> {
    /// Adds a key, or merges into the one that is there: the earlier due and the higher priority win.
    pub(in super::super) fn add(
        &mut self,
        now: u64,
        addition: &mut Addition<O>,
        priority: Priority,
        delay: Option<Duration>,
    ) {
        let now = self.tell(now);
        let due = delay.map_or(now, |delay| self.later(delay));
        if !self.lanes.is_live(addition.home) || !self.lanes.is_live(addition.target) {
            self.ignore();
            return;
        }
        let Some(object) = addition.object.take() else {
            return;
        };
        let (home, target) = (addition.home.slot, addition.target.slot);
        if let Some(i) = self.find(addition.hash, home, target, &object) {
            addition.object = Some(object);
            self.totals.merged += 1;
            self.merge(i, due, priority);
        } else {
            self.totals.added += 1;
            let i = self.insert(Record::new(object, addition.hash, home, target));
            self.slab[i].priority = priority;
            self.schedule(i, due);
        }
    }

    /// Resets the failures of a key: what carries its name is another object now.
    pub(in super::super) fn forget(&mut self, home: Lane, target: Lane, object: &O, hash: u64) {
        if !self.lanes.is_live(home) || !self.lanes.is_live(target) {
            return;
        }
        if let Some(i) = self.find(hash, home.slot, target.slot, object) {
            if self.slab[i].state == State::Waiting && self.slab[i].failures > 0 {
                self.end_backoff(i);
            }
            self.slab[i].failures = 0;
        }
    }

    fn find(&self, hash: u64, home: u32, target: u32, object: &O) -> Option<u32> {
        self.table
            .find(hash, |&i| self.slab[i].is(hash, home, target, object))
            .copied()
    }

    fn insert(&mut self, record: Record<O>) -> u32 {
        let (hash, home, target) = (record.hash, record.home, record.target);
        let i = self.slab.insert(record);
        let slab = &self.slab;
        self.table.insert_unique(hash, i, |&j| slab[j].hash);
        self.slab
            .push_back(&mut self.lanes.at_mut(target).targets, Chain::Target, i);
        if home != target {
            self.slab
                .push_back(&mut self.lanes.at_mut(home).homes, Chain::Home, i);
        }
        i
    }

    fn merge(&mut self, i: u32, due: u64, priority: Priority) {
        let (state, held, held_due) = {
            let record = &self.slab[i];
            (record.state, record.priority, record.due)
        };
        let higher = held.max(priority);
        match state {
            State::Ready if higher == held => {}
            State::Ready => {
                self.lanes.dequeue(&mut self.slab, i);
                self.slab[i].priority = higher;
                self.lanes.enqueue(&mut self.slab, i);
            }
            State::Waiting => {
                self.slab[i].priority = higher;
                if due < held_due {
                    self.wheel.remove(&mut self.slab, i);
                    self.left_waiting(i);
                    self.schedule(i, due);
                }
            }
            // What it was handed out with counts no more: this add is the first of the next run.
            State::Running => {
                self.slab[i].priority = priority;
                self.want_again(i, due);
            }
            State::RunningDirty => self.slab[i].priority = higher,
            State::RunningWaiting => {
                self.slab[i].priority = higher;
                if due < held_due {
                    self.wheel.remove(&mut self.slab, i);
                    self.want_again(i, due);
                }
            }
            State::Condemned => {}
        }
    }

    /// Notes that a running record is to run once more.
    fn want_again(&mut self, i: u32, due: u64) {
        self.slab[i].due = due;
        if due <= self.clock {
            self.slab[i].state = State::RunningDirty;
        } else {
            self.slab[i].state = State::RunningWaiting;
            self.wheel.insert(&mut self.slab, i);
        }
    }
}

impl<O> Core<O> {
    /// Counts an add that came too late.
    pub(in super::super) fn ignore(&mut self) {
        self.totals.ignored += 1;
    }
}
