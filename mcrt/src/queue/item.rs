//! An item that was handed out: it holds its key and its permit until it is done.
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Shared;
use super::core::{Lane, Outcome, Popped, Priority};

/// A key that was handed out; no other item of the same key exists until it is done.
///
/// Dropping it without [`done`](Item::done) counts as a failure, so that a task that is aborted or panics never
/// locks its key.
#[must_use = "an item that is dropped counts as failed"]
pub struct Item<O> {
    shared: Arc<Shared<O>>,
    popped: Popped<O>,
    is_done: bool,
}

impl<O> Item<O> {
    pub(super) fn new(shared: Arc<Shared<O>>, popped: Popped<O>) -> Self {
        Self {
            shared,
            popped,
            is_done: false,
        }
    }

    /// The cluster of the object.
    pub fn home(&self) -> Lane {
        self.popped.home
    }

    /// The cluster where the work goes.
    pub fn target(&self) -> Lane {
        self.popped.target
    }

    /// The object.
    pub fn object(&self) -> &O {
        &self.popped.object
    }

    /// How often the key has failed in a row so far.
    pub fn attempt(&self) -> u32 {
        self.popped.failures
    }

    /// Whether the queue gives the key up if it fails now: its retries are used up.
    pub fn is_last_try(&self) -> bool {
        self.shared.gate.lock().is_last_try(self.popped.index)
    }

    /// The priority it was handed out with.
    pub fn priority(&self) -> Priority {
        self.popped.priority
    }

    /// When it was due: when it was added or its delay was over.
    pub fn due(&self) -> Instant {
        self.shared.instant(self.popped.due)
    }

    /// How long it was due before it was handed out.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.popped.at - self.popped.due)
    }

    /// Gives the key and the permit back.
    pub fn done(mut self, outcome: Outcome) {
        self.finish(outcome);
    }

    fn finish(&mut self, outcome: Outcome) {
        if !std::mem::replace(&mut self.is_done, true) {
            self.shared
                .finish(self.popped.index, self.popped.priority, outcome);
        }
    }
}

impl<O> Drop for Item<O> {
    fn drop(&mut self) {
        self.finish(Outcome::Retry);
    }
}

impl<O: fmt::Debug> fmt::Debug for Item<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("home", &self.popped.home)
            .field("target", &self.popped.target)
            .field("object", &self.popped.object)
            .field("priority", &self.popped.priority)
            .field("attempt", &self.popped.failures)
            .finish_non_exhaustive()
    }
}
