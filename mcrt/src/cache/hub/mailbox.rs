//! What a hub has for one member's cache: events in their order, or word that it has fallen behind.
use super::{super::fed::Fed, Line, task::Command};
use futures::{Stream, task::AtomicWaker};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// A member may leave this many events unread, and twice as many as it has objects, before it counts as behind.
const MOST: usize = 1024;
/// Room for this many events is kept when all are read.
const KEPT: usize = 16;

/// Filled by a hub, emptied by the writer of a member's cache.
pub(super) struct Mailbox<K> {
    post: Mutex<Post<K>>,
    reader: AtomicWaker,
}

struct Post<K> {
    queue: VecDeque<Fed<K>>,
    /// Whether events were left out: the reader has to be told of everything again.
    behind: bool,
    asked: bool,
}

impl<K> Mailbox<K> {
    pub(super) fn new() -> Self {
        let post = Post {
            queue: VecDeque::new(),
            behind: false,
            asked: false,
        };
        Self {
            post: Mutex::new(post),
            reader: AtomicWaker::new(),
        }
    }

    /// Adds an event, for a member that has so many objects. Never waits: of a member that does not read, as much is
    /// kept as it takes to be told of everything twice. The reader is to be [woken](Self::wake) afterwards.
    pub(super) fn push(&self, fed: Fed<K>, objects: usize) {
        let mut left_out = VecDeque::new();
        {
            let mut post = self.post.lock();
            if post.behind {
                return;
            }
            if post.queue.len() < MOST.saturating_add(objects.saturating_mul(2)) {
                post.queue.push_back(fed);
            } else {
                post.behind = true;
                left_out = std::mem::take(&mut post.queue);
            }
        }
        drop(left_out);
    }

    /// Lets the reader read.
    pub(super) fn wake(&self) {
        self.reader.wake();
    }

    /// Begins anew with all that there is.
    pub(super) fn begin(&self, all: VecDeque<Fed<K>>) {
        let before = {
            let mut post = self.post.lock();
            (post.behind, post.asked) = (false, false);
            std::mem::replace(&mut post.queue, all)
        };
        drop(before);
        self.reader.wake();
    }

    /// The next event; asks the hub for everything where some was left out.
    fn next(self: &Arc<Self>, member: &Arc<str>, line: &Line<K>) -> Option<Fed<K>> {
        let mut post = self.post.lock();
        let fed = post.queue.pop_front();
        if fed.is_some() {
            if post.queue.is_empty() && post.queue.capacity() > KEPT {
                post.queue = VecDeque::new();
            }
            return fed;
        }
        if post.behind && !std::mem::replace(&mut post.asked, true) {
            let (member, mailbox) = (Arc::clone(member), Arc::clone(self));
            // A hub that is gone has nothing to say.
            let _ = line.send(Command::Repeat { member, mailbox });
        }
        None
    }
}

/// The events of one mailbox, for ever.
pub(super) struct Reader<K> {
    pub(super) mailbox: Arc<Mailbox<K>>,
    pub(super) member: Arc<str>,
    pub(super) line: Line<K>,
}

impl<K> Stream for Reader<K> {
    type Item = Fed<K>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Fed<K>>> {
        self.mailbox.reader.register(cx.waker());
        match self.mailbox.next(&self.member, &self.line) {
            Some(fed) => Poll::Ready(Some(fed)),
            None => Poll::Pending,
        }
    }
}
