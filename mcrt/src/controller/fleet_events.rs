//! From a change of the fleet to keys in the queue.
use super::{
    MapContext, Reconciler,
    engagement::Engagement,
    runner::panic_text,
    runtime::{Counters, Runtime},
};
use crate::{
    cache::Cacheable,
    cluster::Health,
    fleet::{Cluster, FleetEvent},
    queue::Priority,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Events of clusters that this controller has still to attach: requests for them would find no lane.
#[derive(Default)]
pub(super) struct Held(Vec<FleetEvent>);

impl<R: Reconciler<Object: Cacheable>> Runtime<R> {
    pub(super) fn take_fleet_event(&self, event: FleetEvent, held: &mut Held) {
        held.0.push(event);
        self.release_fleet_events(held);
    }

    /// Maps the events whose time has come, those of one cluster in their order.
    pub(super) fn release_fleet_events(&self, held: &mut Held) {
        let due: Vec<_> = held.0.extract_if(.., |event| !self.is_early(event)).collect();
        for event in due {
            self.on_fleet_event(&event);
        }
    }

    fn is_early(&self, event: &FleetEvent) -> bool {
        let attaches = |cluster: &Cluster| {
            let takes_part = !cluster.is_host() || self.uses_host;
            takes_part
                && self.shared.engaged.read().of(cluster).is_none()
                && self.shared.fleet.get(cluster.name()).as_ref() == Some(cluster)
        };
        self.seat(event).is_none() || event.cluster().is_some_and(attaches)
    }

    fn on_fleet_event(&self, event: &FleetEvent) {
        if let FleetEvent::Health(_, Health::Ready) = event {
            // What is reconciled on the host may concern every cluster, so a new one concerns all of it.
            if let Some(host) = self.shared.host().filter(|_| self.uses_host_primary()) {
                self.enqueue_all(&host);
            }
        }
        let (Some(map), Some(seat)) = (&self.on_fleet, self.seat(event)) else {
            return;
        };
        let cx = MapContext::new(self.shared.clone(), seat.clone());
        match catch_unwind(AssertUnwindSafe(|| map(&self.reconciler, event, cx))) {
            Ok(requests) => self.shared.enqueue(&seat, requests, Priority::High),
            Err(panic) => {
                Counters::count(&self.shared.counters.panics);
                let panic = panic_text(&*panic);
                tracing::error!(controller = %self.shared.name, ?event, panic, "the map of fleet events panicked");
            }
        }
    }

    /// Where an object is looked for that the map names without its cluster: on the host if that is where objects
    /// are reconciled, else in the cluster that the event is about; if it has left, in any.
    fn seat(&self, event: &FleetEvent) -> Option<Arc<Engagement>> {
        if self.uses_host_primary() {
            return self.shared.host();
        }
        let engaged = self.shared.engaged.read();
        let own = event.cluster().and_then(|cluster| engaged.of(cluster));
        own.or_else(|| engaged.all().into_iter().next())
    }

    fn uses_host_primary(&self) -> bool {
        self.plan()
            .any(|watch| watch.role == super::build::FOR && watch.place.has_host())
    }
}
