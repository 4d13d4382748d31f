//! The futures that wait at the queue: for an item, and for a lane to be idle.
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::{Sleep, sleep_until};

use super::core::{Lane, Step, Ticket};
use super::{Item, Shared};

/// Waits for an item. Safe to drop at any time: a wake it had passes on to the next waiter.
pub(super) struct Pop<'a, O> {
    shared: &'a Arc<Shared<O>>,
    ticket: Ticket,
    /// Set while this is the waiter that keeps the time: there is no timer task.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<'a, O> Pop<'a, O> {
    pub(super) fn new(shared: &'a Arc<Shared<O>>) -> Self {
        Self {
            shared,
            ticket: Ticket::default(),
            sleep: None,
        }
    }

    /// Sets the timer; ready if the time has come already.
    fn sleep(&mut self, until: u64, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.shared.instant(until);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(cx)
    }
}

impl<O: Clone> Future for Pop<'_, O> {
    type Output = Option<Item<O>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let now = this.shared.now();
            let (step, wakes) = this
                .shared
                .gate
                .lock()
                .poll_pop(now, &mut this.ticket, cx.waker());
            wakes.wake();
            match step {
                Step::Item(popped) => return Poll::Ready(Some(Item::new(Arc::clone(this.shared), popped))),
                Step::Closed => return Poll::Ready(None),
                Step::Again => {}
                Step::Wait(None) => {
                    this.sleep = None;
                    return Poll::Pending;
                }
                Step::Wait(Some(until)) => std::task::ready!(this.sleep(until, cx)),
            }
        }
    }
}

impl<O> Drop for Pop<'_, O> {
    fn drop(&mut self) {
        if !self.ticket.is_empty() {
            let wakes = self.shared.gate.lock().leave(&mut self.ticket);
            wakes.wake();
        }
    }
}

/// Waits until nothing of a lane runs.
pub(super) struct Idle<'a, O> {
    shared: &'a Shared<O>,
    lane: Lane,
    ticket: Ticket,
}

impl<'a, O> Idle<'a, O> {
    pub(super) fn new(shared: &'a Shared<O>, lane: Lane) -> Self {
        Self {
            shared,
            lane,
            ticket: Ticket::default(),
        }
    }
}

impl<O> Future for Idle<'_, O> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let is_idle = this
            .shared
            .gate
            .lock()
            .poll_idle(this.lane, &mut this.ticket, cx.waker());
        if is_idle { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl<O> Drop for Idle<'_, O> {
    fn drop(&mut self) {
        if !self.ticket.is_empty() {
            self.shared.gate.lock().leave_idle(&mut self.ticket);
        }
    }
}
