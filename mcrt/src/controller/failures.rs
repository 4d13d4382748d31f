//! What a controller failed at last, for people who look at it.
use parking_lot::Mutex;
use std::{collections::VecDeque, fmt};
use tokio::time::Instant;

/// Enough to see what goes wrong; the log has the rest.
const KEPT: usize = 8;

/// One reconcile that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReconcileFailure {
    /// The request, as it prints.
    pub request: String,
    /// How often in a row it had failed before.
    pub attempt: u32,
    /// What went wrong, as the log says it.
    pub text: String,
    /// When it failed.
    pub at: Instant,
}

impl fmt::Display for ReconcileFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ago = self.at.elapsed().as_secs();
        let Self {
            request,
            attempt,
            text,
            ..
        } = self;
        write!(f, "{request}, attempt {attempt}, {ago} s ago: {text}")
    }
}

/// The last failures of one controller, oldest first.
#[derive(Default)]
pub(crate) struct Failures(Mutex<VecDeque<ReconcileFailure>>);

impl Failures {
    pub(crate) fn note(&self, request: String, attempt: u32, text: String) {
        let mut kept = self.0.lock();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(ReconcileFailure {
            request,
            attempt,
            text,
            at: Instant::now(),
        });
    }

    pub(crate) fn last(&self) -> Vec<ReconcileFailure> {
        self.0.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_failures_are_kept() {
        let failures = Failures::default();
        for attempt in 0..20 {
            failures.note("cluster://a/default/b".to_owned(), attempt, "no".to_owned());
        }
        let attempts: Vec<_> = failures.last().iter().map(|failure| failure.attempt).collect();
        assert_eq!(attempts, (12..20).collect::<Vec<_>>());
    }
}
