//! Who waits for an item, and who for a lane to be idle: wakers kept under the queue's lock and called after it.
use std::collections::VecDeque;
use std::task::Waker;

use super::Lane;

/// A future's place among the waiters; empty when it has none.
#[derive(Debug, Default)]
pub(in super::super) struct Ticket(Option<u64>);

impl Ticket {
    pub(in super::super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

/// Wakers to be called once the lock is released.
#[must_use = "whoever is not woken waits for ever"]
#[derive(Default)]
pub(in super::super) struct Wakes {
    // Mostly there is none or one: no allocation for that.
    first: Option<Waker>,
    rest: Vec<Waker>,
}

impl Wakes {
    #[inline]
    pub(in super::super) fn wake(self) {
        if let Some(first) = self.first {
            first.wake();
            self.rest.into_iter().for_each(Waker::wake);
        }
    }

    fn push(&mut self, waker: Waker) {
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.rest.push(waker);
        }
    }
}

/// Futures that wait for an item, first come first woken.
///
/// What must hold whenever the lock is released: as many have been woken and have not come yet as there are
/// items to be had, or nobody else waits. And if the wheel holds something, one of them has set its timer to it.
#[derive(Default)]
pub(super) struct Waiters {
    queue: VecDeque<(u64, Waker)>,
    /// The one that sleeps until the wheel has to be looked at; it too takes items, but last.
    keeper: Option<Keeper>,
    /// Woken, and neither come nor gone since.
    woken: usize,
    last: u64,
}

struct Keeper {
    id: u64,
    waker: Waker,
    until: u64,
}

impl Waiters {
    /// Registers a future that found nothing; if it is the one to keep the time, returns until when to sleep.
    pub(super) fn enter(&mut self, ticket: &mut Ticket, waker: &Waker, due: Option<u64>) -> Option<u64> {
        self.last += 1;
        ticket.0 = Some(self.last);
        let (id, waker) = (self.last, waker.clone());
        match due {
            Some(until) if self.is_unkept(due) => {
                let former = self.keeper.replace(Keeper { id, waker, until });
                self.queue.extend(former.map(|keeper| (keeper.id, keeper.waker)));
                Some(until)
            }
            _ => {
                self.queue.push_back((id, waker));
                None
            }
        }
    }

    /// Takes back a registration: the future has come, woken or not, or is dropped.
    pub(super) fn leave(&mut self, ticket: &mut Ticket) {
        let Some(id) = ticket.0.take() else { return };
        if self.keeper.as_ref().is_some_and(|keeper| keeper.id == id) {
            self.keeper = None;
        } else if let Some(at) = self.queue.iter().position(|(other, _)| *other == id) {
            self.queue.remove(at);
        } else {
            self.woken -= 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.keeper.is_none()
    }

    /// Restores what must hold, before the lock is released.
    ///
    /// A future that was woken and is dropped before it came is not counted any more: another is woken in its place.
    pub(super) fn settle(&mut self, available: usize, due: impl FnOnce() -> Option<u64>) -> Wakes {
        let mut wakes = Wakes::default();
        if self.is_empty() {
            return wakes;
        }
        let wanted = available.max(usize::from(self.is_unkept(due())));
        while self.woken < wanted {
            let Some(next) = self.take() else { break };
            self.woken += 1;
            wakes.push(next);
        }
        wakes
    }

    /// Wakes all: the queue is closed.
    pub(super) fn dismiss(&mut self) -> Wakes {
        self.settle(usize::MAX, || None)
    }

    fn take(&mut self) -> Option<Waker> {
        match self.queue.pop_front() {
            Some((_, waker)) => Some(waker),
            None => self.keeper.take().map(|keeper| keeper.waker),
        }
    }

    fn is_unkept(&self, due: Option<u64>) -> bool {
        due.is_some_and(|due| self.keeper.as_ref().is_none_or(|keeper| due < keeper.until))
    }
}

/// Futures that wait for a lane to have nothing running.
#[derive(Default)]
pub(super) struct Idlers {
    waiting: Vec<(Lane, u64, Waker)>,
    last: u64,
}

impl Idlers {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn enter(&mut self, ticket: &mut Ticket, lane: Lane, waker: &Waker) {
        self.leave(ticket);
        self.last += 1;
        ticket.0 = Some(self.last);
        self.waiting.push((lane, self.last, waker.clone()));
    }

    pub(super) fn leave(&mut self, ticket: &mut Ticket) {
        if let Some(id) = ticket.0.take() {
            self.waiting.retain(|(_, other, _)| *other != id);
        }
    }

    /// Takes the wakers of the lanes that are idle now.
    pub(super) fn settle(&mut self, is_idle: impl Fn(Lane) -> bool, wakes: &mut Wakes) {
        for (_, _, waker) in self.waiting.extract_if(.., |(lane, _, _)| is_idle(*lane)) {
            wakes.push(waker);
        }
    }
}
