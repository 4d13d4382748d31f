//! The two programs, each written as its documentation would have it.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures::{StreamExt as _, stream::FuturesUnordered};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{Controller, controller, watcher},
};
use mcrt::{
    Action, Context, ControllerBuilder, FleetSettings, HandWired, Manager, Reconciler, Watch,
    connect::Connection, provider::ClusterSpec, providers::Clusters,
};
use mcrt_tests::measure::Numbers;
use tokio::sync::Notify;

use super::{
    Arguments, Outcome,
    site::{MARKER, PREFIX},
};

/// After the last reconcile, for connections that have nothing left to do.
const SETTLING: Duration = Duration::from_secs(1);
/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_mins(10);

/// What both sides are given.
pub(crate) struct Work {
    kubeconfig: Kubeconfig,
    workers: u16,
    settings: FleetSettings,
    selector: Option<&'static str>,
    progress: Arc<Progress>,
    started: Instant,
}

impl Work {
    pub(crate) fn read(kubeconfig: &Path, arguments: &Arguments) -> Outcome<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        Ok(Self {
            kubeconfig,
            workers: arguments.workers,
            settings: settings(arguments),
            selector: arguments.empty.then_some(MARKER),
            progress: Arc::new(Progress::new(arguments.expect)),
            started: Instant::now(),
        })
    }

    fn contexts(&self) -> Vec<String> {
        let contexts = self.kubeconfig.contexts.iter();
        contexts.map(|context| context.name.clone()).collect()
    }
}

fn settings(arguments: &Arguments) -> FleetSettings {
    let mut settings = FleetSettings::default();
    if let Some(page_size) = arguments.page_size {
        settings.caches.page_size = page_size;
    }
    if let Some(lists) = arguments.lists {
        settings.lists = lists;
    }
    settings
}

/// Counts reconciles of the objects that the comparison made; the API server has others.
pub(crate) struct Progress {
    seen: AtomicU64,
    wanted: u64,
    done: Notify,
}

impl Progress {
    fn new(wanted: u64) -> Self {
        Self {
            seen: AtomicU64::new(0),
            wanted,
            done: Notify::new(),
        }
    }

    fn see(&self, config: &ConfigMap) {
        let ours = config
            .metadata
            .name
            .as_deref()
            .is_some_and(|name| name.starts_with(PREFIX));
        if ours && self.seen.fetch_add(1, Relaxed) + 1 == self.wanted {
            self.done.notify_one();
        }
    }

    async fn finish(&self, started: Instant) -> Outcome<Numbers> {
        if tokio::time::timeout(LIMIT, self.done.notified()).await.is_err() {
            let seen = self.seen.load(Relaxed);
            return Err(format!("{seen} of {} reconciled within {LIMIT:?}", self.wanted).into());
        }
        let took = started.elapsed();
        tokio::time::sleep(SETTLING).await;
        Ok(Numbers::read(took)?)
    }
}

struct Nothing(Arc<Progress>);
impl HandWired for Nothing {}
impl Reconciler for Nothing {
    type Object = ConfigMap;
    async fn reconcile(&self, config: Arc<ConfigMap>, _: Context<Self>) -> mcrt::Result<Action> {
        self.0.see(&config);
        Ok(Action::await_change())
    }
}

/// One controller over all contexts.
pub(crate) async fn mcrt(work: Work) -> Outcome<Numbers> {
    let clusters = Clusters::new();
    for context in work.contexts() {
        let connection = Connection::from_kubeconfig(&work.kubeconfig, &context)?;
        clusters.add(ClusterSpec::new(context.try_into()?, "one", connection))?;
    }
    let mut wiring = ControllerBuilder::new("nothing");
    let watch = Watch::new();
    wiring
        .for_kind(
            work.selector
                .map_or(Watch::new(), |selector| watch.labels(selector)),
        )
        .concurrency(work.workers.into());
    let manager = Manager::builder()
        .fleet_settings(work.settings.clone())
        .provider(clusters)
        .controller(wiring.build(Nothing(work.progress.clone()))?)
        .build()?;
    tokio::select! {
        numbers = work.progress.finish(work.started) => numbers,
        () = manager.run(std::future::pending()) => Err("the manager ended".into()),
    }
}

/// One client and one `Controller` per context.
pub(crate) async fn kube(work: Work) -> Outcome<Numbers> {
    let mut running = FuturesUnordered::new();
    for context in work.contexts() {
        let options = KubeConfigOptions {
            context: Some(context),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(work.kubeconfig.clone(), &options).await?;
        let api = Api::<ConfigMap>::all(Client::try_from(config)?);
        let mut watch = watcher::Config::default();
        if let Some(selector) = work.selector {
            watch = watch.labels(selector);
        }
        let runs = Controller::new(api, watch)
            .with_config(controller::Config::default().concurrency(work.workers))
            .run(reconcile, retry, work.progress.clone())
            .for_each(async |_| {});
        running.push(tokio::spawn(runs));
    }
    tokio::select! {
        numbers = work.progress.finish(work.started) => numbers,
        Some(_) = running.next() => Err("a controller ended".into()),
    }
}

async fn reconcile(
    config: Arc<ConfigMap>,
    progress: Arc<Progress>,
) -> Result<controller::Action, kube::Error> {
    progress.see(&config);
    Ok(controller::Action::await_change())
}

fn retry(_: Arc<ConfigMap>, _: &kube::Error, _: Arc<Progress>) -> controller::Action {
    controller::Action::requeue(LIMIT)
}
