//! From a change of a watched object to keys in the queue: maps and enqueues, never waits.
use super::{
    MapContext, Reconciler,
    declaration::Role,
    engagement::Engagement,
    request::{Requests, Wanted},
    runtime::{Counters, Shared},
    waiting::Route,
    watch::Predicate,
};
use crate::{
    cache::{Cacheable, Delta, DeltaSink, Origin, Seen},
    panic::panic_text,
    queue::Priority,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

pub(crate) struct Trigger<R, T> {
    pub(crate) role: Role<R, T>,
    pub(crate) predicate: Option<Predicate<T>>,
    pub(crate) reconciler: Arc<R>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) engagement: Arc<Engagement>,
}

impl<R: Reconciler, T: Cacheable> DeltaSink<T> for Trigger<R, T> {
    /// Predicates and map functions are the author's: a panic in one fails this change alone.
    fn on_delta(&self, delta: Delta<'_, T>, origin: Origin) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take(delta, origin))) {
            self.report(delta, panic_text(&*panic));
        }
    }
}

impl<R: Reconciler, T: Cacheable> Trigger<R, T> {
    fn take(&self, delta: Delta<'_, T>, origin: Origin) {
        let priority = match origin {
            Origin::List => Priority::Low,
            Origin::Watch => Priority::High,
        };
        match delta {
            Delta::Added(new) => {
                if self.matters(None, new) {
                    self.enqueue(new, priority);
                }
            }
            Delta::Updated { old, new } => self.updated(old, new, priority),
            Delta::Deleted(old) => self.deleted(old, priority),
            Delta::Synced => self.synced(),
            Delta::Relisted => self.relisted(),
        }
    }

    fn report(&self, delta: Delta<'_, T>, panic: &str) {
        Counters::count(&self.shared.counters.panics);
        let object = delta.object().map(Seen::key);
        tracing::error!(
            controller = %self.shared.name,
            cluster = %self.engagement.cluster,
            object = object.as_ref().map(tracing::field::display),
            panic,
            "a predicate or a map function panicked: the change is lost to this controller",
        );
    }

    fn matters(&self, old: Option<&Seen<T>>, new: &Seen<T>) -> bool {
        self.predicate
            .as_ref()
            .is_none_or(|predicate| predicate(old.map(|old| &**old.object()), new.object()))
    }

    fn updated(&self, old: &Seen<T>, new: &Seen<T>, priority: Priority) {
        let replaced = old.uid() != new.uid();
        if replaced {
            // Deleted and created again between two looks: the first one is gone, and its backoff is not the
            // second one's.
            self.bury(old);
        }
        if !replaced && !self.matters(Some(old), new) {
            return;
        }
        if !matches!(self.role, Role::For(_)) {
            self.enqueue(old, priority);
        }
        self.enqueue(new, priority);
    }

    fn deleted(&self, old: &Seen<T>, priority: Priority) {
        self.bury(old);
        self.enqueue(old, priority);
    }

    /// Requests from elsewhere may have waited for what exists here.
    fn synced(&self) {
        if matches!(self.role, Role::For(_)) {
            self.shared.release_waiting(self.engagement.cluster.name());
        }
    }

    /// What a reconcile has written and somebody has deleted between two views of the cluster is in neither of them:
    /// its owners look for it themselves.
    fn relisted(&self) {
        if matches!(self.role, Role::Owns) {
            self.shared.enqueue_all::<R::Object>(&self.engagement);
        }
    }

    fn bury(&self, old: &Seen<T>) {
        let Role::For(tombstones) = &self.role else { return };
        let (lane, key) = (self.engagement.lane, old.key());
        self.shared.queue.forget(lane, lane, &key);
        // On the host, leave is taken by the replica that works there: once.
        let cluster = &self.engagement.cluster;
        let is_ours = !cluster.is_host() || self.shared.fleet.host_duty().is_mine();
        if let Some(tombstones) = tombstones.as_ref().filter(|_| is_ours) {
            tombstones.bury(lane, key, old.object().clone());
        }
    }

    fn enqueue(&self, object: &Seen<T>, priority: Priority) {
        let lane = self.engagement.lane;
        match &self.role {
            Role::For(_) => self.shared.queue.add(lane, lane, object.key(), priority),
            Role::Owns => {
                for owner in self.shared.owners_of(object.object().meta()) {
                    self.shared.queue.add(lane, lane, owner, priority);
                }
            }
            Role::Watches(map) => {
                let cx = MapContext::new(self.shared.clone(), self.engagement.clone());
                let requests = map(&self.reconciler, object.object(), cx);
                self.shared.enqueue(&self.engagement, requests, priority);
            }
        }
    }
}

impl Shared {
    /// Puts every object that is reconciled in a cluster into the queue.
    pub(crate) fn enqueue_all<K: 'static>(&self, engagement: &Engagement) {
        let lane = engagement.lane;
        let keys = engagement.keys::<K>(&self.kind).into_iter();
        self.queue
            .add_all(keys.map(|key| (lane, lane, key)), Priority::Low);
    }

    /// Puts what a map function asked for into the queue; a request for a cluster of the fleet that is not attached
    /// yet waits for it: what that one lists are its own objects, not requests that name it.
    pub(crate) fn enqueue<C>(&self, here: &Engagement, requests: Requests<C>, priority: Priority) {
        for wanted in requests.wanted {
            match wanted {
                Wanted::Here(object) => self.queue.add(here.lane, here.lane, object, priority),
                Wanted::There { home, target, object } => {
                    self.request(Route { home, target, object }, priority);
                }
            }
        }
    }
}
