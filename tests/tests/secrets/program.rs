//! A program over servers and strangers, which prints what it has in its hands.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::{
    Action, Context, Controller, ControllerBuilder, HandWired, Launch, LaunchArgs, LogFormat, Manager,
    Reconciler, Request, Uses, Watch,
    provider::ClusterSpec,
    providers::{Clusters, File},
    testing::TestFleet,
};
use mcrt_tests::{Running, eventually};
use parking_lot::Mutex;
use rustix::process::{Signal, getpid, kill_process};
use tokio::runtime::Builder;

use crate::{
    KEY,
    servers::{Site, open_server, stranger},
    shown,
};

const LIMIT: Duration = Duration::from_mins(1);

pub(crate) fn run(format: &str) {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let mut args = LaunchArgs::default();
    args.log = match format {
        "kube" => "trace,kube_client=trace".to_owned(),
        _ => "trace".to_owned(),
    };
    args.log_format = match format {
        "json" => LogFormat::Json,
        _ => LogFormat::Text,
    };
    args.host = Some("none".to_owned());
    runtime.block_on(program(args));
}

async fn program(args: LaunchArgs) {
    let site = Site::start().await;
    for line in site.key.lines().filter(|line| !line.starts_with('-')) {
        println!("{KEY}{line}");
    }
    let done = Done::default();
    let launch = Launch::new(args)
        .provider(File::new([site.folder.path()]).policy(site.policy()))
        .built_controller(watches(&done))
        .built_controller(reads(&done));
    shown::debug("Launch", &launch);
    let launched = tokio::spawn(launch.run());
    done.wait("inline", "watched").await;
    for (cluster, what) in [
        ("file", "watched"),
        ("key", "watched"),
        ("undecodable", "read"),
        ("inline", "read"),
        // Another file has a context of this name, which cannot be used.
        ("good/program", "watched"),
    ] {
        done.wait(cluster, what).await;
    }
    for cluster in ["refused", "basic"] {
        let server = &site.servers[cluster];
        eventually(LIMIT, "a refusal", async || match server.counters() {
            counters if counters.unauthorized + counters.forbidden > 0 => Ok(()),
            counters => Err(format!("{counters:?}")),
        })
        .await;
    }
    shown::kubeconfigs(&site);
    by_hand().await;
    kit();
    // As whoever runs it ends it.
    kill_process(getpid(), Signal::TERM).unwrap();
    launched.await.unwrap().unwrap();
}

/// A manager over strangers, whose handle is in the program's hands.
async fn by_hand() {
    let spec = |name: &str, access| ClusterSpec::new(name.try_into().unwrap(), "one", access);
    let server = open_server("simulated");
    let clusters = Clusters::from_iter([
        spec("page", stranger(502)),
        spec("nonsense", stranger(200)),
        spec(
            "simulated",
            mcrt::connect::Access::service(server.uid(), server.service()),
        ),
    ]);
    let done = Done::default();
    let builder = Manager::builder()
        .provider(clusters.clone())
        .controller(watches(&done))
        .controller(asks());
    shown::debug("ManagerBuilder", &builder);
    let manager = builder.build().unwrap();
    shown::debug("Manager", &manager);
    shown::debug("Clusters", &clusters);
    let running = Running::start(manager);
    done.wait("simulated", "watched").await;
    server.create(mcrt_tests::simulated::config("config")).unwrap();
    eventually(LIMIT, "failures", async || {
        let controllers = running.handle().controllers();
        let asks = controllers
            .iter()
            .find(|controller| controller.name() == "asks")
            .unwrap();
        match asks.last_failures().len() {
            failures if failures > 1 => Ok(()),
            failures => Err(failures),
        }
    })
    .await;
    shown::manager(running.handle());
    running.stop().await;
}

/// What the test kit prints.
fn kit() {
    let fleet = TestFleet::start(["kit"]).try_start().unwrap();
    fleet
        .sim()
        .get("kit")
        .unwrap()
        .create(mcrt_tests::simulated::secret("keys"))
        .unwrap();
    println!("{}", fleet.state());
    shown::debug("TestFleet", &fleet);
    shown::debug("TestCluster", &fleet.cluster("kit"));
    drop(fleet);
}

/// What was seen where.
#[derive(Clone, Default)]
struct Done(Arc<Mutex<Vec<(String, &'static str)>>>);

impl Done {
    fn note(&self, cluster: &mcrt::Cluster, what: &'static str) {
        self.0.lock().push((cluster.to_string(), what));
    }

    async fn wait(&self, cluster: &str, what: &'static str) {
        eventually(LIMIT, &format!("{cluster} is {what}"), async || {
            let done = self.0.lock();
            let found = done.iter().any(|(at, did)| at == cluster && *did == what);
            found.then_some(()).ok_or_else(|| format!("{done:?}"))
        })
        .await;
    }
}

/// Watches Secrets whole.
struct Watches(Done);
impl HandWired for Watches {}
impl Reconciler for Watches {
    type Object = Secret;
    async fn reconcile(&self, secret: Arc<Secret>, cx: Context<Self>) -> mcrt::Result<Action> {
        shown::debug("Context", &cx);
        shown::debug("Request", &cx.request());
        shown::debug("ClusterContext", &cx.request().home());
        let store = cx.store::<Secret>();
        shown::debug("Store", &store);
        self.0.note(cx.cluster(), "watched");
        if secret.metadata.name.as_deref() == Some("keys") {
            return Err(mcrt::Error::msg("on purpose"));
        }
        Ok(Action::await_change())
    }
}

fn watches(done: &Done) -> Controller {
    let mut wiring = ControllerBuilder::new("watches");
    wiring.for_kind(Watch::new());
    shown::debug("ControllerBuilder", &wiring);
    wiring.watches(Watch::<ConfigMap>::new(), |_, _, cx| {
        shown::map_context(&cx);
        None::<Request<Secret>>
    });
    let controller = wiring.build(Watches(done.clone())).unwrap();
    shown::debug("Controller", &controller);
    controller
}

/// Reads a Secret from the server, which may not decode.
struct Reads(Done);
impl HandWired for Reads {}
impl Reconciler for Reads {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let read = cx.get::<Secret>("keys").await;
        self.0.note(cx.cluster(), "read");
        if let Err(error) = &read {
            shown::failed(error);
        }
        read?;
        Ok(Action::await_change())
    }
}

fn reads(done: &Done) -> Controller {
    let mut wiring = ControllerBuilder::new("reads");
    wiring.for_kind(Watch::new().fields("metadata.name=config"));
    wiring.uses::<Secret>(Uses::new());
    wiring.build(Reads(done.clone())).unwrap()
}

/// Asks strangers, from the one cluster that can be worked in.
struct Asks;
impl HandWired for Asks {}
impl Reconciler for Asks {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let strangers = cx.fleet().clusters();
        for stranger in strangers
            .iter()
            .filter(|cluster| cluster.name().as_str() != "simulated")
        {
            let api = kube::Api::<Secret>::default_namespaced(stranger.client());
            if let Err(error) = api.get("keys").await {
                shown::request(error);
            }
        }
        let stranger = if cx.attempt().is_multiple_of(2) {
            "page"
        } else {
            "nonsense"
        };
        let stranger = strangers
            .iter()
            .find(|cluster| cluster.name().as_str() == stranger);
        let stranger = stranger.ok_or_else(|| mcrt::Error::msg("not there yet"))?;
        let api = kube::Api::<Secret>::default_namespaced(stranger.client());
        api.list(&kube::api::ListParams::default()).await?;
        Ok(Action::await_change())
    }
}

fn asks() -> Controller {
    let mut wiring = ControllerBuilder::new("asks");
    wiring.for_kind(Watch::new().labels("mcrt.dev/test"));
    wiring.build(Asks).unwrap()
}
