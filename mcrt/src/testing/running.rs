//! A manager for the length of a test: waited on, stopped, joined, and looked at for leftovers.
use super::{
    leaks::{alive_tasks, nothing_left, nothing_left_within},
    state::State,
    waiting::{eventually_in, within},
};
use crate::{
    Cluster, ClusterName, ControllerHandle, Manager, ManagerHandle,
    WatchState::{Absent, Forbidden, Synced},
};
use futures::FutureExt as _;
use mcrt_sim::Server;
use std::{
    fmt::{self, Display},
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long anything is waited for; virtual time, where time is paused.
const LIMIT: Duration = Duration::from_mins(2);

/// The simulated servers under a manager.
pub trait Servers: Send + Sync + 'static {
    /// The servers of the clusters that are to be engaged now.
    fn members(&self) -> Vec<Server>;

    /// Every server that takes part or ever did, the host's included: none may hold anything open in the end.
    fn all(&self) -> Vec<Server>;
}

/// A running manager and the servers under it.
///
/// # Stopping
/// [`stop`](Self::stop) joins the manager and fails if it leaves anything. Dropped without it, the manager is told
/// to stop, nobody waits for that and nothing is checked; a test that panics prints the state of the fleet then.
pub struct Running {
    manager: ManagerHandle,
    servers: Arc<dyn Servers>,
    /// How many tasks the runtime had before.
    tasks: usize,
    work: Option<(JoinHandle<()>, DropGuard)>,
    /// Whether a failure has shown the state already.
    shown: AtomicBool,
}

impl Running {
    /// Lets a manager run.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(manager: Manager, servers: impl Servers) -> Self {
        let tasks = alive_tasks();
        let stop = CancellationToken::new();
        Self {
            manager: manager.handle(),
            servers: Arc::new(servers),
            tasks,
            work: Some((
                tokio::spawn(manager.run(stop.clone().cancelled_owned())),
                stop.drop_guard(),
            )),
            shown: AtomicBool::new(false),
        }
    }

    /// Stops the manager in order and joins it; then checks that nothing is left: no task, no open request.
    ///
    /// # Panics
    /// If the manager panics, does not end in time, or leaves anything.
    pub async fn stop(mut self) {
        if let Some((task, stop)) = self.work.take() {
            drop(stop);
            self.join(task).await;
        }
    }

    /// Ends the manager as a crash would: wherever it is, in the middle of whatever it does. What it held is gone,
    /// what it wrote stays, and nothing that it was about to do reaches a server any more. Then checks that nothing
    /// is left.
    ///
    /// # Panics
    /// If it leaves anything.
    pub async fn crash(mut self) {
        let Some((task, _stop)) = self.work.take() else {
            return;
        };
        let servers = self.servers.all();
        // Reconciles that run get the grace period, as nobody can be told that there was a crash: cut off, they
        // come to nothing.
        let cut: Vec<_> = servers.iter().filter(|server| !server.is_partitioned()).collect();
        for server in &cut {
            server.partition();
        }
        task.abort();
        // An aborted task says so as an error.
        let _ = task.await;
        nothing_left_within(LIMIT, &servers, self.tasks).await;
        for server in cut {
            server.heal();
        }
    }

    async fn join(&self, task: JoinHandle<()>) {
        match tokio::time::timeout(LIMIT, task).await {
            Ok(Ok(())) => nothing_left(&self.servers.all(), self.tasks).await,
            Ok(Err(panic)) => self.fail(&format!("the manager panicked: {panic}")),
            Err(_) => self.fail(&format!("the manager does not end within {LIMIT:?}")),
        }
    }

    /// Runs a test, and stops whatever becomes of it.
    ///
    /// # Panics
    /// As the test does, or as [`stop`](Self::stop) does.
    pub async fn during(self, test: impl AsyncFnOnce(&Self)) {
        let tested = AssertUnwindSafe(test(&self)).catch_unwind().await;
        self.end(tested).await;
    }

    /// Stops after a test. Its failure is the one to read about, not what follows from it.
    pub(super) async fn end(self, tested: std::thread::Result<()>) {
        let Err(panic) = tested else {
            return self.stop().await;
        };
        self.show();
        drop(AssertUnwindSafe(self.stop()).catch_unwind().await);
        std::panic::resume_unwind(panic);
    }

    /// The manager.
    pub fn manager(&self) -> &ManagerHandle {
        &self.manager
    }

    /// A controller that runs.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn controller(&self, name: &str) -> ControllerHandle {
        let controllers = self.manager.controllers();
        match controllers
            .into_iter()
            .find(|controller| controller.name() == name)
        {
            Some(controller) => controller,
            None => self.fail(&format!("no controller `{name}` runs")),
        }
    }

    /// An engaged cluster, as the manager has it.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn engaged(&self, name: &str) -> Cluster {
        let known = ClusterName::new(name).ok();
        match known.and_then(|name| self.manager.fleet().get(&name)) {
            Some(cluster) => cluster,
            None => self.fail(&format!("no cluster `{name}` is engaged")),
        }
    }

    /// Waits for a condition, for two minutes; a failure shows the fleet.
    ///
    /// # Panics
    /// If the condition does not hold in time.
    pub async fn until<T, E: Display>(&self, what: &str, look: impl AsyncFnMut() -> Result<T, E>) -> T {
        self.within(LIMIT, what, look).await
    }

    /// As [`until`](Self::until), with a deadline of its own.
    ///
    /// # Panics
    /// If the condition does not hold in time.
    pub async fn within<T, E: Display>(
        &self,
        limit: Duration,
        what: &str,
        look: impl AsyncFnMut() -> Result<T, E>,
    ) -> T {
        eventually_in(limit, what, || self.told(), look).await
    }

    /// Looks for this long and fails if the condition ceases to hold; a failure shows the fleet.
    ///
    /// # Panics
    /// If it does.
    pub async fn throughout<E: Display>(
        &self,
        span: Duration,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<(), E>,
    ) {
        let broken = within(span, async || match look().await {
            Ok(()) => Err("still so".to_owned()),
            Err(broken) => Ok::<_, String>(broken.to_string()),
        });
        if let Ok(broken) = broken.await {
            self.fail(&format!("{what}: no longer so: {broken}"));
        }
    }

    /// Waits until nothing is left to do: every cluster is engaged and answers, every watch has told all that its
    /// server holds, and no request is queued, running or delayed.
    ///
    /// A controller that asks to be called again, with `Action::requeue`, is never settled: see [`idle`](Self::idle).
    ///
    /// # Panics
    /// If that does not come true within two minutes.
    pub async fn settled(&self) {
        self.settled_within(LIMIT).await;
    }

    /// As [`settled`](Self::settled), with a deadline of its own.
    ///
    /// # Panics
    /// If that does not come true in time.
    pub async fn settled_within(&self, limit: Duration) {
        self.still(limit, "the fleet settles", true).await;
    }

    /// Waits as [`settled`](Self::settled) does, but for requests that wait for a time of their own: those that
    /// asked to be called again, and those that failed and will be tried again.
    ///
    /// # Panics
    /// If that does not come true within two minutes.
    pub async fn idle(&self) {
        self.still(LIMIT, "the fleet is idle", false).await;
    }

    /// Two looks in a row have to see the same numbers: what is on its way between a server and a queue, such as a
    /// watch event that is being decoded, shows in neither.
    async fn still(&self, limit: Duration, what: &str, strict: bool) {
        let mut before = None;
        self.within(limit, what, async || {
            self.is_engaged()?;
            self.has_heard_all()?;
            self.is_idle()?;
            if strict {
                self.nothing_waits()?;
            }
            let now = Some(self.marks());
            if before == now {
                return Ok(());
            }
            before = now;
            Err("work was done between the last two looks".to_owned())
        })
        .await;
    }

    fn is_engaged(&self) -> Result<(), String> {
        let fleet = self.manager.fleet();
        let (engaged, members) = (fleet.clusters(), self.servers.members());
        let left_out = fleet.left_out().len() + fleet.elsewhere().len();
        if engaged.len() + left_out != members.len() {
            return Err(format!(
                "{} of {} clusters are engaged, {left_out} are left out",
                engaged.len(),
                members.len()
            ));
        }
        for cluster in engaged.iter().chain(&fleet.host()) {
            if !is_well(cluster) {
                return Err(format!("{cluster:?} is not ready"));
            }
        }
        Ok(())
    }

    /// Whether no watch is between two starts, and each has told what its server has to tell.
    fn has_heard_all(&self) -> Result<(), String> {
        let fleet = self.manager.fleet();
        for server in self.servers.members() {
            let Ok(name) = ClusterName::new(server.name()) else {
                continue;
            };
            let watches = fleet.get(&name).map(|cluster| cluster.watches());
            let watches = watches.unwrap_or_default();
            let follow = watches.iter().filter(|(_, state)| *state == Synced);
            let wanted: usize = follow.map(|(scope, _)| scope.namespaces.len().max(1)).sum();
            let open = server.counters().open_watches;
            if usize::try_from(open).is_ok_and(|open| open < wanted) {
                return Err(format!(
                    "{open} of {wanted} watches of {} are open",
                    server.name()
                ));
            }
            let behind = server.watches_behind();
            if behind > 0 {
                return Err(format!(
                    "{behind} watches of {} have something to tell",
                    server.name()
                ));
            }
        }
        Ok(())
    }

    /// Whether no controller has anything to do now.
    ///
    /// # Errors
    /// Says which has.
    pub fn is_idle(&self) -> Result<(), String> {
        for controller in self.manager.controllers() {
            let queue = controller.queue();
            if queue.ready + queue.running > 0 {
                return Err(format!("{} has work: {queue:?}", controller.name()));
            }
        }
        Ok(())
    }

    fn nothing_waits(&self) -> Result<(), String> {
        for controller in self.manager.controllers() {
            let delayed = controller.queue().delayed;
            if delayed > 0 {
                return Err(format!(
                    "{delayed} requests of {} wait for a time",
                    controller.name()
                ));
            }
        }
        Ok(())
    }

    /// Numbers that move when anything does.
    fn marks(&self) -> Vec<u64> {
        let controllers = self.manager.controllers();
        let queues = controllers.iter().map(ControllerHandle::queue);
        let queues = queues.flat_map(|queue| [queue.added, queue.merged, queue.dispatched]);
        let servers = self.servers.members();
        let servers = servers.iter().flat_map(|server| {
            let counters = server.counters();
            [
                counters.lists,
                counters.watches,
                counters.writes,
                server.resource_version(),
            ]
        });
        queues.chain(servers).collect()
    }

    /// The clusters with their watches, the controllers with their queues and last failures, the servers with their
    /// objects and requests. Names and numbers: nothing of what an object holds.
    pub fn state(&self) -> String {
        let servers = self.servers.all();
        let state = State {
            manager: &self.manager,
            servers: &servers,
        };
        state.to_string()
    }

    /// The state, for a failure.
    fn told(&self) -> String {
        self.shown.store(true, Relaxed);
        self.state()
    }

    /// Prints the state, unless a failure has shown it.
    fn show(&self) {
        if !self.shown.load(Relaxed) {
            eprintln!("the fleet when the test failed: {}", self.told());
        }
    }

    pub(super) fn fail(&self, message: &str) -> ! {
        panic!("{message}; state: {}", self.told())
    }
}

fn is_well(cluster: &Cluster) -> bool {
    let watches = cluster.watches();
    cluster.health().takes_requests()
        && watches
            .iter()
            .all(|(_, state)| matches!(state, Synced | Absent | Forbidden))
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.work.is_none() {
            return;
        }
        if std::thread::panicking() {
            self.show();
        } else {
            eprintln!("a test fleet was dropped without `stop().await`: nothing was joined or checked");
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Running").field(&self.manager).finish()
    }
}
