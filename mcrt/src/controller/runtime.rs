//! A controller at work: its queue, its engagements, and how it takes part in a cluster's life.
use super::{
    declaration::Declaration,
    engagement::{Engaged, Engagement},
    failures::Failures,
    gate::Need,
    index::AnyIndex,
    keeper::keep_lane,
    settings::Settings,
    tombstones::Tombstones,
    waiting::Route,
    watch::Map as FleetMap,
};
use crate::{
    cluster::{ClusterName, ClusterSelector, ObjectKey},
    fleet::{Cluster, Fleet, Participant, Required, Step},
    queue::{FairQueue, Lane, Priority},
};
use futures::future::BoxFuture;
use kube::core::{ApiResource, ObjectMeta};
use parking_lot::RwLock;
use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Notify, watch};

/// What everything of one controller shares; it knows neither the reconciler nor its kind as types.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) field_manager: String,
    /// The reconciled kind.
    pub(crate) kind: ApiResource,
    /// Whether it lives in namespaces; `None` where its type does not say.
    pub(crate) namespaced: Option<bool>,
    pub(crate) queue: FairQueue<ObjectKey>,
    pub(crate) engaged: RwLock<Engaged>,
    pub(crate) fleet: Fleet,
    /// Whether the host takes part.
    pub(crate) uses_host: bool,
    /// In which clusters of the fleet it works; none for all of them.
    pub(crate) clusters: Option<ClusterSelector>,
    /// Told when a cluster has been attached.
    pub(crate) attached: Notify,
    /// This controller's engagement of the host, once there is one.
    pub(crate) host: watch::Sender<Option<Arc<Engagement>>>,
    pub(crate) counters: Counters,
    pub(crate) failures: Failures,
}

/// Counts of what a controller did.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reconciles: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) timeouts: AtomicU64,
    pub(crate) gone: AtomicU64,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

impl Shared {
    /// The keys of an object's owners that are of the reconciled kind.
    pub(crate) fn owners_of<'a>(&'a self, meta: &'a ObjectMeta) -> impl Iterator<Item = ObjectKey> + 'a {
        let owners = meta.owner_references.iter().flatten();
        owners
            .filter(|owner| owner.kind == self.kind.kind && group(&owner.api_version) == self.kind.group)
            .flat_map(|owner| self.owner_keys(&owner.name, meta.namespace.as_deref()))
    }

    /// A cluster-scoped owner has one key, wherever what it owns lives. Where only the server knows the owner's
    /// scope, both keys are worth a look: one of them names nothing.
    fn owner_keys(&self, name: &str, namespace: Option<&str>) -> impl Iterator<Item = ObjectKey> + use<> {
        let name: Arc<str> = Arc::from(name);
        let namespaced = namespace.filter(|_| self.namespaced != Some(false));
        let namespaced = namespaced.map(|namespace| ObjectKey::namespaced(namespace, name.clone()));
        let clusters = (self.namespaced != Some(true)).then(|| ObjectKey::cluster_scoped(name));
        namespaced.into_iter().chain(clusters)
    }

    /// Whether the controller works in an engaged cluster, as that is described now.
    pub(crate) fn selects(&self, cluster: &Cluster) -> bool {
        if cluster.is_host() {
            return self.uses_host;
        }
        let clusters = self.clusters.as_ref();
        clusters.is_none_or(|clusters| self.fleet.selects(clusters, cluster))
    }

    /// The clusters of the fleet in which the controller works.
    pub(crate) fn selected(&self) -> Vec<Cluster> {
        let mut clusters = self.fleet.clusters();
        clusters.retain(|cluster| self.selects(cluster));
        clusters
    }

    /// This controller's engagement of the host.
    pub(crate) fn host(&self) -> Option<Arc<Engagement>> {
        self.host.borrow().clone()
    }
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// A controller bound to a fleet.
pub(crate) struct Runtime<R: super::Reconciler> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) reconciler: Arc<R>,
    pub(crate) declarations: Vec<Box<dyn Declaration<R>>>,
    pub(crate) indexes: Vec<Box<dyn AnyIndex>>,
    pub(crate) on_fleet: Option<FleetMap<R>>,
    pub(crate) settings: Settings,
    pub(crate) tombstones: Arc<Tombstones<R::Object>>,
    /// Whether the reconciled kind lives on the host.
    pub(crate) is_primary_on_host: bool,
}

/// How long an aborted reconcile has to reach its next await before it is reported.
const ABORT_REPORT: Duration = Duration::from_secs(5);

impl<R: super::Reconciler> Runtime<R> {
    fn declared_on(&self, host: bool) -> impl Iterator<Item = &Box<dyn Declaration<R>>> {
        self.declarations
            .iter()
            .filter(move |declaration| declaration.summary().place.contains(host))
    }

    async fn engage(&self, cluster: &Cluster) {
        let lane = self.shared.queue.engage(NonZeroU32::MIN);
        self.publish(cluster.name(), lane);
        cluster.reach(Step::Lane).await;
        let caches = self
            .declared_on(cluster.is_host())
            .map(|declaration| declaration.open(cluster))
            .collect();
        let engagement = Engagement::open(cluster.clone(), lane, caches, &self.indexes).await;
        let engagement = Arc::new(engagement);
        // Before the first change: a map function may look anything up.
        self.shared.engaged.write().insert(engagement.clone());
        if cluster.is_host() {
            self.shared.host.send_replace(Some(engagement.clone()));
        }
        self.shared.attached.notify_one();
        cluster.reach(Step::Indexed).await;
        for (at, declaration) in self.declared_on(cluster.is_host()).enumerate() {
            let subscribing = declaration.subscribe(at, &self.reconciler, &self.shared, &engagement);
            if let Some(subscription) = subscribing.await {
                engagement.hold(subscription);
            }
        }
        cluster.reach(Step::Attached).await;
    }

    fn begin(&self, engagement: &Arc<Engagement>) {
        engagement.start();
        let keeper = keep_lane(
            self.shared.clone(),
            engagement.clone(),
            self.shared.uses_host,
            Shared::enqueue_all::<R::Object>,
        );
        engagement.guard_with(tokio::spawn(keeper));
    }

    /// From here on requests find the lane; those that waited for it go first.
    fn publish(&self, name: &ClusterName, lane: Lane) {
        let waiting = {
            let mut engaged = self.shared.engaged.write();
            engaged.publish(name, lane);
            engaged.take_waiting(name)
        };
        self.shared.request_all(waiting);
    }

    /// The requests between a cluster that leaves and others. If another life of its name follows, they are made
    /// again: it lists its own objects, which does not bring them back.
    fn between(&self, lane: Lane) -> Vec<(Route, Priority)> {
        let crossing = self.shared.queue.crossing(lane);
        let engaged = self.shared.engaged.read();
        let routes = crossing.into_iter().filter_map(|(home, target, object)| {
            let (home, target) = (engaged.name(home)?.clone(), engaged.name(target)?.clone());
            Some((Route { home, target, object }, Priority::Normal))
        });
        routes.collect()
    }

    async fn disengage(&self, engagement: &Engagement) {
        let (name, lane) = (engagement.cluster.name(), engagement.lane);
        self.shared.engaged.write().unpublish(name, lane);
        engagement.stop_intake();
        engagement.close_gate().await;
        engagement.cluster.reach(Step::IntakeStopped).await;
        let mut between = self.between(lane);
        let purged = self.shared.queue.purge(lane);
        if self.shared.expects(name) {
            self.shared.request_all(std::mem::take(&mut between));
        }
        engagement.cluster.reach(Step::Purged).await;
        tracing::debug!(controller = %self.shared.name, cluster = %name, ?purged, "lane purged");
        if tokio::time::timeout(self.shared.fleet.grace(), self.shared.queue.idle(lane))
            .await
            .is_err()
        {
            engagement.abort.cancel();
            self.await_aborted(name, lane).await;
        }
        engagement.abort.cancel();
        engagement.release();
        self.tombstones.purge(lane);
        self.shared.engaged.write().remove(engagement);
        self.shared.release_waiting(name);
        // It may have come back while its work drained.
        if self.shared.expects(name) {
            self.shared.request_all(between);
        }
        // Its stores go with it, whoever still asks for the controller's numbers.
        self.shared
            .host
            .send_if_modified(|host| host.take_if(|host| host.lane == lane).is_some());
    }

    /// Waits until aborted reconciles have let go. One that never awaits cannot be stopped: it keeps its successor
    /// waiting, or one object would be reconciled twice at once.
    async fn await_aborted(&self, name: &ClusterName, lane: Lane) {
        while tokio::time::timeout(ABORT_REPORT, self.shared.queue.idle(lane))
            .await
            .is_err()
        {
            tracing::error!(
                controller = %self.shared.name, cluster = %name,
                "a reconcile of a cluster that leaves does not reach an await: it blocks its thread",
            );
        }
    }
}

impl<R: super::Reconciler> Participant for Runtime<R> {
    fn takes_part(&self, cluster: &Cluster) -> bool {
        self.shared.selects(cluster)
    }

    fn attach<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()> {
        Box::pin(self.engage(cluster))
    }

    fn start<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let engagement = self.shared.engaged.read().of(cluster);
            if let Some(engagement) = engagement {
                self.begin(&engagement);
            }
        })
    }

    fn requires(&self, cluster: &Cluster) -> Vec<Required> {
        // Where the reconciled kind is not served there is no work, which is nothing wrong with the cluster.
        let declared = self
            .declared_on(cluster.is_host())
            .filter(|declaration| declaration.summary().need() == Need::Required);
        let required = declared.map(|declaration| {
            let scope = &declaration.summary().scope;
            Required {
                resource: scope.resource.clone(),
                namespaces: scope.namespaces.clone(),
            }
        });
        required.collect()
    }

    fn detach<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let engagement = self.shared.engaged.read().of(cluster);
            if let Some(engagement) = engagement {
                self.disengage(&engagement).await;
            }
        })
    }
}
