//! What becomes of a request after a call of the author.
use super::{
    Action, Context, Reconciler,
    action::Next,
    runtime::{Counters, Runtime},
};
use crate::{Error, cache::Cacheable, error::ErrorClass, panic::panic_text, queue::Outcome};
use std::{panic::AssertUnwindSafe, sync::Arc};

/// What became of one reconcile.
pub(super) enum Ran {
    Finished(Result<Action, Error>),
    TimedOut,
    Panicked(String),
    Aborted,
    /// The work on the host is another replica's.
    OffDuty,
}

impl<R: Reconciler<Object: Cacheable>> Runtime<R> {
    pub(super) fn settle(&self, ran: Ran, object: &Arc<R::Object>, cx: &Context<R>) -> Outcome {
        let counters = &self.shared.counters;
        match ran {
            Ran::Finished(Ok(action)) => outcome_of(action),
            Ran::Finished(Err(error)) => {
                Counters::count(&counters.errors);
                let outcome = self.after_error(&error, object, cx);
                let error = format!("{error:#}");
                tracing::warn!(error, next = ?outcome, "reconcile failed");
                self.note_failure(cx, error);
                outcome
            }
            Ran::TimedOut => {
                Counters::count(&counters.timeouts);
                tracing::warn!(timeout = ?self.settings.timeout, "reconcile timed out");
                self.note_failure(cx, format!("timed out after {:?}", self.settings.timeout));
                Outcome::Retry
            }
            Ran::Panicked(panic) => {
                Counters::count(&counters.panics);
                tracing::error!(panic, "reconcile panicked");
                self.note_failure(cx, format!("panicked: {panic}"));
                Outcome::Retry
            }
            Ran::Aborted => {
                tracing::debug!("reconcile aborted: the cluster leaves");
                Outcome::GiveUp
            }
            Ran::OffDuty => Outcome::Deferred,
        }
    }

    fn note_failure(&self, cx: &Context<R>, text: String) {
        let request = cx.request().to_string();
        self.shared.failures.note(request, cx.attempt(), text);
    }

    fn after_error(&self, error: &Error, object: &Arc<R::Object>, cx: &Context<R>) -> Outcome {
        if R::ERROR_POLICY {
            let policy = || self.reconciler.error_policy(object.clone(), error, cx.clone());
            return match std::panic::catch_unwind(AssertUnwindSafe(policy)) {
                Ok(action) => outcome_of(action),
                Err(panic) => {
                    Counters::count(&self.shared.counters.panics);
                    tracing::error!(panic = panic_text(&*panic), "the error policy panicked");
                    Outcome::Retry
                }
            };
        }
        match error.class() {
            ErrorClass::Retry => Outcome::Retry,
            ErrorClass::RetryAfter(delay) => Outcome::RetryAfter(delay),
            ErrorClass::GiveUp => Outcome::GiveUp,
        }
    }
}

/// Whether the queue counts the outcome against the retries.
pub(super) fn is_failure(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Retry | Outcome::RetryAfter(_))
}

fn outcome_of(action: Action) -> Outcome {
    match action.0 {
        Next::AwaitChange => Outcome::Done,
        Next::Requeue(delay) => Outcome::Requeue(delay),
        Next::Retry => Outcome::Retry,
    }
}
