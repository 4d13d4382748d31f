//! Loom models of the fair queue.
//!
//! The queue's core, its waker list included, is compiled here from the same files behind loom's mutex; only the
//! lock and the two futures around it are this crate's own, as thin as those of the real door.

#[allow(dead_code, unused_imports, unreachable_pub)]
#[path = "../../../mcrt/src/queue/core/mod.rs"]
mod core;

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::{fmt, mem};

use loom::sync::{Arc, Mutex, MutexGuard};

use self::core::{Addition, Gate, Popped, Step, Ticket};
pub use self::core::{Backoff, Lane, Outcome, Priority, Purged, QueueCounters, QueueSettings};

/// The queue of keys that are numbers, at time zero.
#[derive(Clone)]
pub struct Queue(Arc<Mutex<Gate<u32>>>);

impl Queue {
    /// An empty queue.
    pub fn new(settings: QueueSettings) -> Self {
        Self(Arc::new(Mutex::new(Gate::new(settings))))
    }

    /// Starts a lane and resumes it.
    pub fn engage(&self) -> Lane {
        let (lane, wakes) = self.lock().engage(NonZeroU32::MIN);
        wakes.wake();
        let wakes = self.lock().resume(lane);
        wakes.wake();
        lane
    }

    /// Adds a key whose home and target are the same.
    pub fn add(&self, lane: Lane, object: u32) {
        let mut addition = Addition {
            home: lane,
            target: lane,
            object: Some(object),
            hash: object.into(),
        };
        let wakes = self.lock().add(0, [&mut addition], Priority::Normal, None);
        wakes.wake();
    }

    /// Makes the keys ready that back off, a record per hold of the lock.
    pub fn wake(&self, lane: Lane) {
        let mut left = self.lock().failing(lane);
        while left > 0 {
            let (more, wakes) = self.lock().wake_some(0, lane, 1, &mut left);
            wakes.wake();
            if !more {
                return;
            }
        }
    }

    /// Ends a lane, a key per hold of the lock.
    pub fn purge(&self, lane: Lane) -> Purged {
        let wakes = self.lock().end(lane);
        wakes.wake();
        let (mut removed, mut freed) = (0, Vec::new());
        loop {
            let more = self.lock().purge_some(lane, 1, &mut freed);
            removed += freed.len();
            freed.clear();
            if !more {
                return self.lock().purged(lane, removed);
            }
        }
    }

    /// Waits for an item.
    pub fn pop(&self) -> Pop {
        Pop {
            queue: self.clone(),
            ticket: Ticket::default(),
        }
    }

    /// Waits until nothing of a lane runs.
    pub fn idle(&self, lane: Lane) -> Idle {
        Idle {
            queue: self.clone(),
            lane,
            ticket: Ticket::default(),
        }
    }

    /// Lets whoever waits go.
    pub fn close(&self) {
        let wakes = self.lock().close();
        wakes.wake();
    }

    /// What the queue holds and has done.
    pub fn counters(&self) -> QueueCounters {
        self.lock().counters()
    }

    fn lock(&self) -> MutexGuard<'_, Gate<u32>> {
        self.0.lock().expect("no model panics while it holds the lock")
    }
}

/// A key that was handed out.
pub struct Item {
    queue: Queue,
    popped: Popped<u32>,
}

impl Item {
    /// The key.
    pub fn object(&self) -> u32 {
        self.popped.object
    }

    /// Gives the key back.
    pub fn done(self, outcome: Outcome) {
        let (_, wakes) = self
            .queue
            .lock()
            .finish(0, self.popped.index, self.popped.priority, outcome);
        wakes.wake();
    }
}

/// Waits for an item.
pub struct Pop {
    queue: Queue,
    ticket: Ticket,
}

impl Future for Pop {
    type Output = Option<Item>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        let mut ticket = mem::take(&mut self.ticket);
        let (step, wakes) = self.queue.lock().poll_pop(0, &mut ticket, cx.waker());
        self.ticket = ticket;
        wakes.wake();
        match step {
            Step::Item(popped) => Poll::Ready(Some(Item {
                queue: self.queue.clone(),
                popped,
            })),
            Step::Closed => Poll::Ready(None),
            Step::Wait(_) | Step::Again => Poll::Pending,
        }
    }
}

impl Drop for Pop {
    fn drop(&mut self) {
        let mut ticket = mem::take(&mut self.ticket);
        if !ticket.is_empty() {
            let wakes = self.queue.lock().leave(&mut ticket);
            wakes.wake();
        }
    }
}

/// Waits until nothing of a lane runs.
pub struct Idle {
    queue: Queue,
    lane: Lane,
    ticket: Ticket,
}

impl Future for Idle {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut ticket = mem::take(&mut self.ticket);
        let is_idle = self.queue.lock().poll_idle(self.lane, &mut ticket, cx.waker());
        self.ticket = ticket;
        if is_idle { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let mut ticket = mem::take(&mut self.ticket);
        self.queue.lock().leave_idle(&mut ticket);
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Queue")
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Item({})", self.object())
    }
}

impl fmt::Debug for Pop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pop")
    }
}

impl fmt::Debug for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Idle({:?})", self.lane)
    }
}
