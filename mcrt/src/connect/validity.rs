//! Until when a program may send anything, where others may take its work over then.
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::time::Instant;

/// An instant that all who share it look at before each request: a process that was stopped for a while finds it passed
/// before any timer of its own has told it. For ever, unless it is set.
#[derive(Clone, Debug)]
pub(crate) struct Validity(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    base: Instant,
    /// Milliseconds from `base`.
    until: AtomicU64,
}

const FOR_EVER: u64 = u64::MAX;

impl Default for Validity {
    fn default() -> Self {
        Self(Arc::new(Inner {
            base: Instant::now(),
            until: AtomicU64::new(FOR_EVER),
        }))
    }
}

impl Validity {
    /// Without an instant it is for ever.
    pub(crate) fn set(&self, until: Option<Instant>) {
        let until = until.map_or(FOR_EVER, |until| {
            millis(until.saturating_duration_since(self.0.base))
        });
        self.0.until.store(until, Relaxed);
    }

    pub(crate) fn has_passed(&self) -> bool {
        let until = self.0.until.load(Relaxed);
        until != FOR_EVER && millis(self.0.base.elapsed()) >= until
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(FOR_EVER - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_holds_for_all_who_share_it_until_then_and_can_be_prolonged() {
        let validity = Validity::default();
        let shared = validity.clone();
        assert!(!shared.has_passed());
        validity.set(Some(Instant::now() + Duration::from_secs(9)));
        tokio::time::advance(Duration::from_secs(8)).await;
        assert!(!shared.has_passed());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(shared.has_passed());
        validity.set(Some(Instant::now() + Duration::from_secs(9)));
        assert!(!shared.has_passed());
        validity.set(None);
        tokio::time::advance(Duration::from_hours(24)).await;
        assert!(!shared.has_passed());
    }
}
