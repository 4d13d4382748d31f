//! Opens and closes a lane as its cluster fares, and puts back what an outage made fail.
use super::{engagement::Engagement, runtime::Shared, waiting::Route};
use crate::{
    Error,
    cluster::ObjectKey,
    connect::ConnectError,
    queue::{Item, Outcome},
};
use parking_lot::Mutex;
use std::sync::Arc;

/// Whether the lane of an engagement is open. Under a lock, so that whoever finds that it has to change, the task
/// that keeps it or a reconcile that fails, leaves it as the cluster fares.
#[derive(Debug, Default)]
pub(crate) struct LaneGate(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether every watch that the controller requires has told what exists: nothing is reconciled before.
    started: bool,
    open: bool,
    /// Reconciles put back since it was open last.
    put_back: u64,
}

impl Engagement {
    /// Whether nothing may be sent to the cluster now.
    pub(super) fn is_down(&self) -> bool {
        let breaker = self.cluster.transport().breaker();
        !self.cluster.health().takes_requests() || !breaker.circuit().is_closed()
    }
}

impl Shared {
    /// Lets the lane be opened from now on, or not.
    pub(super) fn start_lane(&self, engagement: &Engagement, started: bool) {
        engagement.lane_gate.0.lock().started = started;
        self.regulate(engagement);
    }

    /// Opens or closes the lane, whichever the cluster calls for. Opened, it tries at once whatever was backing off:
    /// what waits for a cluster waits for it to be back, not for a time.
    pub(super) fn regulate(&self, engagement: &Engagement) {
        let opened = {
            let mut gate = engagement.lane_gate.0.lock();
            let open = gate.started && !engagement.is_down();
            if open == gate.open {
                return;
            }
            gate.open = open;
            if open {
                self.queue.wake(engagement.lane);
                self.queue.resume(engagement.lane);
            } else {
                self.queue.pause(engagement.lane);
            }
            open.then(|| std::mem::take(&mut gate.put_back))
        };
        let Some(put_back) = opened else { return };
        let (controller, cluster) = (&self.name, &engagement.cluster);
        if put_back > 0 {
            tracing::info!(%controller, %cluster, put_back, "the cluster is back: what was put back is reconciled now");
        }
        self.release_waiting(cluster.name());
    }

    /// Puts an item back whose reconcile failed because a cluster is down: it runs once the cluster is back, and
    /// nothing counts as failed. `None` if no outage is to blame.
    ///
    /// In the target's lane it stays where it is. If another cluster is down, its home or the host, its lane goes on,
    /// and the request waits beside it.
    pub(super) fn put_back(
        &self,
        error: &Error,
        item: &Item<ObjectKey>,
        home: &Arc<Engagement>,
        target: &Arc<Engagement>,
    ) -> Option<Outcome> {
        if !is_of_outage(error) {
            return None;
        }
        let host = self.host();
        let down = [Some(target), Some(home), host.as_ref()]
            .into_iter()
            .flatten()
            .find(|engagement| engagement.is_down())?;
        self.note_put_back(down, error);
        if down.lane == target.lane {
            self.regulate(down);
            return Some(Outcome::Deferred);
        }
        let route = Route {
            home: home.cluster.name().clone(),
            target: target.cluster.name().clone(),
            object: item.object().clone(),
        };
        self.await_cluster(down.cluster.name(), route, item.priority());
        // It may have come back while this one was looking.
        if !down.is_down() {
            self.release_waiting(down.cluster.name());
        }
        Some(Outcome::Done)
    }

    /// Thousands of reconciles fail in an outage, all for the same reason: it is said once.
    fn note_put_back(&self, down: &Engagement, error: &Error) {
        let first = {
            let mut gate = down.lane_gate.0.lock();
            gate.put_back += 1;
            gate.put_back == 1
        };
        let (controller, cluster, health) = (&self.name, &down.cluster, down.cluster.health());
        if first {
            tracing::warn!(
                %controller, %cluster, %health, error = format!("{error:#}"),
                "reconciles fail because the cluster is down: they are put back until it is up, and not told of each",
            );
        } else {
            tracing::debug!(%controller, %cluster, error = format!("{error:#}"), "put back");
        }
    }
}

/// Whether an error is what an outage looks like: a request that was not sent or not answered, or whose credentials
/// were not accepted.
fn is_of_outage(error: &Error) -> bool {
    error.chain().any(|error| {
        if let Some(error) = error.downcast_ref::<ConnectError>() {
            return error.is_of_transport() || matches!(error, ConnectError::BreakerOpen { .. });
        }
        match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => matches!(status.code, 401 | 502..=504),
            Some(kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::ReadEvents(_)) => true,
            _ => false,
        }
    })
}
