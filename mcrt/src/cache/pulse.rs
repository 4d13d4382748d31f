//! Signs of life of one watch: when the server spoke last, how often it was asked, and how soon to ask again.
use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// A watch that ends sooner than this was not worth starting: the next one waits.
const SHORT_LIVED: Duration = Duration::from_secs(5);
/// Longest wait before a watch whose predecessors were short-lived.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A server that says nothing for this long where it owes an answer does not give one. Transports have shorter
/// deadlines of their own; this one holds whatever the transport is.
pub(super) const SILENCE: Duration = Duration::from_mins(1);

/// Signs of life of one watch.
pub(super) struct Pulse {
    born: Instant,
    /// Milliseconds from `born` to the last message, plus one; zero is never.
    last: AtomicU64,
    pub(super) lists: AtomicU64,
    pub(super) watches: AtomicU64,
    /// Whether the last attempt failed.
    pub(super) failing: AtomicBool,
    /// Milliseconds from `born` to the last start of a watch, and how many in a row were short-lived.
    started: AtomicU64,
    short_lived: AtomicU32,
    /// Whether the server accepted the last watch; refused ones are the feed's to space out.
    accepted: AtomicBool,
    /// Told when the server accepts a watch.
    pub(super) opened: Notify,
    /// Counts outages: what began in an earlier one is over.
    interruptions: AtomicU64,
    /// Milliseconds that the server asked to wait, in the last refusal.
    retry_after: AtomicU64,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self {
            born: Instant::now(),
            last: AtomicU64::new(0),
            lists: AtomicU64::new(0),
            watches: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            started: AtomicU64::new(0),
            short_lived: AtomicU32::new(0),
            accepted: AtomicBool::new(false),
            opened: Notify::new(),
            interruptions: AtomicU64::new(0),
            retry_after: AtomicU64::new(0),
        }
    }

    /// When the server said anything last.
    pub(super) fn last_message(&self) -> Option<Instant> {
        let millis = self.last.load(Relaxed).checked_sub(1)?;
        Some(self.born + Duration::from_millis(millis))
    }

    /// Since the server spoke last, or since the watch was made.
    pub(super) fn silent_for(&self) -> Duration {
        self.last_message().unwrap_or(self.born).elapsed()
    }

    /// Ends every request and every open watch made until now, once they are looked at again.
    pub(super) fn interrupt(&self) {
        self.interruptions.fetch_add(1, Relaxed);
        // However short it lived, the server did not end it.
        self.accepted.store(false, Relaxed);
    }

    pub(super) fn interruptions(&self) -> u64 {
        self.interruptions.load(Relaxed)
    }

    /// Takes what the server asked for in its last refusal, if it did.
    pub(super) fn take_retry_after(&self) -> Duration {
        Duration::from_millis(self.retry_after.swap(0, Relaxed))
    }

    pub(super) fn retry_after(&self, seconds: u64) {
        self.retry_after.store(seconds.saturating_mul(1000), Relaxed);
    }

    pub(super) fn beat(&self) {
        self.last.store(self.millis() + 1, Relaxed);
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX - 1)
    }

    /// How long the next watch has to wait. kube starts the next one at once when the server ends one in good order,
    /// so a server that ends them all at once would be asked without a pause.
    pub(super) fn wait_before_watch(&self) -> Duration {
        if !self.accepted.swap(false, Relaxed) {
            return Duration::ZERO;
        }
        let lived = Duration::from_millis(self.millis().saturating_sub(self.started.load(Relaxed)));
        if lived >= SHORT_LIVED {
            self.short_lived.store(0, Relaxed);
            return Duration::ZERO;
        }
        match self.short_lived.fetch_add(1, Relaxed) {
            0 => Duration::ZERO,
            n => (SHORT_LIVED / 10)
                .saturating_mul(1 << n.min(16))
                .min(MAX_WAIT)
                .saturating_sub(lived),
        }
    }

    pub(super) fn watch_starts(&self) {
        self.watches.fetch_add(1, Relaxed);
        self.started.store(self.millis(), Relaxed);
    }

    pub(super) fn watch_accepted(&self) {
        self.accepted.store(true, Relaxed);
        self.opened.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn watches_that_end_at_once_start_ever_more_slowly_and_a_long_one_forgives() {
        let pulse = Pulse::new();
        let mut waits = Vec::new();
        for _ in 0..10 {
            let wait = pulse.wait_before_watch();
            waits.push(wait.as_millis());
            tokio::time::sleep(wait).await;
            pulse.watch_starts();
            pulse.watch_accepted();
        }
        assert_eq!(
            waits,
            [0, 0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]
        );
        tokio::time::sleep(SHORT_LIVED).await;
        assert_eq!(pulse.wait_before_watch(), Duration::ZERO);
    }
}
