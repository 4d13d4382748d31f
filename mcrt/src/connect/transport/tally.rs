//! Failures that many requests share, such as a dial that all of them waited for: they count once.
use std::{
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};
use tower::BoxError;

/// Whether a failure has been counted; clones share it.
#[derive(Clone, Debug, Default)]
pub(in crate::connect) struct Tally(Arc<AtomicBool>);

impl Tally {
    /// Counts it: true for the first who does.
    pub(in crate::connect) fn count(&self) -> bool {
        !self.0.swap(true, Relaxed)
    }
}

/// What a request fails with between the pool and the breaker, which takes it apart.
#[derive(Debug)]
pub(in crate::connect) struct Tallied {
    tally: Tally,
    error: BoxError,
}

impl Tallied {
    pub(super) fn of(tally: &Tally, error: impl Into<BoxError>) -> BoxError {
        let (tally, error) = (tally.clone(), error.into());
        Box::new(Self { tally, error })
    }

    /// The failure itself, and by what it is counted if others share it.
    pub(in crate::connect) fn apart(error: BoxError) -> (BoxError, Option<Tally>) {
        match error.downcast::<Self>() {
            Ok(this) => (this.error, Some(this.tally)),
            Err(error) => (error, None),
        }
    }
}

impl fmt::Display for Tallied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for Tallied {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}
