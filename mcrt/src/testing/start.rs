//! What a test fleet consists of, before it runs.
use super::{Running, TestFleet, fleet::Members};
use crate::{
    Cacheable, Cluster, ClusterSelector, Controller, FleetSettings, Manager, MulticlusterController, Result,
    StartError, fleet::HealthCheck, provider::Provider, providers::Sim,
};
use futures::future::BoxFuture;
use std::{fmt, sync::Arc};

/// What a test fleet is to consist of. Awaited, it runs.
#[must_use = "a fleet runs when it is awaited"]
pub struct Setup {
    sim: mcrt_sim::Fleet,
    members: Arc<Sim>,
    clusters: ClusterSelector,
    provider: Option<Arc<dyn Provider>>,
    controllers: Vec<Result<Controller, StartError>>,
    checks: Vec<HealthCheck>,
    settings: FleetSettings,
}

impl Setup {
    pub(super) fn over(sim: mcrt_sim::Fleet) -> Self {
        Self {
            members: Arc::new(Sim::new(sim.clone())),
            clusters: ClusterSelector::new(),
            sim,
            provider: None,
            controllers: Vec::new(),
            checks: Vec::new(),
            settings: FleetSettings::default(),
        }
    }

    /// Does something to the clusters before anything runs: fills them with objects, breaks them.
    pub fn holding(self, prepare: impl FnOnce(&mcrt_sim::Fleet)) -> Self {
        prepare(&self.sim);
        self
    }

    /// Describes a cluster with these labels from the start.
    pub fn label(self, cluster: &str, labels: &[(&str, &str)]) -> Self {
        self.members.label(cluster, labels.iter().copied());
        self
    }

    /// Which clusters are engaged at all.
    pub fn clusters(mut self, selector: ClusterSelector) -> Self {
        self.clusters = selector;
        self
    }

    /// A controller to run.
    pub fn controller<C: MulticlusterController<Object: Cacheable>>(mut self, controller: C) -> Self {
        self.controllers
            .push(Controller::declared(controller).map_err(StartError::from));
        self
    }

    /// A controller to run that a builder made.
    pub fn built_controller(mut self, controller: Controller) -> Self {
        self.controllers.push(Ok(controller));
        self
    }

    /// A check of the program's own, as [`ManagerBuilder::health_check`](crate::ManagerBuilder::health_check) has it.
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

    /// Changes how clusters are treated.
    pub fn settings(mut self, change: impl FnOnce(&mut FleetSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Another provider than that of the simulated clusters, for instance one around it.
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Starts the manager.
    ///
    /// # Errors
    /// If a controller cannot be built, or the manager.
    pub fn try_start(self) -> Result<TestFleet, StartError> {
        let provider = self.provider.unwrap_or_else(|| self.members.clone());
        let mut manager = Manager::builder()
            .host(self.members.host_access())
            .clusters(self.clusters)
            .fleet_settings(self.settings)
            .health_checks(self.checks)
            .shared_provider(provider);
        for controller in self.controllers {
            manager = manager.controller(controller?);
        }
        let members = Members::of(self.sim.clone());
        let running = Running::start(manager.build()?, members);
        Ok(TestFleet::new(self.sim, self.members, running))
    }

    /// Starts, runs the test, and stops whatever becomes of it.
    ///
    /// # Panics
    /// As the test does; if the manager cannot start, or leaves anything.
    pub async fn run(self, test: impl AsyncFnOnce(&TestFleet)) {
        self.await.during(test).await;
    }
}

impl IntoFuture for Setup {
    type Output = TestFleet;
    type IntoFuture = BoxFuture<'static, TestFleet>;

    /// # Panics
    /// Awaited, if a controller cannot be built, or the manager.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async {
            match self.try_start() {
                Ok(fleet) => fleet,
                Err(error) => panic!("the test fleet cannot start: {error}"),
            }
        })
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("sim", &self.sim)
            .field("controllers", &self.controllers)
            .finish_non_exhaustive()
    }
}
