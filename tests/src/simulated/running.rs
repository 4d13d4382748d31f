//! A manager for the length of a test: stopped and joined whatever becomes of the test, then looked at for leftovers.

use std::{fmt::Write as _, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt as _;
use mcrt::{
    Cluster, Controller, ControllerHandle, FleetSettings, Manager, ManagerHandle, Provider, StartError,
};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{Sims, servers::access};
use crate::waiting::{eventually, eventually_in, within};

/// How long anything is waited for, in virtual time.
const LIMIT: Duration = Duration::from_mins(2);

/// What a manager is to run.
#[must_use]
#[derive(Debug)]
pub struct Setup<'a> {
    sims: &'a Sims,
    settings: FleetSettings,
    controllers: Vec<Controller>,
    provider: Option<SharedProvider>,
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
            .host(access(self.sims.host()))
            .fleet_settings(self.settings);
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
        let tasks = alive_tasks();
        let manager = self.build().expect("the manager can be built");
        let running = Running {
            sims,
            handle: manager.handle(),
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(manager.run(stop.clone().cancelled_owned()));
        let tested = AssertUnwindSafe(test(&running)).catch_unwind().await;
        stop.cancel();
        let stopped = tokio::time::timeout(LIMIT, task).await;
        if let Err(panic) = tested {
            std::panic::resume_unwind(panic);
        }
        stopped
            .expect("the manager stops in time")
            .expect("the manager does not panic");
        drop(running);
        nothing_left(sims, tasks).await;
    }
}

/// How many tasks this runtime has.
pub fn alive_tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits until no server holds anything open and there are no more tasks than `tasks`.
///
/// # Panics
/// If that does not come true within a second.
pub async fn nothing_left(sims: &Sims, tasks: usize) {
    eventually(Duration::from_secs(1), "nothing is left", async || {
        for server in sims.all() {
            let open = server.counters();
            if open.open_requests > 0 || open.open_watches > 0 {
                return Err(format!("{} holds {open:?}", server.name()));
            }
        }
        match alive_tasks() {
            now if now > tasks => Err(format!("{now} tasks, {tasks} at the start")),
            _ => Ok(()),
        }
    })
    .await;
}

/// A running manager and its servers.
#[derive(Debug)]
pub struct Running<'a> {
    /// The servers.
    pub sims: &'a Sims,
    /// The manager.
    pub handle: ManagerHandle,
}

impl Running<'_> {
    /// Waits for a condition; a failure shows the fleet.
    ///
    /// # Panics
    /// If the condition does not hold in time.
    pub async fn until<T>(&self, what: &str, look: impl AsyncFnMut() -> Result<T, String>) -> T {
        self.within(LIMIT, what, look).await
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
        eventually_in(limit, what, || self.state(), look).await
    }

    /// Looks for this long and fails if the condition ceases to hold.
    ///
    /// # Panics
    /// If it does.
    pub async fn throughout(
        &self,
        span: Duration,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<(), String>,
    ) {
        let broken = within(span, async || match look().await {
            Ok(()) => Err("still so".to_owned()),
            Err(broken) => Ok::<_, String>(broken),
        });
        if let Ok(broken) = broken.await {
            let never: Result<(), String> = Err(broken);
            eventually_in(Duration::ZERO, what, || self.state(), async || never.clone()).await;
        }
    }

    /// Waits until every member is engaged and ready and no controller has work.
    ///
    /// # Panics
    /// If that does not come true in time.
    pub async fn settled(&self) {
        self.until("the fleet settles", async || {
            let fleet = self.handle.fleet();
            if fleet.clusters().len() != self.sims.servers().len() {
                return Err("not every member is engaged".to_owned());
            }
            if let Some(cluster) = fleet.clusters().iter().find(|cluster| !is_settled(cluster)) {
                return Err(format!("{cluster:?} is not ready"));
            }
            self.idle()
        })
        .await;
    }

    /// Whether no controller has anything to do now.
    pub fn idle(&self) -> Result<(), String> {
        for controller in self.handle.controllers() {
            let queue = controller.queue();
            if queue.ready + queue.running > 0 {
                return Err(format!("{} has work: {queue:?}", controller.name()));
            }
        }
        Ok(())
    }

    /// An engaged cluster.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn cluster(&self, name: &str) -> Cluster {
        let cluster = self.handle.fleet().get(&super::name(name));
        cluster.expect("an engaged cluster of that name")
    }

    /// A controller that runs.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn controller(&self, name: &str) -> ControllerHandle {
        let controllers = self.handle.controllers();
        let found = controllers
            .into_iter()
            .find(|controller| controller.name() == name);
        found.expect("a running controller of that name")
    }

    /// The clusters with their health and watches, the controllers with their counts, the servers with what they
    /// hold open.
    pub fn state(&self) -> String {
        let mut text = String::new();
        let fleet = self.handle.fleet();
        for cluster in fleet.clusters().into_iter().chain(fleet.host()) {
            let watches = cluster.watches();
            let watches = watches.iter().map(|(scope, state)| format!("{scope}: {state}"));
            let watches = watches.collect::<Vec<_>>().join(", ");
            let tasks = cluster.connection_tasks();
            let _ = write!(
                text,
                "\n  {cluster:?}, {tasks} connection tasks, watches [{watches}]"
            );
        }
        for controller in self.handle.controllers() {
            let _ = write!(text, "\n  {controller:?}\n    {:?}", controller.queue());
        }
        for server in self.sims.all() {
            let open = server.counters();
            if open.open_requests > 0 {
                let _ = write!(text, "\n  server {} {}: ", server.name(), server.uid());
                let _ = write!(text, "{} open, {} watches", open.open_requests, open.open_watches);
            }
        }
        text
    }
}

fn is_settled(cluster: &Cluster) -> bool {
    use mcrt::WatchState::{Absent, Forbidden, Synced};
    let watches = cluster.watches();
    cluster.health().is_ready()
        && watches
            .iter()
            .all(|(_, state)| matches!(state, Synced | Absent | Forbidden))
}
