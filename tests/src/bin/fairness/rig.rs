//! Simulated clusters, a controller that takes about a millisecond an item, and what it saw.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{
    Action, Context, ControllerBuilder, HandWired, Manager, Reconciler, Watch, connect::Access,
    provider::ClusterSpec, providers::Clusters,
};
use mcrt_sim::Server;
use mcrt_tests::Running;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Experience;

/// When the change was made, in nanoseconds since the rig was built.
const STAMP: &str = "stamp";
const NOISY: &str = "noisy";
const LOW: &str = "low-";
const ITEM: Duration = Duration::from_millis(1);
/// Long enough for a storm of changes to be more than can be served.
const LONG_ITEM: Duration = Duration::from_millis(5);
/// Between two changes of one quiet cluster.
const PERIOD: Duration = Duration::from_millis(100);
/// Keys that change all the time.
const HOT: usize = 500;

/// What the noisy cluster's objects do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noise {
    /// So many take as long as any other.
    Working(usize),
    /// So many never end.
    Hanging(usize),
}

/// What the controller saw.
struct Seen {
    born: Instant,
    hangs: bool,
    item: Duration,
    waits: Mutex<Vec<Duration>>,
    items: AtomicU64,
    nanoseconds: AtomicU64,
    noisy_begun: AtomicU64,
    noisy: AtomicU64,
    low: AtomicUsize,
    high: AtomicU64,
}

#[derive(Clone)]
struct Worker(Arc<Seen>);
impl HandWired for Worker {}
impl Reconciler for Worker {
    type Object = ConfigMap;
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let begun = Instant::now();
        self.0.wait_of(&config, begun);
        if cx.cluster().name().as_str() == NOISY {
            self.0.noisy_begun.fetch_add(1, Relaxed);
            if self.0.hangs {
                std::future::pending::<()>().await;
            }
        }
        // A thread of its own, because the runtime's timer has a grain of a millisecond.
        let item = self.0.item;
        let slept = tokio::task::spawn_blocking(move || std::thread::sleep(item));
        slept.await.map_err(mcrt::Error::give_up)?;
        self.0.took(begun.elapsed());
        self.0.count(&config, cx.cluster().name().as_str());
        Ok(Action::await_change())
    }
}

impl Seen {
    fn new(hangs: bool, item: Duration) -> Self {
        Self {
            born: Instant::now(),
            hangs,
            item,
            waits: Mutex::default(),
            items: AtomicU64::new(0),
            nanoseconds: AtomicU64::new(0),
            noisy_begun: AtomicU64::new(0),
            noisy: AtomicU64::new(0),
            low: AtomicUsize::new(0),
            high: AtomicU64::new(0),
        }
    }

    fn wait_of(&self, config: &ConfigMap, begun: Instant) {
        let stamp = config.data.as_ref().and_then(|data| data.get(STAMP));
        let Some(made) = stamp.and_then(|stamp| stamp.parse().ok()) else {
            return;
        };
        let wait = begun
            .duration_since(self.born)
            .saturating_sub(Duration::from_nanos(made));
        self.waits.lock().push(wait);
    }

    fn took(&self, time: Duration) {
        self.items.fetch_add(1, Relaxed);
        self.nanoseconds
            .fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    fn count(&self, config: &ConfigMap, cluster: &str) {
        let name = config.metadata.name.as_deref().unwrap_or_default();
        if cluster == NOISY {
            self.noisy.fetch_add(1, Relaxed);
        } else if name.starts_with(LOW) {
            self.low.fetch_add(1, Relaxed);
        } else {
            self.high.fetch_add(1, Relaxed);
        }
    }
}

pub(crate) struct Rig {
    seen: Arc<Seen>,
    clusters: Clusters,
    quiet: Vec<Server>,
    noisy: Option<(Server, usize)>,
    hot: Mutex<usize>,
}

impl Rig {
    /// Clusters with one object each, and perhaps a noisy one that has yet to join.
    pub(crate) fn quiet(count: usize, noise: Option<Noise>) -> Self {
        let loud = noise.map(|kind| {
            let (Noise::Working(objects) | Noise::Hanging(objects)) = kind;
            let server = Server::new(NOISY);
            (0..objects).for_each(|at| create(&server, &format!("item-{at}")));
            (server, objects)
        });
        let quiet = (0..count).map(|at| Server::new(&format!("quiet-{at}"))).collect();
        let rig = Self {
            seen: Arc::new(Seen::new(matches!(noise, Some(Noise::Hanging(_))), ITEM)),
            clusters: Clusters::new(),
            quiet,
            noisy: loud,
            hot: Mutex::new(0),
        };
        for server in &rig.quiet {
            create(server, "quiet");
            rig.join(server);
        }
        rig
    }

    /// One cluster with objects of low priority and others that change all the time.
    pub(crate) fn low(count: usize) -> Self {
        let server = Server::new("one");
        (0..count).for_each(|at| create(&server, &format!("{LOW}{at}")));
        (0..HOT).for_each(|at| create(&server, &format!("hot-{at}")));
        let rig = Self {
            seen: Arc::new(Seen::new(false, LONG_ITEM)),
            clusters: Clusters::new(),
            quiet: vec![server.clone()],
            noisy: None,
            hot: Mutex::new(0),
        };
        rig.join(&server);
        rig
    }

    pub(crate) fn start(&self, permits: u32, cap: Option<u32>, page_size: Option<u32>) -> Running {
        let mut wiring = ControllerBuilder::new("worker");
        // The servers have ConfigMaps of their own.
        wiring
            .for_kind(Watch::new().namespaces(["default"]))
            .concurrency(permits);
        if let Some(cap) = cap {
            wiring.per_cluster(cap);
        }
        let controller = wiring
            .build(Worker(self.seen.clone()))
            .expect("the wiring declares one kind, once");
        let mut settings = mcrt::FleetSettings::default();
        // Work that hangs is dropped at once when the measurement is over.
        settings.grace = Duration::ZERO;
        if let Some(page_size) = page_size {
            settings.caches.page_size = page_size;
        }
        let manager = Manager::builder()
            .provider(self.clusters.clone())
            .fleet_settings(settings)
            .controller(controller)
            .build()
            .expect("there is a provider and one controller");
        Running::start(manager)
    }

    fn join(&self, server: &Server) {
        let name = server
            .name()
            .try_into()
            .expect("a name without control characters");
        let access = Access::service(server.name(), server.service());
        let spec = ClusterSpec::new(name, server.uid(), access);
        self.clusters
            .add(spec)
            .expect("every server has a name of its own");
    }

    pub(crate) fn join_noisy(&self) {
        if let Some((server, _)) = &self.noisy {
            self.join(server);
        }
    }

    /// Whether the noisy cluster is listed, all of it waits, and the first of it runs.
    pub(crate) fn noise_has_begun(&self) -> bool {
        self.noisy.is_none() || self.seen.noisy_begun.load(Relaxed) > 0
    }

    pub(crate) fn noise_is_over(&self) -> bool {
        let over = |objects| usize::try_from(self.seen.noisy.load(Relaxed)).is_ok_and(|done| done >= objects);
        self.noisy.as_ref().is_some_and(|(_, objects)| over(*objects))
    }

    /// Changes until every quiet cluster has seen one: they are engaged then.
    pub(crate) async fn until_quiet_items_pass(&self) {
        while self.seen.waits.lock().len() < 2 * self.quiet.len() {
            self.touch_for(PERIOD).await;
        }
    }

    /// Begins to measure.
    pub(crate) fn forget(&self) {
        self.seen.waits.lock().clear();
        self.seen.items.store(0, Relaxed);
        self.seen.nanoseconds.store(0, Relaxed);
    }

    /// One change of every quiet cluster, spread over `period`.
    pub(crate) async fn touch_for(&self, period: Duration) {
        let each = period / u32::try_from(self.quiet.len()).unwrap_or(1);
        for server in &self.quiet {
            self.touch(server, "quiet");
            tokio::time::sleep(each).await;
        }
    }

    /// As many changes of hot keys as there are, then a pause.
    pub(crate) async fn storm_for(&self, pause: Duration) {
        let at = {
            let mut hot = self.hot.lock();
            *hot = (*hot + HOT / 4) % HOT;
            *hot
        };
        for key in at..at + HOT / 4 {
            self.touch(&self.quiet[0], &format!("hot-{}", key % HOT));
        }
        tokio::time::sleep(pause).await;
    }

    fn touch(&self, server: &Server, name: &str) {
        let stamp = self.seen.born.elapsed().as_nanos().to_string();
        let mut change = config_map(name);
        change["data"] = json!({STAMP: stamp});
        server.merge(change).expect("the object was created before");
    }

    pub(crate) fn low_done(&self) -> usize {
        self.seen.low.load(Relaxed)
    }

    pub(crate) fn high_done(&self) -> u64 {
        self.seen.high.load(Relaxed)
    }

    pub(crate) fn experience(&self) -> Experience {
        let mut waits = self.seen.waits.lock().clone();
        waits.sort();
        let quantile = |percent: usize| {
            let at = (waits.len() * percent / 100).min(waits.len().saturating_sub(1));
            waits.get(at).copied().unwrap_or(Duration::MAX)
        };
        let (items, nanoseconds) = (self.seen.items.load(Relaxed), self.seen.nanoseconds.load(Relaxed));
        Experience {
            p50: quantile(50),
            p99: quantile(99),
            worst: quantile(100),
            item: Duration::from_nanos(nanoseconds / items.max(1)),
            items: waits.len(),
            noisy_done: self.seen.noisy.load(Relaxed),
        }
    }
}

fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
    })
}

fn create(server: &Server, name: &str) {
    server.create(config_map(name)).expect("names are distinct");
}
