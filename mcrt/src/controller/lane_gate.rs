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

#[derive(Debug)]
struct State {
    /// Whether every watch that the controller requires has told what exists: nothing is reconciled before.
    started: bool,
    open: bool,
    /// Whether the cluster was down when it was last looked at; before anybody has, it is not known to be up.
    down: bool,
    /// Reconciles put back since it was up last.
    put_back: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            started: false,
            open: false,
            down: true,
            put_back: 0,
        }
    }
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
    /// what waits for a cluster waits for it to be back, not for a time. So does what waits for it in other lanes,
    /// whether or not its own may open.
    ///
    /// Says whether the cluster is down; then whoever finds that it is up again lets go of what waits.
    pub(super) fn regulate(&self, engagement: &Engagement) -> bool {
        let (down, opened, put_back) = {
            let mut gate = engagement.lane_gate.0.lock();
            let down = engagement.is_down();
            let returned = std::mem::replace(&mut gate.down, down) && !down;
            let opened = self.set_open(&mut gate, engagement);
            let put_back = returned.then(|| std::mem::take(&mut gate.put_back));
            (down, opened, put_back)
        };
        if let Some(put_back) = put_back.filter(|count| *count > 0) {
            let (controller, cluster) = (&self.name, &engagement.cluster);
            tracing::info!(%controller, %cluster, put_back, "the cluster is back: what was put back is reconciled now");
        }
        if opened || put_back.is_some() {
            self.release_waiting(engagement.cluster.name());
        }
        down
    }

    /// Says whether the lane opens.
    fn set_open(&self, gate: &mut State, engagement: &Engagement) -> bool {
        let on_duty = !engagement.cluster.is_host() || self.fleet.host_duty().is_mine();
        let open = gate.started && !gate.down && on_duty;
        if open == std::mem::replace(&mut gate.open, open) {
            return false;
        }
        if open {
            self.queue.wake(engagement.lane);
            self.queue.resume(engagement.lane);
        } else {
            self.queue.pause(engagement.lane);
        }
        open
    }

    /// Puts an item back whose reconcile did not succeed, for `reason`, if a cluster that it needs is down: it runs
    /// once the cluster is back, and nothing counts as failed. `None` if none of them is.
    ///
    /// In the target's lane it stays where it is, with the failures that it had before. If another cluster is down,
    /// its home or the host, its lane goes on, and the request waits beside it: made again, it has failed never.
    pub(super) fn put_back(
        &self,
        reason: &str,
        item: &Item<ObjectKey>,
        home: &Arc<Engagement>,
        target: &Arc<Engagement>,
    ) -> Option<Outcome> {
        let host = self.host();
        let down = [Some(target), Some(home), host.as_ref()]
            .into_iter()
            .flatten()
            .find(|engagement| engagement.is_down())?;
        let stays = down.lane == target.lane;
        if !stays {
            let route = Route {
                home: home.cluster.name().clone(),
                target: target.cluster.name().clone(),
                object: item.object().clone(),
            };
            self.await_cluster(down.cluster.name(), route, item.priority());
        }
        if self.regulate(down) {
            self.note_put_back(down, reason);
        } else if !stays {
            // It has come back while this one was looking.
            self.release_waiting(down.cluster.name());
        }
        Some(if stays { Outcome::Deferred } else { Outcome::Done })
    }

    /// Thousands of reconciles fail in an outage, all for the same reason: it is said once.
    fn note_put_back(&self, down: &Engagement, reason: &str) {
        let first = {
            let mut gate = down.lane_gate.0.lock();
            gate.put_back += 1;
            gate.put_back == 1
        };
        let (controller, cluster, health) = (&self.name, &down.cluster, down.cluster.health());
        if first {
            tracing::warn!(
                %controller, %cluster, %health, error = reason,
                "reconciles fail because the cluster is down: they are put back until it is up, and not told of each",
            );
        } else {
            tracing::debug!(%controller, %cluster, error = reason, "put back");
        }
    }
}

/// Whether an error is what an outage looks like: a request that was not sent or not answered, or whose credentials
/// were not accepted.
pub(super) fn is_of_outage(error: &Error) -> bool {
    error.chain().any(|error| {
        if let Some(error) = error.downcast_ref::<ConnectError>() {
            return error.is_of_transport()
                || matches!(error, ConnectError::BreakerOpen { .. } | ConnectError::NotOurs);
        }
        match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => matches!(status.code, 401 | 502..=504),
            Some(kube::Error::HyperError(_) | kube::Error::Service(_) | kube::Error::ReadEvents(_)) => true,
            _ => false,
        }
    })
}
