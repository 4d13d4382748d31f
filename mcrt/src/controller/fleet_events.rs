//! From a change of the fleet to keys in the queue.
use super::{
    MapContext, Reconciler,
    engagement::Engagement,
    request::Wanted,
    runtime::{Counters, Runtime},
};
use crate::{
    cache::Cacheable,
    cluster::{ClusterName, Epoch},
    fleet::{Cluster, FleetEvent},
    panic::panic_text,
    queue::Priority,
};
use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// How often a cluster that becomes ready may have everything on the host reconciled: a fleet starts all at once.
const HOST_PAUSE: Duration = Duration::from_secs(1);

/// What waits to be told.
#[derive(Default)]
pub(super) struct Held {
    /// Of clusters that this controller has still to attach: requests for them would find no index.
    events: Vec<FleetEvent>,
    /// Whether everything on the host is due.
    host_due: bool,
    /// When it may be queued again.
    host_next: Option<Instant>,
    /// Of those that the controller selects, the lives that it has been told of; empty if it selects all.
    told: HashSet<Epoch>,
}

impl Held {
    /// Resolves when everything on the host is to be queued.
    pub(super) fn host_due(&self) -> impl Future<Output = ()> + Send + use<> {
        let due = self.host_due.then_some(self.host_next).flatten();
        async move {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        }
    }
}

impl<R: Reconciler<Object: Cacheable>> Runtime<R> {
    pub(super) fn take_fleet_event(&self, event: FleetEvent, held: &mut Held) {
        let drops = match &event {
            FleetEvent::Disengaged(_) | FleetEvent::Synced => true,
            FleetEvent::Properties(_) => self.shared.clusters.is_some(),
            _ => false,
        };
        if drops {
            self.shared.drop_unexpected();
        }
        if self.on_fleet.is_some() || self.is_primary_on_host {
            held.events.extend(self.seen(event, &mut held.told));
            self.release_fleet_events(held);
        }
    }

    /// Maps the events whose time has come, those of one cluster in their order.
    pub(super) fn release_fleet_events(&self, held: &mut Held) {
        let name = |event: &FleetEvent| event.cluster().map(|cluster| cluster.name().clone());
        for event in take_due(&mut held.events, name, |event| self.is_early(event)) {
            self.on_fleet_event(&event, held);
        }
    }

    /// An event as the controller sees it: for it, a cluster that it comes to select is engaged, and one that it no
    /// longer selects is disengaged. None about a cluster that it does not select.
    ///
    /// The cluster is looked at as it is now; whatever has changed since the event has an event of its own.
    fn seen(&self, event: FleetEvent, told: &mut HashSet<Epoch>) -> Option<FleetEvent> {
        if self.shared.clusters.is_none() {
            return Some(event);
        }
        let (cluster, goes) = match &event {
            FleetEvent::Synced => return Some(event),
            FleetEvent::Rejected(name, _) | FleetEvent::Cleared(name) => {
                return self.shared.may_select(name).then_some(event);
            }
            FleetEvent::Disengaged(cluster) => (cluster.clone(), true),
            FleetEvent::Engaged(cluster)
            | FleetEvent::Properties(cluster)
            | FleetEvent::Health(cluster, _) => (cluster.clone(), false),
        };
        if cluster.is_host() {
            return Some(event);
        }
        let known = told.contains(&cluster.epoch());
        let selected = !goes && self.shared.selects(&cluster);
        match (known, selected) {
            (false, false) => None,
            (true, true) => Some(event),
            (false, true) => {
                told.insert(cluster.epoch());
                Some(FleetEvent::Engaged(cluster))
            }
            (true, false) => {
                told.remove(&cluster.epoch());
                Some(FleetEvent::Disengaged(cluster))
            }
        }
    }

    fn is_early(&self, event: &FleetEvent) -> bool {
        let attaches = |cluster: &Cluster| {
            self.shared.selects(cluster)
                && !self.shared.engaged.read().is_attached(cluster)
                && self.shared.fleet.get(cluster.name()).as_ref() == Some(cluster)
        };
        self.seat(event).is_none() || event.cluster().is_some_and(attaches)
    }

    fn on_fleet_event(&self, event: &FleetEvent, held: &mut Held) {
        // Whether it is ready or degraded may decide over what is placed there.
        let concerns_host = match event {
            FleetEvent::Health(_, health) => health.takes_requests(),
            // It may have been ready for long when it comes to be selected.
            FleetEvent::Engaged(cluster) => {
                self.shared.clusters.is_some() && cluster.health().takes_requests()
            }
            _ => false,
        };
        if concerns_host {
            self.host_is_concerned(held);
        }
        let (Some(map), Some((seat, named))) = (&self.on_fleet, self.seat(event)) else {
            return;
        };
        let cx = MapContext::new(self.shared.clone(), seat.clone());
        match catch_unwind(AssertUnwindSafe(|| map(&self.reconciler, event, cx))) {
            Ok(mut requests) => {
                if !named {
                    self.drop_unplaced(event, &mut requests.wanted);
                }
                self.shared.enqueue(&seat, requests, Priority::High);
            }
            Err(panic) => {
                Counters::count(&self.shared.counters.panics);
                let panic = panic_text(&*panic);
                tracing::error!(controller = %self.shared.name, ?event, panic, "the map of fleet events panicked");
            }
        }
    }

    /// An object without its cluster is nowhere when the event is about no cluster, or about one that has left.
    fn drop_unplaced(&self, event: &FleetEvent, wanted: &mut Vec<Wanted>) {
        let before = wanted.len();
        wanted.retain(|wanted| matches!(wanted, Wanted::There { .. }));
        let dropped = before - wanted.len();
        if dropped > 0 {
            tracing::warn!(
                controller = %self.shared.name, ?event, dropped,
                "the map of fleet events names objects without their cluster, and the event is about none that is \
                 engaged: return a `Request`, which names it",
            );
        }
    }

    /// What is reconciled on the host may concern every cluster, so one that can be worked with, or becomes better or
    /// worse, concerns all of it.
    fn host_is_concerned(&self, held: &mut Held) {
        if !self.is_primary_on_host {
            return;
        }
        if held.host_next.is_some_and(|next| Instant::now() < next) {
            held.host_due = true;
        } else {
            self.enqueue_host(held);
        }
    }

    /// Queues everything on the host, once for all that became due since the last time.
    pub(super) fn enqueue_host(&self, held: &mut Held) {
        held.host_due = false;
        held.host_next = Some(Instant::now() + HOST_PAUSE);
        if let Some(host) = self.shared.host() {
            self.shared.enqueue_all::<R::Object>(&host);
        }
    }

    /// Where the map looks around, and whether an object that it names without its cluster is meant there: on the
    /// host if that is where objects are reconciled, else in the cluster that the event is about. If there is none
    /// such, the map looks around in any, and nothing is meant there.
    fn seat(&self, event: &FleetEvent) -> Option<(Arc<Engagement>, bool)> {
        if self.is_primary_on_host {
            return Some((self.shared.host()?, true));
        }
        let engaged = self.shared.engaged.read();
        let stays = !matches!(event, FleetEvent::Disengaged(_));
        let own = event.cluster().and_then(|cluster| engaged.of(cluster));
        let own = own.map(|engagement| (engagement, stays));
        own.or_else(|| Some((engaged.any()?.clone(), false)))
    }
}

/// Takes out what is not early. What follows something early of the same cluster stays behind it, even if its own
/// time comes while this looks.
fn take_due<E>(
    events: &mut Vec<E>,
    name: impl Fn(&E) -> Option<ClusterName>,
    is_early: impl Fn(&E) -> bool,
) -> Vec<E> {
    let mut behind = HashSet::new();
    let due = events.extract_if(.., |event| {
        let name = name(event);
        let stays = name.as_ref().is_some_and(|name| behind.contains(name)) || is_early(event);
        if stays {
            behind.extend(name);
        }
        !stays
    });
    due.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn events_of_one_cluster_keep_their_order_when_it_is_attached_half_way() {
        let mut events = vec![("a", "engaged"), ("b", "engaged"), ("a", "ready")];
        let name = |event: &(&str, _)| ClusterName::new(event.0).ok();
        let attached = Cell::new(false);
        let is_early = |event: &(&str, _)| event.0 == "a" && !attached.replace(true);
        let due = take_due(&mut events, name, is_early);
        assert_eq!(due, [("b", "engaged")]);
        let due = take_due(&mut events, name, |_| false);
        assert_eq!(due, [("a", "engaged"), ("a", "ready")]);
    }
}
