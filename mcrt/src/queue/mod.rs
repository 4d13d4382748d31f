//! The fair queue: a lane per cluster, three priorities, caps, delays and backoff, and one record per key.
//!
//! A key is (home, target, object): the object with the cluster it lives in, and the cluster where the work goes.
//! It is queued in its target's lane, and goes when either cluster's lane is purged.
//!
//! # Guarantees
//! - At most one item of a key is out at a time; a key added while it is out runs once more after it.
//! - Every add is followed by a run that begins after it, unless a lane it names ends or the queue closes.
//! - Of several delays of one key the earliest wins; merging never lowers its priority.
//! - Two lanes of equal weight that both have work of one priority and are below their caps are served alike,
//!   to within two items. A lane that newly has work is served next, whatever the others' backlog.
//! - Each lower priority is served at least once in nine while it has work.
//! - No lane has more items out than its cap, all lanes together no more than there are permits.
//! - Nothing of a lane is handed out after its purge returns.
//!
//! # Assumptions
//! Hashing and comparing objects does not panic and does not call the queue: comparing happens under its lock.
mod core;
mod item;
#[cfg(test)]
mod tests;
mod wait;

use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use self::core::{Addition, Gate, Step};
use self::wait::{Idle, Pop};

pub use self::core::{Backoff, Lane, LaneCounters, Outcome, Priority, Purged, QueueCounters, QueueSettings};
pub use self::item::Item;

/// Keys removed in one hold of the lock.
const PURGED: usize = 4096;

/// Keys looked at in one hold of the lock to find those that back off.
const WOKEN: usize = 1024;

/// Keys added in one hold of the lock: few, so that in a storm of adds whoever takes items does not wait for long.
const ADDED: usize = 16;

/// The queue of one controller; clones share it.
pub struct FairQueue<O> {
    shared: Arc<Shared<O>>,
}

struct Shared<O> {
    gate: Apart<Mutex<Gate<O>>>,
    /// Who adds many keys waits here for the others who do: at the gate there is one of them at most, so that those
    /// who take items always come to their turn.
    adders: Mutex<()>,
    hasher: ahash::RandomState,
    /// Time zero of the core.
    base: Instant,
}

/// On cache lines of its own: what changes under the lock does not take away the hasher from those who hash.
#[repr(align(128))]
struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<O> Shared<O> {
    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn instant(&self, micros: u64) -> Instant {
        self.base + Duration::from_micros(micros)
    }

    fn finish(&self, index: u32, own: Priority, outcome: Outcome) {
        // Only delays need the time, and reading the clock is a good part of the cost: zero is "no news" to the core.
        let now = match outcome {
            Outcome::Done | Outcome::GiveUp => 0,
            _ => self.now(),
        };
        let (freed, wakes) = self.gate.lock().finish(now, index, own, outcome);
        wakes.wake();
        drop(freed);
    }
}

impl<O: Eq> Shared<O> {
    fn add_some(&self, some: &mut [Addition<O>], priority: Priority) {
        let now = self.now();
        let turn = self.adders.lock();
        let wakes = self.gate.lock().add(now, some, priority, None);
        drop(turn);
        wakes.wake();
    }
}

impl<O> FairQueue<O>
where
    O: Clone + Eq + Hash + Send + Sync + 'static,
{
    /// An empty queue without lanes.
    pub fn new(settings: QueueSettings) -> Self {
        let shared = Shared {
            gate: Apart(Mutex::new(Gate::new(settings))),
            adders: Mutex::new(()),
            hasher: ahash::RandomState::new(),
            base: Instant::now(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Starts a lane, paused; it is served `weight` items in its turn.
    pub fn engage(&self, weight: NonZeroU32) -> Lane {
        let (lane, wakes) = self.shared.gate.lock().engage(weight);
        wakes.wake();
        lane
    }

    /// Hands out the lane's keys from now on.
    pub fn resume(&self, lane: Lane) {
        let wakes = self.shared.gate.lock().resume(lane);
        wakes.wake();
    }

    /// Keeps the lane's keys, each once, and hands out none; what runs is not touched.
    pub fn pause(&self, lane: Lane) {
        self.shared.gate.lock().pause(lane);
    }

    /// Makes every key of the lane ready that backs off after a failure, as home or target: what made them fail is
    /// over. Their failures are not forgotten, and other delays are kept.
    ///
    /// Takes time in the keys that back off, a few in each hold of the lock.
    pub fn wake(&self, lane: Lane) {
        // What fails anew meanwhile is not woken again.
        let mut left = self.shared.gate.lock().failing(lane);
        while left > 0 {
            let now = self.shared.now();
            let (more, wakes) = self.shared.gate.lock().wake_some(now, lane, WOKEN, &mut left);
            wakes.wake();
            if !more {
                return;
            }
        }
    }

    /// Ends the lane: drops its keys, as home or target, whether ready, delayed or backing off.
    ///
    /// Later adds that name it are ignored. Items that run are released when they are done.
    pub fn purge(&self, lane: Lane) -> Purged {
        let wakes = self.shared.gate.lock().end(lane);
        wakes.wake();
        let (mut removed, mut freed) = (0, Vec::with_capacity(PURGED));
        loop {
            let (more, spent) = {
                let mut gate = self.shared.gate.lock();
                (gate.purge_some(lane, PURGED, &mut freed), gate.take_spent())
            };
            removed += freed.len();
            // Freeing takes longer than all the rest: it comes between two holds of the lock, so that whoever takes
            // items comes to its turn, and not all of a huge lane is freed at the end.
            freed.clear();
            drop(spent);
            if !more {
                return self.shared.gate.lock().purged(lane, removed);
            }
        }
    }

    /// The keys between this lane and others, as (home, target, object), those that run included: what a purge of
    /// the lane takes along and nothing that is listed anew brings back. Takes time in all keys of the lane, under
    /// the lock.
    pub fn crossing(&self, lane: Lane) -> Vec<(Lane, Lane, O)> {
        self.shared.gate.lock().crossing(lane)
    }

    /// Adds a key, to run as soon as its turn comes.
    pub fn add(&self, home: Lane, target: Lane, object: O, priority: Priority) {
        self.insert(home, target, object, priority, None);
    }

    /// Adds a key, to run after `delay`, or earlier if it is added again for an earlier time.
    pub fn add_after(&self, home: Lane, target: Lane, object: O, priority: Priority, delay: Duration) {
        self.insert(home, target, object, priority, Some(delay));
    }

    /// Adds many keys, such as a page of a list, in their order: a few in each hold of the lock, and those are served
    /// while the next are made. `keys` is advanced outside of the lock.
    pub fn add_all(&self, keys: impl IntoIterator<Item = (Lane, Lane, O)>, priority: Priority) {
        let mut additions = keys
            .into_iter()
            .map(|(home, target, object)| self.addition(home, target, object));
        let mut some = Vec::with_capacity(ADDED);
        loop {
            some.extend(additions.by_ref().take(ADDED));
            if some.is_empty() {
                return;
            }
            self.shared.add_some(&mut some, priority);
            // What was there already is dropped here, between two holds of the lock.
            some.clear();
        }
    }

    /// Resets the failures of a key, since what carries its name is another object now.
    pub fn forget(&self, home: Lane, target: Lane, object: &O) {
        let hash = self.hash(home, target, object);
        self.shared.gate.lock().forget(home, target, object, hash);
    }

    /// Waits for the next item; `None` once the queue is closed.
    ///
    /// Safe to cancel: no item is lost, and a wake-up it had passes on to another waiter.
    pub async fn pop(&self) -> Option<Item<O>> {
        Pop::new(&self.shared).await
    }

    /// The next item, if one can start now.
    pub fn try_pop(&self) -> Option<Item<O>> {
        loop {
            let now = self.shared.now();
            let (step, wakes) = self.shared.gate.lock().try_pop(now);
            wakes.wake();
            match step {
                Step::Item(popped) => return Some(Item::new(Arc::clone(&self.shared), popped)),
                Step::Again => {}
                Step::Closed | Step::Wait(_) => return None,
            }
        }
    }

    /// Ignores adds and hands out nothing from now on; whoever waits gets `None`.
    pub fn close(&self) {
        let wakes = self.shared.gate.lock().close();
        wakes.wake();
    }

    /// What the queue holds and has done.
    pub fn counters(&self) -> QueueCounters {
        self.shared.gate.lock().counters()
    }

    /// What a lane holds and has done; `None` once it has ended and nothing of it runs.
    pub fn lane_counters(&self, lane: Lane) -> Option<LaneCounters> {
        self.shared.gate.lock().lane_counters(lane)
    }

    /// Waits until no item that names the lane, as home or target, is out.
    pub async fn idle(&self, lane: Lane) {
        Idle::new(&self.shared, lane).await;
    }

    fn insert(&self, home: Lane, target: Lane, object: O, priority: Priority, delay: Option<Duration>) {
        let mut addition = self.addition(home, target, object);
        let now = self.shared.now();
        let wakes = self.shared.gate.lock().add(now, [&mut addition], priority, delay);
        wakes.wake();
    }

    fn addition(&self, home: Lane, target: Lane, object: O) -> Addition<O> {
        let hash = self.hash(home, target, &object);
        Addition {
            home,
            target,
            object: Some(object),
            hash,
        }
    }

    fn hash(&self, home: Lane, target: Lane, object: &O) -> u64 {
        self.shared.hasher.hash_one((home.slot(), target.slot(), object))
    }
}

impl<O> Clone for FairQueue<O> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<O> fmt::Debug for FairQueue<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FairQueue")
            .field("counters", &self.shared.gate.lock().counters())
            .finish()
    }
}
