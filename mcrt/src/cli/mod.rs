//! Starts a program: flags, the choice of provider and host, logging, signals.
mod args;
mod asked;
mod choice;
mod host;
mod logging;
pub mod providers;
mod selection;
mod sharing;
mod signals;
#[cfg(any(feature = "kind", feature = "command"))]
mod span;

pub use args::{LaunchArgs, LogFormat};
pub use selection::SelectionArgs;
pub use sharing::SharingArgs;

use crate::{
    Error, Manager, Result, StartError,
    cluster::ClusterSelector,
    connect::Life,
    controller::{Controller, MulticlusterController},
    coordinator::Sharding,
    fleet::{FleetSettings, SelfReported},
    provider::Provider,
};
use choice::{Chosen, Wish};
use std::{fmt, sync::Arc};
use tokio::sync::oneshot;

/// Runs one controller until Ctrl-C or SIGTERM, with flags from the command line and the environment.
///
/// ```no_run
/// # use mcrt::{Action, Context, multicluster_controller, reconciler};
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use std::sync::Arc;
/// #[multicluster_controller(for = ConfigMap)]
/// struct Reader;
///
/// #[reconciler]
/// impl Reader {
///     #[reconcile]
///     async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
///         println!("{} {:?}", cx.cluster(), config.metadata.name);
///         Ok(Action::await_change())
///     }
/// }
///
/// # async fn start() -> mcrt::Result<()> {
/// mcrt::run(Reader).await
/// # }
/// ```
///
/// # Errors
/// A [`StartError`] if the program cannot start.
pub async fn run<C: MulticlusterController>(controller: C) -> Result<()>
where
    C::Object: crate::cache::Cacheable,
{
    Launch::parse().controller(controller).run().await
}

/// A program about to start: for several controllers, own flags, or state that needs a client first.
///
/// ```no_run
/// # async fn start<C: mcrt::MulticlusterController<Object = k8s_openapi::api::core::v1::ConfigMap>>(
/// #     make: impl Fn(kube::Client) -> C) -> mcrt::Result<()> {
/// let mut launch = mcrt::Launch::parse();
/// let controller = make(launch.host_client::<C>()?);
/// launch.controller(controller).run().await
/// # }
/// ```
pub struct Launch {
    args: LaunchArgs,
    wish: Wish,
    controllers: Vec<Result<Controller, StartError>>,
    settings: FleetSettings,
    clusters: ClusterSelector,
    self_reported: Option<SelfReported>,
    sharding: Option<Sharding>,
    /// Owns the connections of clients that were handed out before the start.
    host_life: Life,
}

impl Launch {
    /// Reads the command line and the environment.
    ///
    /// Prints the usage and exits where clap does: on `--help` and on arguments that it does not know.
    pub fn parse() -> Self {
        Self::new(<args::Standalone as clap::Parser>::parse().launch)
    }

    /// Takes arguments that were read already, for instance flattened into the program's own.
    pub fn new(args: LaunchArgs) -> Self {
        Self {
            args,
            wish: Wish::default(),
            controllers: Vec::new(),
            settings: FleetSettings::default(),
            clusters: ClusterSelector::new(),
            self_reported: None,
            sharding: None,
            host_life: Life::new(),
        }
    }

    /// Adds a controller.
    #[must_use]
    pub fn controller<C: MulticlusterController>(mut self, controller: C) -> Self
    where
        C::Object: crate::cache::Cacheable,
    {
        self.wish.ask(C::provider(), C::FEATURES);
        self.controllers
            .push(Controller::declared(controller).map_err(StartError::from));
        self
    }

    /// Adds a controller that a builder made. It says nothing about providers: see [`provider`](Self::provider).
    #[must_use]
    pub fn built_controller(mut self, controller: Controller) -> Self {
        self.controllers.push(Ok(controller));
        self
    }

    /// Where clusters come from, unless `--provider` says otherwise.
    #[must_use]
    pub fn provider(mut self, provider: impl Provider) -> Self {
        self.wish.ask(Some(Arc::new(provider)), &[]);
        self
    }

    /// What the simulated fleet holds at the start: called with it when the simulated provider is chosen.
    #[cfg(feature = "sim")]
    #[must_use]
    pub fn simulated(mut self, prepare: impl FnOnce(&mcrt_sim::Fleet) + Send + 'static) -> Self {
        self.wish.prepare = Some(Box::new(prepare));
        self
    }

    /// Which clusters are engaged at all: see [`ManagerBuilder::clusters`](crate::ManagerBuilder::clusters). What flags
    /// select must hold too.
    #[must_use]
    pub fn clusters(mut self, selector: ClusterSelector) -> Self {
        self.clusters = selector;
        self
    }

    /// What clusters are asked of themselves: see [`ManagerBuilder::self_reported`](crate::ManagerBuilder::self_reported).
    /// What flags trust is trusted too.
    #[must_use]
    pub fn self_reported(mut self, what: SelfReported) -> Self {
        self.self_reported = Some(what);
        self
    }

    /// How replicas of the program share its clusters: see [`ManagerBuilder::sharded`](crate::ManagerBuilder::sharded).
    /// What flags say goes before.
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

    /// A client for the host, for state that has to be read before a controller of type `C` exists. It works until
    /// the program ends.
    ///
    /// # Errors
    /// If there is no host, or its description cannot be used.
    pub fn host_client<C: MulticlusterController>(&mut self) -> Result<kube::Client, StartError> {
        self.wish.ask(C::provider(), C::FEATURES);
        let simulated = self.wish.choose(&self.args)?.simulated_host.clone();
        let missing = || StartError::NoHost {
            controller: C::NAME.to_owned(),
        };
        let access = host::access(&self.args, simulated)?.ok_or_else(missing)?;
        access
            .client(&self.settings.transport, &self.host_life)
            .map_err(StartError::Connect)
    }

    /// Starts and runs until Ctrl-C or SIGTERM, then stops in order. A second signal, of either kind, ends the
    /// process at once, with status 130.
    ///
    /// # Errors
    /// A [`StartError`] if the program cannot start.
    pub async fn run(self) -> Result<()> {
        logging::init(&self.args);
        let (ask, asked) = oneshot::channel();
        let asked = async {
            if asked.await.is_err() {
                // Nobody can ask any more, which is not the same as having asked.
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            // Listens for signals before anything else is done: one that comes early must not end the process out of order.
            biased;
            () = signals::insisted(ask) => std::process::exit(130),
            ran = self.run_until(asked) => ran,
        }
    }

    /// As [`run`](Self::run), without logging and signals of its own: until `shutdown` resolves.
    ///
    /// # Errors
    /// A [`StartError`] if the program cannot start.
    pub async fn run_until(mut self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let Chosen {
            provider,
            called,
            why,
            simulated_host,
        } = self.wish.choose(&self.args)?.clone();
        let simulated = match &simulated_host {
            Some(_) if provider.name() == "sim" => "SIMULATED fleet: ",
            Some(_) => "partly SIMULATED fleet: ",
            None => "",
        };
        tracing::info!("{simulated}{called}, because {why}");
        let mut controllers = Vec::with_capacity(self.controllers.len());
        for controller in self.controllers {
            controllers.push(controller?);
        }
        let needs_host = provider.needs_host();
        let mut manager = Manager::builder()
            .shared_provider(provider)
            .clusters(self.clusters)
            .clusters(self.args.selection.selector())
            .fleet_settings(self.settings);
        if let Some(what) = self.args.selection.self_reported(self.self_reported) {
            manager = manager.self_reported(what);
        }
        let sharding = self.args.sharing.sharding(self.sharding)?;
        if (needs_host || sharding.is_some() || controllers.iter().any(Controller::uses_host))
            && let Some(host) = host::access(&self.args, simulated_host)?
        {
            tracing::info!("host: {}", host.server());
            manager = manager.host(host);
        }
        if let Some(sharding) = sharding {
            manager = manager.sharded(sharding);
        }
        for controller in controllers {
            manager = manager.controller(controller);
        }
        manager.build().map_err(Error::from)?.run(shutdown).await;
        self.host_life.end().await;
        Ok(())
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("args", &self.args)
            .finish_non_exhaustive()
    }
}
