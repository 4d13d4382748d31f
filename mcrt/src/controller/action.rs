//! What a reconcile asks for next.
use std::time::Duration;

/// What happens to an object after a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action(pub(crate) Next);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    AwaitChange,
    Requeue(Duration),
    Retry,
}

impl Action {
    /// Waits for the next change of the object or of what is mapped to it.
    pub fn await_change() -> Self {
        Self(Next::AwaitChange)
    }

    /// Runs again after `delay`, or earlier if something changes. Resets the key's backoff.
    pub fn requeue(delay: Duration) -> Self {
        Self(Next::Requeue(delay))
    }

    /// Runs again after the key's backoff, which grows with every retry in a row: what an error does by default.
    pub fn retry() -> Self {
        Self(Next::Retry)
    }
}
