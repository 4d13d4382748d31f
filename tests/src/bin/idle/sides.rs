//! Both ways of watching five kinds in every cluster.

use std::{
    collections::BTreeSet,
    fmt::Debug,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, Service};
use kube::{
    Api, Client, Config, Resource,
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{WatchStreamExt as _, reflector, reflector::ObjectRef, watcher},
};
use mcrt::{
    Action, Context, ControllerBuilder, FleetSettings, HandWired, Manager, Reconciler, Watch,
    connect::Connection, provider::ClusterSpec, providers::Clusters,
};
use mcrt_tests::measure::Numbers;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Arguments, Outcome};

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_mins(5);

/// What changes of the other kinds give rise to.
const NOBODY: Option<ObjectRef<ConfigMap>> = None;

/// What one run took; all but the first for one cluster.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    /// Beyond what the process had before it knew of any cluster.
    pub(crate) resident_kib: f64,
    pub(crate) connections: f64,
    pub(crate) engage_ms: f64,
    /// In a minute.
    pub(crate) rest_ms: f64,
}

/// Measures from now on.
struct Clock {
    began: Instant,
    before: Numbers,
    clusters: usize,
}

impl Clock {
    fn start(clusters: usize) -> Outcome<Self> {
        Ok(Self {
            began: Instant::now(),
            before: Numbers::read(Duration::ZERO)?,
            clusters,
        })
    }

    /// Waits until `done`, and rests.
    #[expect(clippy::cast_precision_loss, reason = "sizes and counts far below 2^52")]
    async fn measure(self, done: impl Fn() -> bool, rest: u64) -> Outcome<Cost> {
        while !done() {
            if self.began.elapsed() > LIMIT {
                return Err(format!("not all is watched within {LIMIT:?}").into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let watched = Numbers::read(self.began.elapsed())?;
        tokio::time::sleep(Duration::from_secs(rest)).await;
        let after = Numbers::read(self.began.elapsed())?;
        let clusters = self.clusters as f64;
        let minutes = (after.seconds - watched.seconds) / 60.0;
        Ok(Cost {
            seconds: watched.seconds,
            resident_kib: (after.resident_kib as f64 - self.before.resident_kib as f64) / clusters,
            connections: after.sockets as f64 / clusters,
            engage_ms: (watched.cpu_seconds - self.before.cpu_seconds) * 1000.0 / clusters,
            rest_ms: (after.cpu_seconds - watched.cpu_seconds) * 1000.0 / clusters / minutes,
        })
    }
}

/// Remembers in which clusters it has reconciled: there all kinds are watched. Every namespace has a config map.
#[derive(Clone, Default)]
struct Five(Arc<Mutex<BTreeSet<String>>>);
impl HandWired for Five {}
impl Reconciler for Five {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        self.0.lock().insert(cx.cluster().name().to_string());
        Ok(Action::await_change())
    }
}

/// One controller over all clusters.
pub(crate) async fn mcrt(kubeconfig: &Path, arguments: &Arguments) -> Outcome<Cost> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let clock = Clock::start(kubeconfig.contexts.len())?;
    let clusters = Clusters::new();
    for context in &kubeconfig.contexts {
        let connection = Connection::from_kubeconfig(&kubeconfig, &context.name)?;
        clusters.add(ClusterSpec::new(
            context.name.clone().try_into()?,
            "one",
            connection,
        ))?;
    }
    let five = Five::default();
    let mut wiring = ControllerBuilder::new("five");
    wiring
        .for_kind(Watch::new())
        .watches(Watch::<Secret>::new(), |_, _, _| NOBODY)
        .watches(Watch::<Service>::new(), |_, _, _| NOBODY)
        .watches(Watch::<Pod>::new(), |_, _, _| NOBODY)
        .watches(Watch::<Namespace>::new(), |_, _, _| NOBODY);
    let mut settings = FleetSettings::default();
    settings.transport.http2.enabled = !arguments.http1;
    let manager = Manager::builder()
        .fleet_settings(settings)
        .provider(clusters)
        .controller(wiring.build(five.clone())?)
        .build()?;
    let wanted = clock.clusters;
    let done = move || five.0.lock().len() == wanted;
    tokio::select! {
        cost = clock.measure(done, arguments.rest) => cost,
        () = manager.run(std::future::pending()) => Err("the manager ended".into()),
    }
}

/// A client for each cluster, and a reflector for each kind.
pub(crate) async fn kube(kubeconfig: &Path, arguments: &Arguments) -> Outcome<Cost> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let clock = Clock::start(kubeconfig.contexts.len())?;
    let listed = Arc::new(AtomicUsize::new(0));
    for context in &kubeconfig.contexts {
        let options = KubeConfigOptions {
            context: Some(context.name.clone()),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await?;
        let client = Client::try_from(config)?;
        follow::<ConfigMap>(&client, &listed);
        follow::<Secret>(&client, &listed);
        follow::<Service>(&client, &listed);
        follow::<Pod>(&client, &listed);
        follow::<Namespace>(&client, &listed);
    }
    let wanted = 5 * clock.clusters;
    clock
        .measure(move || listed.load(Relaxed) >= wanted, arguments.rest)
        .await
}

fn follow<K>(client: &Client, listed: &Arc<AtomicUsize>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (_, writer) = reflector::store();
    let events = watcher(Api::<K>::all(client.clone()), watcher::Config::default()).default_backoff();
    let listed = listed.clone();
    tokio::spawn(reflector(writer, events).for_each(move |event| {
        if matches!(event, Ok(watcher::Event::InitDone)) {
            listed.fetch_add(1, Relaxed);
        }
        std::future::ready(())
    }));
}
