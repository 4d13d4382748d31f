//! Lists that come as a stream, and when to give up on them.
use super::{pulse::Pulse, settings::InitialList};
use kube::runtime::watcher::InitialListStrategy;
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

/// Whether the lists of a watch come as streams: asked for by the settings, until the cluster shows that it cannot.
#[derive(Clone)]
pub(super) struct Streaming {
    /// Of the whole cluster.
    wanted: Arc<AtomicBool>,
    /// Not the next time, whatever the cluster can do.
    skips: bool,
}

impl Streaming {
    pub(super) fn new(initial: InitialList) -> Self {
        Self {
            wanted: Arc::new(AtomicBool::new(initial == InitialList::Streaming)),
            skips: false,
        }
    }

    /// How to list next.
    pub(super) fn strategy(&self) -> InitialListStrategy {
        if self.wanted.load(Relaxed) && !self.skips {
            InitialListStrategy::StreamingList
        } else {
            InitialListStrategy::ListWatch
        }
    }

    /// Lists by pages once, or in this cluster from now on.
    pub(super) fn fails(&mut self, for_good: bool) {
        self.skips = true;
        if for_good {
            self.wanted.store(false, Relaxed);
        }
    }

    /// A list is complete, however it came.
    pub(super) fn listed(&mut self) {
        self.skips = false;
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
