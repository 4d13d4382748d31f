//! A manager over the servers of a test: mcrt's own test kit, with a provider that tests have in their hands.

use std::{ops::Deref, sync::Arc, time::Duration};

use mcrt::{
    Cluster, ClusterSelector, Controller, FleetSettings, Manager, ManagerHandle, Provider, SelfReported,
    Sharding, StartError,
    connect::Access,
    testing::{self, Servers},
};
use mcrt_sim::Server;

use super::{Sims, servers::access};

pub use mcrt::testing::alive_tasks;

/// What a manager is to run.
#[must_use]
#[derive(Debug)]
pub struct Setup<'a> {
    sims: &'a Sims,
    settings: FleetSettings,
    controllers: Vec<Controller>,
    provider: Option<SharedProvider>,
    clusters: ClusterSelector,
    self_reported: Option<SelfReported>,
    sharding: Option<Sharding>,
    host: Option<Access>,
}

struct SharedProvider(Arc<dyn Provider>);

impl std::fmt::Debug for SharedProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

impl<'a> Setup<'a> {
    pub(super) fn new(sims: &'a Sims) -> Self {
        Self {
            sims,
            settings: FleetSettings::default(),
            controllers: Vec::new(),
            provider: None,
            clusters: ClusterSelector::new(),
            self_reported: None,
            sharding: None,
            host: None,
        }
    }

    /// A controller to run.
    pub fn controller(mut self, controller: Controller) -> Self {
        self.controllers.push(controller);
        self
    }

    /// Changes how clusters are treated.
    pub fn settings(mut self, change: impl FnOnce(&mut FleetSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Which clusters the fleet engages.
    pub fn clusters(mut self, selector: ClusterSelector) -> Self {
        self.clusters = selector;
        self
    }

    /// Has clusters asked what they say of themselves.
    pub fn self_reported(mut self, what: SelfReported) -> Self {
        self.self_reported = Some(what);
        self
    }

    /// Shares the clusters with other replicas.
    pub fn sharded(mut self, sharding: Sharding) -> Self {
        self.sharding = Some(sharding);
        self
    }

    /// Another way to the host than that of somebody who may do everything.
    pub fn host(mut self, access: Access) -> Self {
        self.host = Some(access);
        self
    }

    /// Another provider than that of the simulated members.
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.provider = Some(SharedProvider(Arc::new(provider)));
        self
    }

    /// The manager, for tests that run it themselves.
    pub fn build(self) -> Result<Manager, StartError> {
        let provider = self.provider.map(|provider| provider.0);
        let mut builder = Manager::builder()
            .shared_provider(provider.unwrap_or_else(|| Arc::new(self.sims.provider())))
            .host(self.host.unwrap_or_else(|| access(self.sims.host())))
            .clusters(self.clusters)
            .fleet_settings(self.settings);
        if let Some(what) = self.self_reported {
            builder = builder.self_reported(what);
        }
        if let Some(sharding) = self.sharding {
            builder = builder.sharded(sharding);
        }
        for controller in self.controllers {
            builder = builder.controller(controller);
        }
        builder.build()
    }

    /// Runs the manager and the test; then stops the manager, joins it, and checks that it left nothing: no task, no
    /// open request on any server.
    ///
    /// # Panics
    /// If the test does, if the manager cannot be built, or if it leaves anything.
    pub async fn run(self, test: impl AsyncFnOnce(&Running<'_>)) {
        let sims = self.sims;
        let manager = self.build().expect("the manager can be built");
        let handle = manager.handle();
        testing::Running::start(manager, sims.clone())
            .during(async |kit| test(&Running { sims, handle, kit }).await)
            .await;
    }
}

impl Servers for Sims {
    fn members(&self) -> Vec<Server> {
        self.servers()
    }

    fn all(&self) -> Vec<Server> {
        self.all()
    }
}

/// Waits until no server holds anything open and there are no more tasks than `tasks`.
///
/// # Panics
/// If that does not come true within a second.
pub async fn nothing_left(sims: &Sims, tasks: usize) {
    testing::nothing_left(&sims.all(), tasks).await;
}

/// A running manager and its servers.
#[derive(Debug)]
pub struct Running<'a> {
    /// The servers.
    pub sims: &'a Sims,
    /// The manager.
    pub handle: ManagerHandle,
    kit: &'a testing::Running,
}

impl Running<'_> {
    /// Waits for a condition; a failure shows the fleet.
    ///
    /// # Panics
    /// If the condition does not hold in time.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFnMut() -> Result<T, String>) -> T {
        self.kit.until(what, look).await
    }

    /// As [`until`](Self::until), with a deadline of its own.
    ///
    /// # Panics
    /// If the condition does not hold in time.
    pub async fn within<T>(
        &self,
        limit: Duration,
        what: &str,
        look: impl AsyncFnMut() -> Result<T, String>,
    ) -> T {
        self.kit.within(limit, what, look).await
    }

    /// Looks for this long and fails if the condition ceases to hold.
    ///
    /// # Panics
    /// If it does.
    pub async fn throughout(
        &self,
        span: Duration,
        what: &str,
        look: impl AsyncFnMut() -> Result<(), String>,
    ) {
        self.kit.throughout(span, what, look).await;
    }

    /// Waits until every member is engaged and ready and no controller has work; requests may wait for a time.
    ///
    /// # Panics
    /// If that does not come true in time.
    pub async fn settled(&self) {
        self.kit.idle().await;
    }

    /// Whether no controller has anything to do now.
    ///
    /// # Errors
    /// Says which has.
    pub fn idle(&self) -> Result<(), String> {
        self.kit.is_idle()
    }

    /// An engaged cluster.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn cluster(&self, name: &str) -> Cluster {
        self.kit.engaged(name)
    }
}

impl Deref for Running<'_> {
    type Target = testing::Running;

    fn deref(&self) -> &testing::Running {
        self.kit
    }
}
