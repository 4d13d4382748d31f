//! Who is told of the changes of a cache.
use super::{
    delta::{Delta, DeltaSink, Origin},
    writer::Command,
};
use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::mpsc::UnboundedSender;

/// A sink's place in a cache. Dropping it detaches the sink: no further delta is begun; one that the writer is just
/// handing over on another thread ends.
#[must_use = "a subscription that is dropped is over"]
pub struct Subscription {
    live: Arc<AtomicBool>,
    sweep: Box<dyn Fn() + Send + Sync>,
}

impl Subscription {
    pub(super) fn new<K: 'static>(live: Arc<AtomicBool>, commands: UnboundedSender<Command<K>>) -> Self {
        // A closed cache has dropped its subscribers already.
        let sweep = Box::new(move || drop(commands.send(Command::Sweep)));
        Self { live, sweep }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.live.store(false, Ordering::Release);
        (self.sweep)();
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subscription")
    }
}

/// One sink, as the writer holds it.
pub(super) struct Subscriber<K> {
    pub(super) sink: Arc<dyn DeltaSink<K>>,
    pub(super) live: Arc<AtomicBool>,
}

impl<K> Subscriber<K> {
    pub(super) fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }

    /// Delivers unless the subscription is over. Says whether the sink came through.
    pub(super) fn tell(&self, delta: Delta<'_, K>, origin: Origin) -> bool {
        // A sink that unwinds may leave its own state odd; the cache keeps none of it.
        !self.is_live() || catch_unwind(AssertUnwindSafe(|| self.sink.on_delta(delta, origin))).is_ok()
    }
}
