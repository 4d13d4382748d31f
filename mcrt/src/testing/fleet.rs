//! A simulated fleet with a manager over it.
use super::{Running, Servers, Setup, TestCluster};
use crate::providers::Sim;
use futures::{FutureExt as _, StreamExt as _, stream::BoxStream};
use mcrt_sim::{FleetChange, Server};
use parking_lot::Mutex;
use std::{fmt, ops::Deref, panic::AssertUnwindSafe, sync::Arc};

/// Simulated clusters, a host, and a manager that works on them.
///
/// What can be waited for is said at [`Running`]. End a test with [`stop`](Self::stop), which fails if anything is
/// left running; or give it to [`Setup::run`], which also stops a test that fails.
pub struct TestFleet {
    sim: mcrt_sim::Fleet,
    provider: Arc<Sim>,
    running: Running,
}

impl TestFleet {
    /// Begins a fleet of clusters with these names.
    pub fn start<'a>(names: impl IntoIterator<Item = &'a str>) -> Setup {
        let sim = mcrt_sim::Fleet::new();
        for name in names {
            sim.join(name);
        }
        Setup::over(sim)
    }

    /// Begins with clusters that are there already, as a program does that is started again.
    pub fn over(sim: &mcrt_sim::Fleet) -> Setup {
        Setup::over(sim.clone())
    }

    pub(super) fn new(sim: mcrt_sim::Fleet, provider: Arc<Sim>, running: Running) -> Self {
        Self {
            sim,
            provider,
            running,
        }
    }

    /// The simulation, for what is not said here.
    pub fn sim(&self) -> &mcrt_sim::Fleet {
        &self.sim
    }

    /// A cluster.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn cluster(&self, name: &str) -> TestCluster {
        match self.sim.get(name) {
            Some(server) => TestCluster::new(server),
            None => self.running.fail(&format!("there is no cluster `{name}`")),
        }
    }

    /// The clusters, sorted by name, without the host.
    pub fn clusters(&self) -> Vec<TestCluster> {
        self.sim.servers().into_iter().map(TestCluster::new).collect()
    }

    /// The host.
    pub fn host(&self) -> TestCluster {
        TestCluster::new(self.sim.host())
    }

    /// Adds a cluster; one of that name is replaced by another life.
    pub fn join(&self, name: &str) -> TestCluster {
        TestCluster::new(self.sim.join(name))
    }

    /// Describes a cluster with these labels from now on, as its provider would: what it is selected by. Not where the
    /// test has a provider of its own.
    pub fn label(&self, cluster: &str, labels: &[(&str, &str)]) {
        self.provider.label(cluster, labels.iter().copied());
    }

    /// Takes a cluster out of the fleet.
    pub fn leave(&self, name: &str) {
        self.sim.leave(name);
    }

    /// Stops the manager in order and joins it; then checks that nothing is left: no task, no open request.
    ///
    /// # Panics
    /// If the manager panics, does not end in time, or leaves anything.
    pub async fn stop(self) {
        self.running.stop().await;
    }

    /// Ends the manager as a crash would, in the middle of whatever it does, and gives the clusters back for a
    /// [fresh start](Self::over).
    ///
    /// # Panics
    /// If the manager leaves anything.
    pub async fn crash(self) -> mcrt_sim::Fleet {
        self.running.crash().await;
        self.sim
    }

    pub(super) async fn during(self, test: impl AsyncFnOnce(&Self)) {
        let tested = AssertUnwindSafe(test(&self)).catch_unwind().await;
        self.running.end(tested).await;
    }
}

/// What can be waited for.
impl Deref for TestFleet {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl fmt::Debug for TestFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestFleet").field(&self.running).finish()
    }
}

/// The servers of a simulated fleet, and those that have left it.
pub(super) struct Members {
    sim: mcrt_sim::Fleet,
    history: Mutex<History>,
}

struct History {
    changes: BoxStream<'static, FleetChange>,
    servers: Vec<Server>,
}

impl Members {
    pub(super) fn of(sim: mcrt_sim::Fleet) -> Self {
        let history = History {
            changes: sim.changes().boxed(),
            servers: vec![sim.host()],
        };
        Self {
            sim,
            history: Mutex::new(history),
        }
    }
}

impl Servers for Members {
    fn members(&self) -> Vec<Server> {
        self.sim.servers()
    }

    fn all(&self) -> Vec<Server> {
        let mut history = self.history.lock();
        // Queued up since the last look; nobody has to wait for them.
        while let Some(Some(change)) = history.changes.next().now_or_never() {
            if let FleetChange::Joined(server) = change {
                history.servers.push(server);
            }
        }
        history.servers.clone()
    }
}
