//! The loop that asks a cluster whether it answers.
use super::{
    Watchdog,
    condition::{Condition, Pace},
    shaken,
};
use crate::connect::{self, Answered, ConnectError};
use tokio::time::{Instant, sleep_until};

impl Watchdog<'_> {
    pub(super) async fn liveness(&self) {
        let mut circuit = self.breaker().changes();
        let mut due = Instant::now();
        loop {
            if self.note_trip() {
                due = Instant::now();
            }
            tokio::select! {
                biased;
                // The sender is in the cluster. Whatever has changed: looked at above.
                _ = circuit.changed() => {}
                () = self.cluster.news() => due = Instant::now(),
                () = self.grace_over() => self.observe(|_, _| ()),
                (began, outcome) = self.probe_at(due) => due = self.note(began, outcome),
            }
        }
    }

    async fn probe_at(&self, due: Instant) -> (Instant, Result<Answered, ConnectError>) {
        sleep_until(due).await;
        let began = Instant::now();
        let deadline = self.settings.liveness.deadline;
        let client = self.cluster.client();
        // Boxed, since it is seldom under way: an idle cluster does not hold its memory.
        (began, Box::pin(connect::probe(&client, deadline)).await)
    }

    /// Takes note of an outage that the breaker has found by itself.
    fn note_trip(&self) -> bool {
        if !self.breaker().is_tripped() {
            return false;
        }
        let outage = self.observe(Condition::lost_contact);
        if outage {
            tracing::warn!(
                cluster = %self.cluster,
                "requests in a row have failed: nothing but probes is sent to the cluster until it answers",
            );
        }
        outage
    }

    /// Resolves when the cluster has been unreachable for the grace period.
    async fn grace_over(&self) {
        let lost_at = self.cluster.condition().lock().lost_at();
        match lost_at.filter(|at| *at > Instant::now()) {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// Gives when the next probe is due.
    fn note(&self, began: Instant, outcome: Result<Answered, ConnectError>) -> Instant {
        let pace = match outcome {
            Ok(answer) => self.observe(|condition, now| {
                condition.answered(answer, now);
                condition.pace()
            }),
            Err(error) => self.note_failure(&error),
        };
        let due = match pace {
            Pace::FromStart(interval) => began + shaken(interval),
            Pace::FromEnd(interval) => Instant::now() + shaken(interval),
        };
        due.max(Instant::now())
    }

    fn note_failure(&self, error: &ConnectError) -> Pace {
        tracing::debug!(cluster = %self.cluster, %error, "probe failed");
        let (outage, pace) = self.observe(|condition, now| {
            let outage = if error.is_of_transport() {
                condition.failed(error.to_string(), now)
            } else {
                // There is nothing to show to the server, as if it had refused what there is.
                condition.refused(401, now);
                false
            };
            (outage, condition.pace())
        });
        if outage {
            tracing::warn!(cluster = %self.cluster, %error, "the API server does not answer; going on trying");
        }
        pace
    }
}
