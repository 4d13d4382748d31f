//! The end of a run: what its outcome makes of the key.
use std::time::Duration;

use super::slab::State;
use super::{Core, Priority};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well: its failures are forgotten.
    Done,
    /// Well, and it is to run again after this time, at normal priority: its failures are forgotten.
    Requeue(Duration),
    /// It failed: it is tried again after its own exponential backoff, at normal priority.
    Retry,
    /// It failed: it is tried again after this time, at normal priority.
    RetryAfter(Duration),
    /// It failed in a way that trying again does not help: its failures are forgotten, and it runs again only when added.
    GiveUp,
    /// It could not start: it is ready again at its own priority, and nothing counts as failed.
    Deferred,
}

/// A run that is to come: how urgent, and when.
type Next = (Priority, u64);

impl<O> Core<O> {
    /// Takes back a key that was handed out at priority `own`, and its permit.
    ///
    /// Returns the object when the key is gone, for the caller to drop after the lock.
    pub(in super::super) fn finish(
        &mut self,
        now: u64,
        index: u32,
        own: Priority,
        outcome: Outcome,
    ) -> Option<O> {
        self.tell(now);
        let (home, target) = (self.slab[index].home, self.slab[index].target);
        self.running -= 1;
        self.lanes.at_mut(target).busy -= 1;
        if home != target {
            self.lanes.at_mut(home).busy -= 1;
        }
        let wanted = self.wanted_again(index);
        let freed = if self.is_doomed(index) {
            self.lanes.finish(target);
            return self.release(index);
        } else {
            match earlier(self.outcome(index, own, outcome), wanted) {
                Some((priority, due)) => {
                    self.slab[index].priority = priority;
                    self.schedule(index, due);
                    None
                }
                None => self.release(index),
            }
        };
        self.lanes.finish(target);
        freed
    }

    /// Whether the key has used up its retries if it fails now.
    pub(in super::super) fn is_last_try(&self, i: u32) -> bool {
        let failures = u32::from(self.slab[i].failures).saturating_add(1);
        self.settings.backoff.exhausted(failures)
    }

    /// What was added while it ran.
    fn wanted_again(&mut self, i: u32) -> Option<Next> {
        let record = &self.slab[i];
        let (state, next) = (record.state, (record.priority, record.due));
        if state == State::RunningWaiting {
            self.wheel.remove(&mut self.slab, i);
        }
        (state != State::Running).then_some(next)
    }

    /// What the outcome itself asks for; also keeps the failures and the totals.
    fn outcome(&mut self, i: u32, own: Priority, outcome: Outcome) -> Option<Next> {
        match outcome {
            Outcome::Done => self.succeed(i, None),
            Outcome::Requeue(delay) => self.succeed(i, Some(delay)),
            Outcome::Retry => self.fail(i, None),
            Outcome::RetryAfter(delay) => self.fail(i, Some(delay)),
            Outcome::GiveUp => self.give_up(i),
            Outcome::Deferred => {
                self.totals.deferred += 1;
                Some((own, self.clock))
            }
        }
    }

    fn succeed(&mut self, i: u32, again: Option<Duration>) -> Option<Next> {
        self.totals.succeeded += 1;
        self.slab[i].failures = 0;
        again.map(|delay| (Priority::Normal, self.later(delay)))
    }

    fn fail(&mut self, i: u32, delay: Option<Duration>) -> Option<Next> {
        let failures = self.slab[i].failures.saturating_add(1);
        self.slab[i].failures = failures;
        let failures = u32::from(failures);
        if self.settings.backoff.exhausted(failures) {
            return self.give_up(i);
        }
        self.totals.retries += 1;
        let seed = self.slab[i].hash ^ self.clock ^ u64::from(failures);
        let delay = delay.unwrap_or_else(|| self.settings.backoff.delay(failures, seed));
        Some((Priority::Normal, self.later(delay)))
    }

    fn give_up(&mut self, i: u32) -> Option<Next> {
        self.totals.given_up += 1;
        self.slab[i].failures = 0;
        None
    }
}

/// Merges two reasons to run again: the higher priority and the earlier time.
fn earlier(one: Option<Next>, other: Option<Next>) -> Option<Next> {
    match (one, other) {
        (Some((p, t)), Some((q, u))) => Some((p.max(q), t.min(u))),
        (one, other) => one.or(other),
    }
}
