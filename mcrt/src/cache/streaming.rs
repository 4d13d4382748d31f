//! Lists that come as a stream, and when to give up on them.
use super::{pulse::Pulse, settings::InitialList};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A server that has sent objects, is silent for this long and has not marked the end will not do so.
const QUIET: Duration = Duration::from_secs(10);
/// A server that keeps sending without the mark sends changes: it ignored what was asked.
const AT_MOST: Duration = Duration::from_mins(2);

/// Whether the lists of a cluster come as streams: asked for by the settings, until the cluster shows that it cannot.
#[derive(Clone)]
pub(super) struct Streaming(Arc<AtomicBool>);

impl Streaming {
    pub(super) fn new(initial: InitialList) -> Self {
        Self(Arc::new(AtomicBool::new(initial == InitialList::Streaming)))
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.0.load(Relaxed)
    }

    /// Lists by pages in this cluster from now on.
    pub(super) fn give_up(&self) {
        self.0.store(false, Relaxed);
    }
}

/// Waits until the end of a streamed list is not to be expected any more.
pub(super) async fn unmarked(pulse: &Pulse, since: Instant) {
    loop {
        let heard = pulse.last_message().map_or(since, |last| last.max(since));
        let due = (heard + QUIET).min(since + AT_MOST);
        if Instant::now() >= due {
            return;
        }
        tokio::time::sleep_until(due).await;
    }
}
