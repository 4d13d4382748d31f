//! What stands behind the lock: the core and its waiters, kept in step by every call.
use std::num::NonZeroU32;
use std::task::Waker;
use std::time::Duration;

use super::waiters::{Idlers, Ticket, Waiters, Wakes};
use super::{
    Addition, Core, Lane, LaneCounters, Outcome, Popped, Priority, Purged, QueueCounters, QueueSettings,
    Spent,
};

/// Moves out of the wheel in one hold of the lock.
const MOVES: u32 = 4096;

/// What a waiting future finds.
pub(in super::super) enum Step<O> {
    /// An item.
    Item(Popped<O>),
    /// The queue is closed.
    Closed,
    /// Nothing yet, and more to move: release the lock and ask again.
    Again,
    /// Nothing: it is registered, and is to sleep until this time if one is given.
    Wait(Option<u64>),
}

/// What a finished item leaves, to be dropped after the lock: the object, if its key is gone, and spent memory.
pub(in super::super) type Freed<O> = (Option<O>, Option<Box<Spent<O>>>);

/// The queue under its lock. Wakers and objects that calls return are for use and dropping after the lock.
pub(in super::super) struct Gate<O> {
    core: Core<O>,
    waiters: Waiters,
    idlers: Idlers,
    closed: bool,
}

impl<O> Gate<O> {
    pub(in super::super) fn new(settings: QueueSettings) -> Self {
        Self {
            core: Core::new(settings),
            waiters: Waiters::default(),
            idlers: Idlers::default(),
            closed: false,
        }
    }

    pub(in super::super) fn engage(&mut self, weight: NonZeroU32) -> (Lane, Wakes) {
        let lane = self.core.engage(weight);
        (lane, self.settle())
    }

    pub(in super::super) fn pause(&mut self, lane: Lane) {
        self.core.pause(lane);
    }

    pub(in super::super) fn resume(&mut self, lane: Lane) -> Wakes {
        self.core.resume(lane);
        self.settle()
    }

    /// How many keys of the lane back off.
    pub(in super::super) fn failing(&self, lane: Lane) -> usize {
        self.core.failing(lane)
    }

    /// Makes some of them ready; true if there are more.
    pub(in super::super) fn wake_some(
        &mut self,
        now: u64,
        lane: Lane,
        limit: usize,
        left: &mut usize,
    ) -> (bool, Wakes) {
        let more = self.core.wake_some(now, lane, limit, left);
        (more, self.settle())
    }

    /// Ends a lane; to be followed by [`purge_some`](Gate::purge_some). Others may run without a cap now.
    pub(in super::super) fn end(&mut self, lane: Lane) -> Wakes {
        self.core.end(lane);
        self.settle()
    }

    pub(in super::super) fn purge_some(&mut self, lane: Lane, limit: usize, freed: &mut Vec<O>) -> bool {
        self.core.purge_some(lane, limit, freed)
    }

    /// Memory that is needed no more once the last key is gone.
    pub(in super::super) fn take_spent(&mut self) -> Option<Box<Spent<O>>> {
        self.core.take_spent()
    }

    pub(in super::super) fn purged(&self, lane: Lane, removed: usize) -> Purged {
        self.core.purged(lane, removed)
    }

    pub(in super::super) fn crossing(&self, lane: Lane) -> Vec<(Lane, Lane, O)>
    where
        O: Clone,
    {
        self.core.crossing(lane)
    }

    /// Whether a key that was handed out has no retry left after this one.
    pub(in super::super) fn is_last_try(&self, index: u32) -> bool {
        self.core.is_last_try(index)
    }

    pub(in super::super) fn finish(
        &mut self,
        now: u64,
        index: u32,
        own: Priority,
        outcome: Outcome,
    ) -> (Freed<O>, Wakes) {
        let object = self.core.finish(now, index, own, outcome);
        let freed = (object, self.core.take_spent());
        let mut wakes = self.settle();
        if !self.idlers.is_empty() {
            self.idlers.settle(|lane| self.core.busy(lane) == 0, &mut wakes);
        }
        (freed, wakes)
    }

    /// Whether nothing of the lane runs; registers the future if something does.
    pub(in super::super) fn poll_idle(&mut self, lane: Lane, ticket: &mut Ticket, waker: &Waker) -> bool {
        self.idlers.leave(ticket);
        let idle = self.core.busy(lane) == 0;
        if !idle {
            self.idlers.enter(ticket, lane, waker);
        }
        idle
    }

    pub(in super::super) fn leave_idle(&mut self, ticket: &mut Ticket) {
        self.idlers.leave(ticket);
    }

    /// Drops a waiting future's registration; a wake it had passes on.
    pub(in super::super) fn leave(&mut self, ticket: &mut Ticket) -> Wakes {
        self.waiters.leave(ticket);
        self.settle()
    }

    pub(in super::super) fn close(&mut self) -> Wakes {
        self.closed = true;
        self.waiters.dismiss()
    }

    pub(in super::super) fn counters(&self) -> QueueCounters {
        self.core.counters()
    }

    pub(in super::super) fn lane_counters(&self, lane: Lane) -> Option<LaneCounters> {
        self.core.lane_counters(lane)
    }

    #[inline]
    fn settle(&mut self) -> Wakes {
        if self.waiters.is_empty() {
            // Under load nobody waits: that is not to cost a call.
            return Wakes::default();
        }
        self.waiters
            .settle(self.core.available(), || self.core.next_due())
    }
}

impl<O: Eq> Gate<O> {
    pub(in super::super) fn add<'a>(
        &mut self,
        now: u64,
        additions: impl IntoIterator<Item = &'a mut Addition<O>>,
        priority: Priority,
        delay: Option<Duration>,
    ) -> Wakes
    where
        O: 'a,
    {
        for addition in additions {
            if self.closed {
                self.core.ignore();
            } else {
                self.core.add(now, addition, priority, delay);
            }
        }
        self.settle()
    }

    pub(in super::super) fn forget(&mut self, home: Lane, target: Lane, object: &O, hash: u64) {
        self.core.forget(home, target, object, hash);
    }
}

impl<O: Clone> Gate<O> {
    /// One poll of a future that waits for an item.
    pub(in super::super) fn poll_pop(
        &mut self,
        now: u64,
        ticket: &mut Ticket,
        waker: &Waker,
    ) -> (Step<O>, Wakes) {
        self.waiters.leave(ticket);
        let step = match self.step(now) {
            Step::Wait(due) => Step::Wait(self.waiters.enter(ticket, waker, due)),
            step => step,
        };
        (
            step,
            if self.closed {
                Wakes::default()
            } else {
                self.settle()
            },
        )
    }

    /// The next item, if one can start now.
    pub(in super::super) fn try_pop(&mut self, now: u64) -> (Step<O>, Wakes) {
        (self.step(now), self.settle())
    }

    fn step(&mut self, now: u64) -> Step<O> {
        if self.closed {
            return Step::Closed;
        }
        let all_moved = self.core.advance(now, MOVES);
        match self.core.pop(now) {
            Some(popped) => Step::Item(popped),
            None if !all_moved => Step::Again,
            None => Step::Wait(self.core.next_due()),
        }
    }
}
