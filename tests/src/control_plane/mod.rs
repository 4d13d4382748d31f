//! Real control planes for tests: etcd, kube-apiserver and a few controllers as child processes on loopback.
//!
//! ```text
//! assets() -> Assets -> ControlPlane::start -> etcd -> kube-apiserver -> kube-controller-manager
//!   KUBEBUILDER_ASSETS, the cache,                \______ one process group, kept by a shell _____/
//!   or a build                                            that ends it when the test is gone
//! ```
//!
//! A test that needs one begins with
//!
//! ```no_run
//! # async fn test() -> Result<(), Box<dyn std::error::Error>> {
//! use mcrt_tests::control_plane::{ControlPlane, assets};
//!
//! let Some(assets) = assets()? else { return Ok(()) };
//! let plane = ControlPlane::start(&assets).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A control plane in a static is never dropped; it ends with the test process all the same.

mod assets;
mod error;
mod ports;
mod process;
mod programs;
mod start;
mod users;

use std::path::Path;

use futures::{StreamExt as _, TryStreamExt as _};
use parking_lot::Mutex;
use rustix::process::Signal;
use tempfile::TempDir;

pub use crate::go::BuildError;
pub use assets::{Assets, assets, build, find};
pub use error::StartError;
pub use users::User;

use process::{Keeper, Process};
use start::Site;
use users::{Tokens, kubeconfig};

/// Control planes that start at the same time: each keeps a core busy until it is ready.
const STARTING: usize = 2;

/// What a control plane is to have.
#[derive(Debug, Clone, Default)]
pub struct Options {
    controllers: bool,
    api_server_arguments: Vec<String>,
}

impl Options {
    /// Runs the garbage collector, the namespace, service account and root CA controllers as well.
    #[must_use]
    pub fn with_controllers(mut self) -> Self {
        self.controllers = true;
        self
    }

    /// Adds an argument to the command line of kube-apiserver, as in `--runtime-config=api/alpha=true`.
    #[must_use]
    pub fn with_api_server_argument(mut self, argument: impl Into<String>) -> Self {
        self.api_server_arguments.push(argument.into());
        self
    }
}

/// A running control plane; dropping it kills its processes and removes its files.
///
/// # Guarantees
/// - Nothing of it outlives the test, whether that returns, panics or is killed.
/// - It listens on loopback only, and no other control plane accepts its tokens or shows its certificate.
/// - Address and certificate stay the same from [`kill_api_server`](Self::kill_api_server) to
///   [`start_api_server`](Self::start_api_server).
pub struct ControlPlane {
    // Dropped from top to bottom: first the writers, at last the keeper of their group and the folder.
    controller_manager: Option<Process>,
    api_server: Mutex<Option<Process>>,
    etcd: Process,
    site: Site,
    access: Access,
    keeper: Keeper,
    _folder: TempDir,
}

/// How to reach and to enter a control plane.
struct Access {
    server_url: String,
    ca_pem: String,
    tokens: Mutex<Tokens>,
    /// Without a token: nobody's.
    config: kube::Config,
}

impl Access {
    fn token(&self, user: User) -> String {
        self.tokens.lock().of(user)
    }

    fn config(&self, user: User) -> kube::Config {
        let mut config = self.config.clone();
        config.auth_info.token = Some(self.token(user).into());
        config
    }
}

impl ControlPlane {
    /// Starts etcd and kube-apiserver; returns when the API server is ready.
    pub async fn start(assets: &Assets) -> Result<Self, StartError> {
        Self::start_with(assets, &Options::default()).await
    }

    /// Starts the controllers as well; returns when they work.
    pub async fn start_with_controllers(assets: &Assets) -> Result<Self, StartError> {
        Self::start_with(assets, &Options::default().with_controllers()).await
    }

    /// Starts what the options say.
    pub async fn start_with(assets: &Assets, options: &Options) -> Result<Self, StartError> {
        start::start(assets, options).await
    }

    /// A kubeconfig of the administrator with one context of that name, everything inline.
    pub fn kubeconfig(&self, context: &str) -> String {
        self.kubeconfig_of(User::Admin, &[context.to_owned()])
    }

    /// A kubeconfig of one user with several contexts, all of them this control plane.
    pub fn kubeconfig_of(&self, user: User, contexts: &[String]) -> String {
        kubeconfig(self.server_url(), self.ca_pem(), &self.token(user), contexts)
    }

    /// The administrator's configuration for kube.
    pub fn config(&self) -> kube::Config {
        self.config_of(User::Admin)
    }

    /// A user's configuration for kube.
    pub fn config_of(&self, user: User) -> kube::Config {
        self.access.config(user)
    }

    /// A plain client of the administrator, for what a test does and asserts beside the code it tests.
    /// Its connections belong to the runtime it is called in.
    pub fn client(&self) -> kube::Client {
        self.client_of(User::Admin)
    }

    /// A plain client of a user.
    pub fn client_of(&self, user: User) -> kube::Client {
        start::client(self.config_of(user))
    }

    /// The address of the API server, as in `https://127.0.0.1:6443`.
    pub fn server_url(&self) -> &str {
        &self.access.server_url
    }

    /// The certificate of the authority that vouches for the API server.
    pub fn ca_pem(&self) -> &str {
        &self.access.ca_pem
    }

    /// The administrator's token.
    pub fn admin_token(&self) -> String {
        self.token(User::Admin)
    }

    /// The token of a user.
    pub fn token(&self, user: User) -> String {
        self.access.token(user)
    }

    /// Stops the API server from running without ending it: connections stay open and nothing answers.
    pub fn freeze(&self) {
        if let Some(process) = &*self.api_server.lock() {
            process.freeze();
        }
    }

    /// Lets a frozen API server run on.
    pub fn thaw(&self) {
        if let Some(process) = &*self.api_server.lock() {
            process.signal(Signal::CONT);
        }
    }

    /// Kills the API server: connections break and new ones are refused. Etcd keeps what it held.
    pub fn kill_api_server(&self) {
        drop(self.api_server.lock().take());
    }

    /// Starts the API server anew where it was, in place of one that still runs; returns when it is ready.
    pub async fn start_api_server(&self) -> Result<(), StartError> {
        self.kill_api_server();
        let process = self.site.spawn_api_server(&self.keeper)?;
        start::wait_until_ready(&process, self.client()).await?;
        *self.api_server.lock() = Some(process);
        Ok(())
    }

    /// Makes etcd forget everything but the present: a watch from an older version gets 410, except where the API
    /// server still remembers; started anew, it does not.
    pub async fn compact(&self) -> kube::Result<()> {
        self.site.compact().await
    }

    /// Gives the administrator another token; the old one is refused from now on, with 401.
    /// Restarts the API server, because it reads its token file only once.
    pub async fn replace_admin_token(&self) -> Result<(), StartError> {
        self.kill_api_server();
        let file = {
            let mut tokens = self.access.tokens.lock();
            tokens.replace_admin();
            tokens.file()
        };
        self.site.write_tokens(&file)?;
        self.start_api_server().await
    }

    /// The pids of all its processes.
    pub fn pids(&self) -> Vec<u32> {
        let api_server = self.api_server.lock().as_ref().map(Process::pid);
        let controller_manager = self.controller_manager.as_ref().map(Process::pid);
        let always = [self.etcd.pid(), self.keeper.pid()];
        always
            .into_iter()
            .chain(api_server)
            .chain(controller_manager)
            .collect()
    }

    /// The folder of its files: data, certificates and logs.
    pub fn folder(&self) -> &Path {
        self.site.folder()
    }

    /// The last lines of the API server's log, empty while it is killed.
    pub fn api_server_log(&self) -> String {
        self.api_server
            .lock()
            .as_ref()
            .map(Process::last_lines)
            .unwrap_or_default()
    }

    /// Ends it, as dropping does, without holding up the other tasks of the runtime.
    pub async fn stop(self) {
        // Fails only if dropping panics, which it does not.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl std::fmt::Debug for ControlPlane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlPlane")
            .field("server_url", &self.access.server_url)
            .field("pids", &self.pids())
            .finish_non_exhaustive()
    }
}

/// Starts several control planes, a few at a time.
pub async fn start_many(
    count: usize,
    assets: &Assets,
    options: &Options,
) -> Result<Vec<ControlPlane>, StartError> {
    futures::stream::iter(0..count)
        .map(|_| ControlPlane::start_with(assets, options))
        .buffered(STARTING)
        .try_collect()
        .await
}
