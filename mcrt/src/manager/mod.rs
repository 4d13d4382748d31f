//! One lifecycle for the host, the fleet and the controllers.
use crate::{
    Result, StartError,
    cluster::ClusterSelector,
    connect::Access,
    controller::{Bound, Controller, ControllerHandle},
    coordinator::{Sharding, coordinate},
    fleet::{Cluster, Fleet, FleetSettings, HealthCheck, Listener, Selection, SelfReported, discover},
    panic::panic_text,
    provider::{Provider, ProviderContext},
};
use futures::FutureExt;
use parking_lot::Mutex;
use std::{fmt, panic::AssertUnwindSafe, sync::Arc};
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Collects what a manager runs.
pub struct ManagerBuilder {
    provider: Option<Arc<dyn Provider>>,
    host: Option<Access>,
    controllers: Vec<Controller>,
    checks: Vec<HealthCheck>,
    selection: Selection,
    self_reported: Option<SelfReported>,
    sharding: Option<Sharding>,
    settings: FleetSettings,
}

impl fmt::Debug for ManagerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerBuilder")
            .field("controllers", &self.controllers)
            .finish_non_exhaustive()
    }
}

impl ManagerBuilder {
    /// Where clusters come from.
    #[must_use]
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// As [`provider`](Self::provider), of a provider that is shared already.
    #[must_use]
    pub fn shared_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// How to reach the host. It is dialled only if a controller declares something there.
    #[must_use]
    pub fn host(mut self, access: Access) -> Self {
        self.host = Some(access);
        self
    }

    /// Which of the provider's clusters are engaged at all (all of them). Nothing is ever sent to the others: they are
    /// not dialled, no controller sees them, and they are not in [`Fleet::clusters`] but in [`Fleet::left_out`]. A
    /// cluster that comes to be selected, or no longer is, joins or leaves the fleet. Called again, both must select.
    ///
    /// What a cluster says of itself cannot count here, as nobody asks it. To have some controllers work in some
    /// clusters, see [`ControllerBuilder::clusters`](crate::ControllerBuilder::clusters).
    #[must_use]
    pub fn clusters(mut self, selector: ClusterSelector) -> Self {
        if !selector.is_everything() {
            self.selection.clusters.push(selector);
        }
        self
    }

    /// Has clusters asked what they say of themselves (they are not). Nothing is selected by it but the names that are
    /// trusted.
    #[must_use]
    pub fn self_reported(mut self, what: SelfReported) -> Self {
        self.self_reported = Some(what);
        self
    }

    /// A controller to run.
    #[must_use]
    pub fn controller(mut self, controller: Controller) -> Self {
        self.controllers.push(controller);
        self
    }

    /// A check of the program's own, made on each cluster of the fleet again and again: whether what it needs there
    /// works. Three failures in a row and the cluster is [degraded](crate::Health::Degraded): it goes on being
    /// reconciled, and whoever places new work knows. A check that takes too long or panics has failed.
    ///
    /// How often, how long and how many: [`ApplicationSettings`](crate::fleet::ApplicationSettings). It is not made
    /// on the host, nor while the cluster is unreachable. It must not block its thread.
    #[must_use]
    pub fn health_check<F>(
        mut self,
        name: impl Into<String>,
        check: impl Fn(Cluster) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        self.checks.push(HealthCheck::new(name, check));
        self
    }

    #[cfg(feature = "sim")]
    pub(crate) fn health_checks(mut self, checks: impl IntoIterator<Item = HealthCheck>) -> Self {
        self.checks.extend(checks);
        self
    }

    /// Shares the clusters with other replicas, through Leases on the host: each cluster is worked on by one of them.
    /// Without it a program works on all of them, and a second replica does all the work a second time.
    #[must_use]
    pub fn sharded(mut self, sharding: Sharding) -> Self {
        self.sharding = Some(sharding);
        self
    }

    /// How clusters are treated.
    #[must_use]
    pub fn fleet_settings(mut self, settings: FleetSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Checks what was collected.
    ///
    /// # Errors
    /// If there is no provider, if it reads the host and there is none, if two controllers share a name, or if one needs
    /// a host and there is none, or none that a client can be built for; if the clusters cannot be shared as it says.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn build(mut self) -> Result<Manager, StartError> {
        let provider = self.provider.ok_or(StartError::NoProvider)?;
        if provider.needs_host() && self.host.is_none() {
            return Err(StartError::NoHostToRead {
                provider: provider.name().to_owned(),
            });
        }
        for clusters in &self.selection.clusters {
            clusters.check().map_err(StartError::Clusters)?;
            tracing::info!(%clusters, "clusters that are not selected are left out");
        }
        if let Some(sharding) = &self.sharding {
            if let Some(fault) = sharding.fault() {
                return Err(StartError::Sharding(fault));
            }
            if self.host.is_none() {
                let group = sharding.group.clone();
                return Err(StartError::NoHostToShare { group });
            }
        }
        if let Some(what) = &self.self_reported {
            if let Some(name) = what.fault() {
                let name = name.to_owned();
                return Err(StartError::SelfReported { name });
            }
            self.selection.trusted.clone_from(what.trusted());
        }
        let stop = CancellationToken::new();
        let fleet = Fleet::new(self.settings, self.checks, self.selection, stop.child_token());
        if self.sharding.is_some() {
            fleet.share();
        }
        if self.self_reported.is_some() {
            fleet.join(Arc::new(Listener::new(&fleet)));
        }
        let inner = Inner {
            fleet,
            provider,
            host: self.host,
            sharding: self.sharding,
            running: Mutex::default(),
            tasks: TaskTracker::new(),
            stop,
        };
        let manager = Manager(Arc::new(inner));
        for controller in self.controllers {
            manager.handle().add(controller)?;
        }
        Ok(manager)
    }
}

/// Runs controllers over a fleet.
pub struct Manager(Arc<Inner>);

struct Inner {
    fleet: Fleet,
    provider: Arc<dyn Provider>,
    host: Option<Access>,
    sharding: Option<Sharding>,
    running: Mutex<Vec<ControllerHandle>>,
    /// Owns every controller's runner.
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Manager {
    /// Starts collecting.
    pub fn builder() -> ManagerBuilder {
        ManagerBuilder {
            provider: None,
            host: None,
            controllers: Vec::new(),
            checks: Vec::new(),
            selection: Selection::default(),
            self_reported: None,
            sharding: None,
            settings: FleetSettings::default(),
        }
    }

    /// A handle to what runs, for as long as it runs.
    pub fn handle(&self) -> ManagerHandle {
        ManagerHandle(self.0.clone())
    }

    /// Runs until `shutdown` resolves, then stops in order: no new clusters, every cluster disengaged (running
    /// reconciles get the grace period), controllers last. Nothing of it runs once this returns.
    ///
    /// # Cancellation
    /// Dropped, it cancels everything and leaves the joining to the runtime: prefer `shutdown`.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let discovery_stop = self.0.stop.child_token();
        let settings = self.0.fleet.settings();
        let cx = ProviderContext::new(
            self.0.host.clone(),
            settings.transport.clone(),
            settings.caches.clone(),
        );
        let sharing_stop = CancellationToken::new();
        let sharing = self.share(&cx, &sharing_stop);
        // Whatever becomes of this, the coordinator stops.
        let sharing_stop = sharing_stop.drop_guard();
        let discovery = discover(
            self.0.fleet.clone(),
            self.0.provider.clone(),
            cx,
            discovery_stop.clone(),
        );
        let discovery: JoinHandle<()> = tokio::spawn(discovery);
        shutdown.await;
        tracing::info!("stopping");
        discovery_stop.cancel();
        if let Err(error) = discovery.await {
            tracing::error!(%error, "discovery failed");
        }
        drop(sharing_stop);
        if let Some(sharing) = sharing
            && let Err(error) = sharing.await
        {
            tracing::error!(%error, "sharing the clusters failed");
        }
        self.0.fleet.close().await;
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        tracing::info!("stopped");
    }
}

impl Manager {
    /// Begins to share the clusters with other replicas, if that is wanted.
    fn share(&self, cx: &ProviderContext, stop: &CancellationToken) -> Option<JoinHandle<()>> {
        let fleet = self.0.fleet.clone();
        let work = coordinate(fleet.clone(), self.0.sharding.clone()?, cx.clone(), stop.clone());
        Some(tokio::spawn(coordinated(fleet, work)))
    }
}

/// Whatever becomes of a manager, its controllers do not outlive it.
impl Drop for Manager {
    fn drop(&mut self) {
        self.0.stop.cancel();
        // Nobody is being added past this point: whoever adds holds the lock, and sees the stop.
        drop(self.0.running.lock());
        self.0.fleet.release();
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.handle(), f)
    }
}

/// Looks at a running manager, and adds to it.
#[derive(Clone)]
pub struct ManagerHandle(Arc<Inner>);

impl ManagerHandle {
    /// The engaged clusters.
    pub fn fleet(&self) -> &Fleet {
        &self.0.fleet
    }

    /// The controllers that run.
    pub fn controllers(&self) -> Vec<ControllerHandle> {
        self.0.running.lock().clone()
    }

    /// Runs one more controller; every engaged cluster is engaged for it exactly once.
    ///
    /// # Errors
    /// If a controller of that name runs already, if it needs a host and there is none, or none that a client can
    /// be built for, or if the manager stops.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn add(&self, controller: Controller) -> Result<ControllerHandle, StartError> {
        let name = controller.name().to_owned();
        let mut running = self.0.running.lock();
        if running.iter().any(|other| other.name() == name) {
            return Err(StartError::DuplicateController { name });
        }
        if self.0.stop.is_cancelled() || self.0.fleet.is_closed() {
            return Err(StartError::Stopping { controller: name });
        }
        if controller.uses_host() {
            self.engage_host(&name)?;
        }
        for watch in controller.plan() {
            tracing::info!(controller = %name, provider = self.0.provider.name(), "{watch}");
        }
        let Bound {
            participant,
            run,
            status,
        } = controller.bind(&self.0.fleet);
        running.push(status.clone());
        self.0.tasks.spawn(reported(name, run(self.0.stop.clone())));
        self.0.fleet.join(participant);
        Ok(status)
    }

    fn engage_host(&self, controller: &str) -> Result<(), StartError> {
        if self.0.fleet.host().is_some() {
            return Ok(());
        }
        let missing = || StartError::NoHost {
            controller: controller.to_owned(),
        };
        let access = self.0.host.clone().ok_or_else(missing)?;
        self.0.fleet.engage_host(access).map_err(StartError::Connect)
    }
}

/// Shares the clusters. If that panics, nobody renews the session any more: all work ends, before it runs out.
async fn coordinated(fleet: Fleet, work: impl Future<Output = ()>) {
    if let Err(panic) = AssertUnwindSafe(work).catch_unwind().await {
        tracing::error!(
            panic = panic_text(&*panic),
            "what shares the clusters with other replicas panicked: nothing is worked on any more, restart the program",
        );
        fleet.close().await;
    }
}

/// Runs a controller and says so if its runner panics, which nobody else would.
async fn reported(controller: String, run: impl Future<Output = ()>) {
    if let Err(panic) = AssertUnwindSafe(run).catch_unwind().await {
        tracing::error!(
            controller,
            panic = panic_text(&*panic),
            "the runner of the controller panicked: it reconciles nothing any more, restart the program",
        );
    }
}

impl fmt::Debug for ManagerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("fleet", &self.0.fleet)
            .field("controllers", &self.controllers())
            .finish_non_exhaustive()
    }
}
