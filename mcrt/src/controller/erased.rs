//! A built controller, whatever it reconciles.
use super::{
    BuildError, ControllerBuilder, MulticlusterController, Reconciler, Uses,
    build::FOR,
    declaration::Declaration,
    engagement::Engaged,
    failures::{Failures, ReconcileFailure},
    gate::Gating,
    index::AnyIndex,
    runtime::{Counters, Runtime, Shared},
    settings::Settings,
    tombstones::Tombstones,
    watch::Map as FleetMap,
};
use crate::{
    cache::Cacheable,
    cluster::ClusterName,
    fleet::{Fleet, Participant},
    queue::{FairQueue, LaneCounters, QueueCounters, QueueSettings},
};
use futures::future::BoxFuture;
use kube::core::ApiResource;
use parking_lot::RwLock;
use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
};
use tokio_util::sync::CancellationToken;

/// A controller, ready for a [`Manager`](crate::Manager).
pub struct Controller(Box<dyn Erased>);

impl Controller {
    pub(crate) fn new<R: Reconciler<Object: Cacheable>>(parts: Parts<R>) -> Self {
        Self(Box::new(parts))
    }

    /// What `#[multicluster_controller(...)]` declares, as a controller.
    ///
    /// # Errors
    /// If an expression of the declarations gives what cannot be, such as a selector that is none.
    pub fn declared<C: MulticlusterController<Object: Cacheable>>(controller: C) -> Result<Self, BuildError> {
        let mut wiring = ControllerBuilder::new(C::NAME);
        C::wire(&mut wiring);
        wiring.build(controller)
    }

    /// The controller's name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Whether anything of it is declared on the host.
    pub fn uses_host(&self) -> bool {
        self.0.uses_host()
    }

    /// What it watches and uses, and where: a line for each declaration; and which clusters it selects, if not all.
    pub fn plan(&self) -> Vec<String> {
        self.0.plan()
    }

    pub(crate) fn bind(self, fleet: &Fleet) -> Bound {
        self.0.bind(fleet)
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name())
            .field("plan", &self.plan())
            .finish()
    }
}

trait Erased: Send {
    fn name(&self) -> &str;
    fn uses_host(&self) -> bool;
    fn plan(&self) -> Vec<String>;
    fn bind(self: Box<Self>, fleet: &Fleet) -> Bound;
}

/// A controller bound to its fleet: somebody who takes part, something that runs, and its numbers.
pub(crate) struct Bound {
    pub(crate) participant: Arc<dyn Participant>,
    pub(crate) run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>,
    pub(crate) status: ControllerHandle,
}

pub(crate) struct Parts<R: Reconciler> {
    pub(crate) name: String,
    pub(crate) settings: Settings,
    pub(crate) declarations: Vec<Box<dyn Declaration<R>>>,
    pub(crate) indexes: Vec<Box<dyn AnyIndex>>,
    pub(crate) on_fleet: Option<FleetMap<R>>,
    pub(crate) uses: Vec<(String, Uses)>,
    pub(crate) tombstones: Arc<Tombstones<R::Object>>,
    pub(crate) kind: ApiResource,
    pub(crate) namespaced: Option<bool>,
    pub(crate) reconciler: Arc<R>,
    pub(crate) uses_host: bool,
}

impl<R: Reconciler<Object: Cacheable>> Erased for Parts<R> {
    fn name(&self) -> &str {
        &self.name
    }

    fn uses_host(&self) -> bool {
        self.uses_host
    }

    fn plan(&self) -> Vec<String> {
        let watches = self.declarations.iter().map(|watch| watch.summary().to_string());
        let uses = self.uses.iter().map(|(kind, uses)| {
            let verbs = match &*uses.verbs {
                [] => String::new(),
                verbs => format!(" ({})", verbs.join(", ")),
            };
            format!("uses {kind} on {}{verbs}", uses.place)
        });
        let clusters = &self.settings.clusters;
        let selection = (!clusters.is_everything()).then(|| format!("clusters: {clusters}"));
        watches.chain(uses).chain(selection).collect()
    }

    fn bind(self: Box<Self>, fleet: &Fleet) -> Bound {
        let settings = QueueSettings {
            permits: self.settings.concurrency,
            per_lane: self.settings.per_cluster,
            backoff: self.settings.backoff,
        };
        let shared = Arc::new(Shared {
            field_manager: self
                .settings
                .field_manager
                .clone()
                .unwrap_or_else(|| self.name.clone()),
            name: self.name,
            kind: self.kind,
            namespaced: self.namespaced,
            queue: FairQueue::new(settings),
            engaged: RwLock::new(Engaged::default()),
            fleet: fleet.clone(),
            uses_host: self.uses_host,
            clusters: Some(self.settings.clusters.clone()).filter(|clusters| !clusters.is_everything()),
            attached: tokio::sync::Notify::new(),
            host: tokio::sync::watch::Sender::new(None),
            counters: Counters::default(),
            failures: Failures::default(),
        });
        let mut watches = self.declarations.iter().map(|watch| watch.summary());
        let is_primary_on_host = watches.any(|watch| watch.role == FOR && watch.place.has_host());
        let runtime = Arc::new(Runtime {
            shared: shared.clone(),
            reconciler: self.reconciler,
            declarations: self.declarations,
            indexes: self.indexes,
            on_fleet: self.on_fleet,
            settings: self.settings,
            tombstones: self.tombstones,
            is_primary_on_host,
        });
        Bound {
            participant: runtime.clone(),
            run: Box::new(move |stop| Box::pin(runtime.run(stop))),
            status: ControllerHandle(shared),
        }
    }
}

/// The numbers of a running controller.
#[derive(Clone)]
pub struct ControllerHandle(Arc<Shared>);

/// How often a controller did what, since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControllerCounters {
    /// Reconciles begun.
    pub reconciles: u64,
    /// Reconciles that returned an error.
    pub errors: u64,
    /// Calls of the author's code that panicked.
    pub panics: u64,
    /// Reconciles dropped at their deadline.
    pub timeouts: u64,
    /// Deleted objects taken leave of.
    pub gone: u64,
}

impl ControllerHandle {
    /// The controller's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it did.
    pub fn counters(&self) -> ControllerCounters {
        let counters = &self.0.counters;
        ControllerCounters {
            reconciles: counters.reconciles.load(Ordering::Relaxed),
            errors: counters.errors.load(Ordering::Relaxed),
            panics: counters.panics.load(Ordering::Relaxed),
            timeouts: counters.timeouts.load(Ordering::Relaxed),
            gone: counters.gone.load(Ordering::Relaxed),
        }
    }

    /// The last reconciles that failed, oldest first; a few of them.
    pub fn last_failures(&self) -> Vec<ReconcileFailure> {
        self.0.failures.last()
    }

    /// What one cluster has in its queue; `None` for a cluster that it has not engaged.
    pub fn lane(&self, cluster: &ClusterName) -> Option<LaneCounters> {
        let lane = self.0.engaged.read().lane(cluster)?;
        self.0.queue.lane_counters(lane)
    }

    /// What keeps it from working in some clusters: watches of kinds that it requires there, in the order of the
    /// clusters' names. None where it works.
    pub fn waits_for(&self) -> Vec<Gating> {
        let engagements = self.0.engaged.read().all();
        let mut watches: Vec<_> = engagements.iter().flat_map(|at| at.waits_for()).collect();
        watches.sort_by(|a, b| (&a.cluster, &a.watch).cmp(&(&b.cluster, &b.watch)));
        watches
    }

    /// The state of its queue.
    pub fn queue(&self) -> QueueCounters {
        self.0.queue.counters()
    }
}

impl fmt::Debug for ControllerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerHandle")
            .field("name", &self.name())
            .field("counters", &self.counters())
            .finish()
    }
}
