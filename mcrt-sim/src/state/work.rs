//! What the cluster's own controllers have yet to do: a queue in which nothing stands twice.

use std::collections::{HashSet, VecDeque};

/// A consequence of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    /// The object of this UID has other owners than before, or one of them is gone or going.
    Owned(Box<str>),
    /// The object of this UID is deleted but held: do what it waits for, and let go of it.
    Held(Box<str>),
    /// A namespace needs the certificate that every namespace has.
    RootCa(Box<str>),
}

/// Work in the order in which it came up.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    order: VecDeque<Work>,
    known: HashSet<Work>,
    /// Whether a task is at work on it.
    pub(crate) tended: bool,
}

impl WorkQueue {
    pub(crate) fn push(&mut self, work: Work) {
        if self.known.insert(work.clone()) {
            self.order.push_back(work);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Work> {
        let work = self.order.pop_front()?;
        self.known.remove(&work);
        Some(work)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}
