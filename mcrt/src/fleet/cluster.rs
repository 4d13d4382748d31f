//! The handle of one engaged cluster.
use super::{Step, Steps, described::Described, health::Condition};
use crate::{
    cache::{CacheStats, Caches, WatchScope, WatchState},
    cluster::{ClusterName, Epoch, Health, Properties},
    connect::{Life, Transport},
};
use parking_lot::Mutex;
use std::{collections::BTreeMap, fmt, sync::Arc};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

/// One life of one cluster: a cheap handle, the same for all who hold it.
///
/// A handle outlives its engagement: after the cluster has left, calls through its client fail.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    name: ClusterName,
    epoch: Epoch,
    described: Mutex<Described>,
    /// Told when somebody may take part who did not, or the other way round.
    selection: Notify,
    /// Told when others take part, who may require something else.
    requirements: Notify,
    transport: Transport,
    caches: Caches,
    life: Life,
    health: watch::Sender<Health>,
    /// Decides over `health`.
    condition: Mutex<Condition>,
    /// Told when something has changed that a probe would see.
    news: Notify,
    /// What the server says of itself.
    version: Mutex<Option<Arc<str>>>,
    version_changed: Notify,
    steps: Steps,
}

impl Cluster {
    pub(super) fn new(
        name: ClusterName,
        properties: Properties,
        transport: Transport,
        caches: Caches,
        life: Life,
        condition: Condition,
        steps: Steps,
    ) -> Self {
        let health = watch::Sender::new(Health::Connecting);
        let described = Mutex::new(Described::new(properties));
        Self(Arc::new(Inner {
            name,
            epoch: Epoch::next(),
            described,
            selection: Notify::new(),
            requirements: Notify::new(),
            transport,
            caches,
            life,
            health,
            condition: Mutex::new(condition),
            news: Notify::new(),
            version: Mutex::default(),
            version_changed: Notify::new(),
            steps,
        }))
    }

    /// The cluster's name; the host's prints as `host`.
    pub fn name(&self) -> &ClusterName {
        &self.0.name
    }

    /// Which life of the cluster this is.
    pub fn epoch(&self) -> Epoch {
        self.0.epoch
    }

    /// Whether this is the host.
    pub fn is_host(&self) -> bool {
        self.0.name.is_host()
    }

    /// What the host side says of the cluster now, and what the cluster says of itself where that is
    /// [read](crate::ManagerBuilder::self_reported).
    pub fn properties(&self) -> Arc<Properties> {
        self.0.described.lock().now()
    }

    /// Takes note of what the host side says of it; true if it is described otherwise than before.
    pub(super) fn describe(&self, properties: Properties) -> bool {
        self.described(|described| described.describe(properties))
    }

    /// Takes note of what the cluster says of itself; true if it is described otherwise than before.
    pub(super) fn report(&self, reported: BTreeMap<String, String>) -> bool {
        self.described(|described| described.report(reported))
    }

    fn described(&self, change: impl FnOnce(&mut Described) -> bool) -> bool {
        let changed = change(&mut self.0.described.lock());
        if changed {
            self.0.selection.notify_one();
        }
        changed
    }

    /// Resolves when the cluster is described otherwise: others may take part.
    pub(super) async fn selection(&self) {
        self.0.selection.notified().await;
    }

    /// Has the cluster looked through at once for what is required of it: others take part.
    pub(super) fn look_soon(&self) {
        self.0.requirements.notify_one();
    }

    /// Resolves when the cluster is to be looked through at once.
    pub(super) async fn requirements(&self) {
        self.0.requirements.notified().await;
    }

    /// What is watched in the cluster, and how each watch fares.
    pub fn watches(&self) -> Vec<(WatchScope, WatchState)> {
        self.0.caches.states()
    }

    /// Counts of each watch, and when its server spoke last.
    pub fn watch_stats(&self) -> Vec<(WatchScope, CacheStats)> {
        self.0.caches.stats()
    }

    /// A client for the cluster. Its requests fail once the cluster has left.
    pub fn client(&self) -> kube::Client {
        self.0.transport.client()
    }

    /// How the cluster fares now.
    pub fn health(&self) -> Health {
        *self.0.health.borrow()
    }

    /// How the cluster fares, as it changes.
    pub fn health_changes(&self) -> watch::Receiver<Health> {
        self.0.health.subscribe()
    }

    /// What is wrong with the cluster, in words: why it does not answer, which checks fail. Says more than
    /// [`health`](Self::health), and earlier: one failure is here that does not count yet.
    pub fn complaints(&self) -> Vec<String> {
        self.0.condition.lock().complaints()
    }

    /// The version of Kubernetes that the cluster runs, such as `v1.37.2`, once it has said so.
    pub fn version(&self) -> Option<Arc<str>> {
        self.0.version.lock().clone()
    }

    pub(super) fn set_version(&self, version: &str) {
        let mut known = self.0.version.lock();
        if known.as_deref() != Some(version) {
            *known = Some(version.into());
            self.0.version_changed.notify_one();
        }
    }

    /// Resolves when the server says another version than before. For one who waits.
    pub(super) async fn version_changed(&self) {
        self.0.version_changed.notified().await;
    }

    /// Resolves when the cluster's connections end.
    pub(super) async fn left(&self) {
        self.0.life.token().cancelled().await;
    }

    /// Has the cluster probed at once: its credentials are others.
    pub(super) fn probe_soon(&self) {
        self.0.news.notify_one();
    }

    /// Resolves when the cluster is to be probed at once.
    pub(super) async fn news(&self) {
        self.0.news.notified().await;
    }

    /// Suspended from its first moment on; for a cluster that nobody has seen yet.
    pub(super) fn begin_suspended(&self) {
        let now = Instant::now();
        let mut condition = self.0.condition.lock();
        condition.suspend(now);
        self.0.transport.breaker().suspend();
        self.0.health.send_replace(condition.health(now));
    }

    pub(super) fn condition(&self) -> &Mutex<Condition> {
        &self.0.condition
    }

    /// How many tasks the connections of the cluster hold now: one for each open connection, none once the cluster
    /// has left. For looking into a program that runs, and for tests that nothing is left behind.
    pub fn connection_tasks(&self) -> usize {
        self.0.life.tasks()
    }

    /// The way to the cluster.
    pub(crate) fn transport(&self) -> &Transport {
        &self.0.transport
    }

    pub(crate) fn caches(&self) -> &Caches {
        &self.0.caches
    }

    /// Sets the health; true if it is another than before.
    pub(super) fn set_health(&self, health: Health) -> bool {
        self.0
            .health
            .send_if_modified(|now| std::mem::replace(now, health) != health)
    }

    /// Passes a step of the engagement: where tests hold it up.
    pub(crate) async fn reach(&self, step: Step) {
        if let Some(steps) = &self.0.steps {
            steps(step, self.0.name.clone()).await;
        }
    }

    /// Lets nothing more be sent to the cluster: requests fail at once, watches break off.
    pub(super) fn cut(&self) {
        self.0.life.token().cancel();
    }

    /// Ends all that runs for the cluster: watches first, then its connections.
    pub(super) async fn end(&self) {
        self.0.caches.close().await;
        self.0.life.end().await;
    }
}

impl PartialEq for Cluster {
    fn eq(&self, other: &Self) -> bool {
        self.0.epoch == other.0.epoch
    }
}

impl Eq for Cluster {}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.name, f)
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({}{:?}, {})", self.0.name, self.0.epoch, self.health())
    }
}
