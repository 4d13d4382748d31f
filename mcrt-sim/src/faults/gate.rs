//! A gate between a server and its clients: while it is closed nothing passes, and nothing is lost.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

#[derive(Default)]
pub(crate) struct Gate {
    closed: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

impl Gate {
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    pub(crate) fn open(&self) {
        // Under the lock, so that whoever saw it closed is in the list.
        let waiting = {
            let mut waiting = self.waiting.lock();
            self.closed.store(false, Ordering::Release);
            std::mem::take(&mut *waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.is_closed() {
            return Poll::Ready(());
        }
        let mut waiting = self.waiting.lock();
        if !self.is_closed() {
            return Poll::Ready(());
        }
        if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }

    pub(crate) async fn pass(&self) {
        poll_fn(|cx| self.poll(cx)).await;
    }
}
