//! A manager in the background of a test.

use std::fmt;

use kube::config::Kubeconfig;
use mcrt::{
    Cacheable, Controller, Manager, ManagerHandle, MulticlusterController, connect::Connection,
    provider::ClusterSpec,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A manager that runs until it is stopped, or until the test's runtime ends.
pub struct Running {
    handle: ManagerHandle,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    /// Lets it run.
    pub fn start(manager: Manager) -> Self {
        let stop = CancellationToken::new();
        Self {
            handle: manager.handle(),
            task: tokio::spawn(manager.run(stop.clone().cancelled_owned())),
            stop,
        }
    }

    /// What runs.
    pub fn handle(&self) -> &ManagerHandle {
        &self.handle
    }

    /// Stops it and waits for its end.
    ///
    /// # Panics
    /// If the manager did.
    pub async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("the manager ends without a panic");
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Running").field(&self.handle).finish()
    }
}

/// Builds a controller that attributes declare.
///
/// # Panics
/// If its declarations contradict each other, which the attributes exclude.
pub fn declared<C: MulticlusterController<Object: Cacheable>>(controller: C) -> Controller {
    Controller::declared(controller).expect("the attributes check what they declare")
}

/// The connection of a context of a kubeconfig.
///
/// # Panics
/// If the kubeconfig cannot be used: the harness wrote it.
pub fn connection(kubeconfig: &str, context: &str) -> Connection {
    let kubeconfig =
        Kubeconfig::from_yaml(kubeconfig).expect("the harness writes kubeconfigs that can be read");
    Connection::from_kubeconfig(&kubeconfig, context).expect("the harness names only what vetting lets pass")
}

/// A cluster by that name, reached through the context of that name in a kubeconfig.
///
/// # Panics
/// If the name or the kubeconfig cannot be used: the tests write both.
pub fn cluster(name: &str, kubeconfig: &str) -> ClusterSpec {
    let connection = connection(kubeconfig, name);
    let name = name
        .try_into()
        .expect("tests choose names without control characters");
    ClusterSpec::new(name, "one", connection)
}
