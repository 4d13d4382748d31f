//! A controller's part of one engaged cluster: its lane, its stores and indexes, its triggers.
use super::{
    gate::{PATIENCE, Part},
    index::{AnyIndex, BoundIndex},
    lane_gate::LaneGate,
    waiting::Waiting,
};
use crate::{
    cache::{Cache, Cacheable, Store, Subscription, WatchScope, WatchState},
    cluster::{ClusterName, Epoch, ObjectKey},
    fleet::Cluster,
    queue::Lane,
};
use kube::{
    core::ApiResource,
    runtime::events::{Recorder, Reporter},
};
use parking_lot::Mutex;
use std::{
    any::Any,
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, OnceLock},
};
use tokio::{sync::watch, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

/// A cache that this controller opened, whatever its kind.
pub(crate) trait Opened: Any + Send + Sync {
    fn start(&self);
    fn scope(&self) -> &WatchScope;
    fn state(&self) -> watch::Receiver<WatchState>;
    fn keys(&self) -> Vec<ObjectKey>;
}

impl<T: Cacheable> Opened for Cache<T> {
    fn start(&self) {
        Cache::start(self);
    }
    fn scope(&self) -> &WatchScope {
        Cache::scope(self)
    }
    fn state(&self) -> watch::Receiver<WatchState> {
        Cache::state(self)
    }
    fn keys(&self) -> Vec<ObjectKey> {
        self.store().keys()
    }
}

/// Lives from `attach` to `detach`; a reconcile that is aborted late still holds it.
pub(crate) struct Engagement {
    pub(crate) cluster: Cluster,
    pub(crate) lane: Lane,
    /// Cancelled when the cluster begins to leave: running reconciles are asked to come to an end.
    pub(crate) leaving: CancellationToken,
    /// Cancelled when running reconciles have had their grace period.
    pub(crate) abort: CancellationToken,
    parts: Vec<Part>,
    /// When the watches began: until then the cluster may not have been reached for long.
    started: OnceLock<Instant>,
    indexes: Vec<Option<BoundIndex>>,
    subscriptions: Mutex<Vec<Subscription>>,
    gate: Mutex<Option<JoinHandle<()>>>,
    pub(super) lane_gate: LaneGate,
    recorder: OnceLock<Recorder>,
}

impl Engagement {
    pub(crate) async fn open(
        cluster: Cluster,
        lane: Lane,
        parts: Vec<Part>,
        indexes: &[Box<dyn AnyIndex>],
    ) -> Self {
        let mut bound = Vec::with_capacity(indexes.len());
        for index in indexes {
            let mut found = None;
            for part in &parts {
                if found.is_none() {
                    found = index.bind(&*part.cache as &(dyn Any + Send + Sync)).await;
                }
            }
            bound.push(found);
        }
        Self {
            cluster,
            lane,
            leaving: CancellationToken::new(),
            abort: CancellationToken::new(),
            parts,
            started: OnceLock::new(),
            indexes: bound,
            subscriptions: Mutex::default(),
            gate: Mutex::default(),
            lane_gate: LaneGate::default(),
            recorder: OnceLock::new(),
        }
    }

    /// The opened cache number `at`, if it stores `T`.
    pub(crate) fn cache<T: Cacheable>(&self, at: usize) -> Option<&Cache<T>> {
        (&*self.parts.get(at)?.cache as &dyn Any).downcast_ref()
    }

    /// The store of what is kept as `T`.
    pub(crate) fn store<T: Cacheable>(&self) -> Option<Store<T>> {
        self.store_where(|_| true)
    }

    /// The first store of `T` whose cache is the one meant.
    pub(crate) fn store_where<T: Cacheable>(&self, meant: impl Fn(&Cache<T>) -> bool) -> Option<Store<T>> {
        let caches = self
            .parts
            .iter()
            .filter_map(|part| (&*part.cache as &dyn Any).downcast_ref::<Cache<T>>());
        caches.into_iter().find(|cache| meant(cache)).map(Cache::store)
    }

    /// The names in the first cache of `T` and of this kind.
    pub(crate) fn keys<T: 'static>(&self, kind: &ApiResource) -> Vec<ObjectKey> {
        let meant =
            |cache: &&dyn Opened| (*cache as &dyn Any).is::<Cache<T>>() && cache.scope().resource == *kind;
        let mut caches = self.parts.iter().map(|part| &*part.cache);
        caches.find(meant).map_or_else(Vec::new, Opened::keys)
    }

    pub(crate) fn index(&self, slot: u16) -> Option<&BoundIndex> {
        self.indexes.get(usize::from(slot))?.as_ref()
    }

    pub(crate) fn hold(&self, subscription: Subscription) {
        self.subscriptions.lock().push(subscription);
    }

    /// Starts the watches; what a cache that runs already has was replayed to its trigger.
    pub(crate) fn start(&self) {
        self.started.get_or_init(Instant::now);
        for part in &self.parts {
            part.cache.start();
        }
    }

    /// Takes nothing more in, and tells what runs.
    pub(crate) fn stop_intake(&self) {
        self.leaving.cancel();
        let subscriptions = std::mem::take(&mut *self.subscriptions.lock());
        drop(subscriptions);
    }

    /// Lets go of its caches, which others may go on using.
    pub(crate) fn release(&self) {
        self.indexes.iter().flatten().for_each(BoundIndex::end);
        self.parts.iter().for_each(Part::release);
    }

    pub(crate) fn guard_with(&self, gate: JoinHandle<()>) {
        *self.gate.lock() = Some(gate);
    }

    pub(crate) async fn close_gate(&self) {
        let gate = self.gate.lock().take();
        if let Some(gate) = gate {
            gate.abort();
            // Cancelled, which is what was asked for.
            let _ = gate.await;
        }
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Until when optional kinds are waited for.
    pub(crate) fn patience(&self) -> Instant {
        self.started.get().copied().unwrap_or_else(Instant::now) + PATIENCE
    }

    pub(crate) fn recorder(&self, controller: &str) -> &Recorder {
        self.recorder.get_or_init(|| {
            let reporter = Reporter {
                controller: controller.to_owned(),
                instance: None,
            };
            Recorder::new(self.cluster.client(), reporter)
        })
    }
}

impl fmt::Debug for Engagement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engagement")
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

/// A controller's engagements: what a change of them and a look at them must agree on is under one lock.
#[derive(Default)]
pub(crate) struct Engaged {
    /// Known from the first step on, so that requests for the cluster are kept.
    lanes: HashMap<ClusterName, Lane>,
    /// Until nothing of the lane runs.
    names: HashMap<Lane, ClusterName>,
    by_lane: HashMap<Lane, Arc<Engagement>>,
    by_epoch: HashMap<Epoch, Arc<Engagement>>,
    /// Requests by the cluster that has no lane yet.
    pub(super) waiting: Waiting,
    /// Requests by a cluster other than their target that has not told yet what exists there, or is down.
    pub(super) awaiting: Waiting,
    /// Clusters that are not selected, though requests have named them.
    pub(super) unselected: HashSet<ClusterName>,
}

impl Engaged {
    pub(crate) fn lane(&self, name: &ClusterName) -> Option<Lane> {
        self.lanes.get(name).copied()
    }

    /// The cluster of a lane, also of one that is leaving.
    pub(crate) fn name(&self, lane: Lane) -> Option<&ClusterName> {
        self.names.get(&lane)
    }

    pub(crate) fn is_published(&self, lane: Lane) -> bool {
        self.name(lane).is_some_and(|name| self.lane(name) == Some(lane))
    }

    pub(crate) fn engagement(&self, lane: Lane) -> Option<Arc<Engagement>> {
        self.by_lane.get(&lane).cloned()
    }

    pub(crate) fn of(&self, cluster: &Cluster) -> Option<Arc<Engagement>> {
        self.by_epoch.get(&cluster.epoch()).cloned()
    }

    /// Whether the controller works in the cluster: not before it has been attached, nor while it is detached.
    pub(crate) fn is_attached(&self, cluster: &Cluster) -> bool {
        let engagement = self.by_epoch.get(&cluster.epoch());
        engagement.is_some_and(|engagement| self.is_published(engagement.lane))
    }

    pub(crate) fn any(&self) -> Option<&Arc<Engagement>> {
        self.by_lane.values().next()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Engagement>> {
        self.by_lane.values().cloned().collect()
    }

    pub(crate) fn publish(&mut self, name: &ClusterName, lane: Lane) {
        self.unselected.remove(name);
        self.lanes.insert(name.clone(), lane);
        self.names.insert(lane, name.clone());
    }

    pub(crate) fn insert(&mut self, engagement: Arc<Engagement>) {
        self.by_epoch
            .insert(engagement.cluster.epoch(), engagement.clone());
        self.by_lane.insert(engagement.lane, engagement);
    }

    /// Forgets the name, unless a later life has it.
    pub(crate) fn unpublish(&mut self, name: &ClusterName, lane: Lane) {
        if self.lanes.get(name) == Some(&lane) {
            self.lanes.remove(name);
        }
    }

    pub(crate) fn remove(&mut self, engagement: &Engagement) {
        self.by_epoch.remove(&engagement.cluster.epoch());
        self.by_lane.remove(&engagement.lane);
        self.names.remove(&engagement.lane);
    }
}
