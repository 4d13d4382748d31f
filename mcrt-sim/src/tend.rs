//! The cluster's controllers as a task: it starts when a write leaves something to do and ends when it is done.

use std::sync::{Arc, Weak};

use tokio::runtime::Handle;

use crate::server::Inner;

/// Sees to it that what writes have left to do gets done: a moment later, as in a real cluster, where there is a
/// runtime; at once where there is none.
pub(crate) fn tend(server: &Arc<Inner>) {
    let mut store = server.store();
    if store.work.is_empty() || store.work.tended {
        return;
    }
    let Ok(runtime) = Handle::try_current() else {
        return store.settle();
    };
    store.work.tended = true;
    drop(store);
    let mut tended = Tended {
        server: Arc::downgrade(server),
        working: true,
    };
    // Owned by nobody, because nothing it does outlasts it: it ends with its work, with the server or with the
    // runtime, whichever is first.
    drop(runtime.spawn(async move {
        while tended.step() {
            // Between two steps the lock is free and whoever watches gets to see them one by one.
            tokio::task::yield_now().await;
        }
    }));
}

/// The right to work on a server's queue, given back when it is dropped, by a runtime that ends too.
struct Tended {
    server: Weak<Inner>,
    working: bool,
}

impl Tended {
    fn step(&mut self) -> bool {
        self.working = self.server.upgrade().is_some_and(|server| {
            let mut store = server.store();
            let more = store.step();
            // Decided under the lock: whoever adds work from now on starts another task.
            store.work.tended = more;
            more
        });
        self.working
    }
}

impl Drop for Tended {
    fn drop(&mut self) {
        if let Some(server) = self.server.upgrade().filter(|_| self.working) {
            server.store().work.tended = false;
        }
    }
}
