//! How many connections a fleet holds, and what becomes of them, against real API servers and simulated ones over TLS.
use std::{
    collections::BTreeSet,
    error::Error,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _, future::join_all, stream::BoxStream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, Service, ServiceAccount};
use kube::{
    Api, Client,
    api::{ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams},
    config::Kubeconfig,
    runtime::reflector::ObjectRef,
};
use mcrt::{
    Action, Context, ControllerBuilder, HandWired, Manager, Reconciler, Watch,
    connect::{Access, Connection, Life, TransportSettings},
    provider::ClusterSpec,
    providers::Clusters,
};
use mcrt_sim::{Authority, Listen, Listener, Server, User as SimUser};
use mcrt_tests::{
    Running,
    control_plane::{ControlPlane, Options, User, assets},
    eventually,
    proxy::Proxy,
};
use parking_lot::Mutex;

type Outcome = Result<(), Box<dyn Error>>;

const LIMIT: Duration = Duration::from_mins(2);
const CLUSTERS: usize = 50;
/// What changes of the other kinds give rise to.
const NOBODY: Option<ObjectRef<ConfigMap>> = None;

/// Remembers in which clusters it has reconciled: there, all six kinds have been listed and are watched.
#[derive(Clone, Default)]
struct Six(Arc<Mutex<BTreeSet<String>>>);
impl HandWired for Six {}
impl Reconciler for Six {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        self.0.lock().insert(cx.cluster().name().to_string());
        Ok(Action::await_change())
    }
}

impl Six {
    fn start(&self, clusters: &Clusters) -> Running {
        let mut wiring = ControllerBuilder::new("six");
        wiring
            .for_kind(Watch::new())
            .watches(Watch::<Secret>::new(), |_, _, _| NOBODY)
            .watches(Watch::<Service>::new(), |_, _, _| NOBODY)
            .watches(Watch::<Pod>::new(), |_, _, _| NOBODY)
            .watches(Watch::<Namespace>::new(), |_, _, _| NOBODY)
            .watches(Watch::<ServiceAccount>::new(), |_, _, _| NOBODY);
        let manager = Manager::builder()
            .provider(clusters.clone())
            .controller(wiring.build(self.clone()).unwrap());
        Running::start(manager.build().unwrap())
    }

    async fn everywhere(&self) {
        eventually(
            LIMIT,
            "all kinds of all clusters are watched",
            async || match self.0.lock().len() {
                CLUSTERS => Ok(()),
                clusters => Err(format!("{clusters} of {CLUSTERS} clusters")),
            },
        )
        .await;
    }
}

fn names() -> Vec<String> {
    (0..CLUSTERS).map(|number| format!("cluster-{number}")).collect()
}

/// The kubeconfig with another address for all of its clusters.
fn through(text: &str, address: SocketAddr) -> Kubeconfig {
    let mut kubeconfig = Kubeconfig::from_yaml(text).unwrap();
    for cluster in &mut kubeconfig.clusters {
        cluster.cluster.as_mut().unwrap().server = Some(format!("https://{address}"));
    }
    kubeconfig
}

fn add_all(clusters: &Clusters, kubeconfig: &Kubeconfig) {
    for context in &kubeconfig.contexts {
        let connection = Connection::from_kubeconfig(kubeconfig, &context.name).unwrap();
        let name = context.name.clone().try_into().unwrap();
        clusters.add(ClusterSpec::new(name, "one", connection)).unwrap();
    }
}

fn address(plane: &ControlPlane) -> SocketAddr {
    plane.server_url().trim_start_matches("https://").parse().unwrap()
}

/// A client of ours, through the proxy.
fn client(plane: &ControlPlane, proxy: &Proxy, life: &Life) -> Client {
    let text = plane.kubeconfig("one");
    let connection = Connection::from_kubeconfig(&through(&text, proxy.address()), "one").unwrap();
    let transport = Access::from(connection).connect(&TransportSettings::default(), life);
    transport.unwrap().client()
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

async fn events(client: &Client) -> BoxStream<'static, kube::Result<WatchEvent<ConfigMap>>> {
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    let from = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version;
    let params = WatchParams::default().timeout(120);
    api.watch(&params, &from.unwrap()).await.unwrap().boxed()
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_clusters_of_six_kinds_hold_at_most_a_hundred_connections_to_real_servers() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let api = Api::<ConfigMap>::default_namespaced(plane.client());
    api.create(&PostParams::default(), &config_map("one")).await?;
    let proxy = Proxy::to(address(&plane)).await?;
    let (six, clusters) = (Six::default(), Clusters::new());
    add_all(
        &clusters,
        &through(&plane.kubeconfig_of(User::Admin, &names()), proxy.address()),
    );
    let running = six.start(&clusters);
    six.everywhere().await;
    // Held for longer than any of the pings and probes takes to come round.
    let until = Instant::now() + Duration::from_secs(12);
    let mut most = 0;
    while Instant::now() < until {
        most = most.max(proxy.open());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(most <= 2 * CLUSTERS, "{most} connections");
    assert!(most >= CLUSTERS, "{most} connections: fewer than clusters");
    running.stop().await;
    eventually(LIMIT, "no connections", async || match proxy.open() {
        0 => Ok(()),
        open => Err(format!("{open} are open")),
    })
    .await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_clusters_of_six_kinds_hold_at_most_a_hundred_connections_to_simulated_servers() -> Outcome {
    let authority = Authority::new("fleet")?;
    let mut all: Vec<(Server, Listener)> = Vec::new();
    let clusters = Clusters::new();
    for name in names() {
        let server = Server::new(&name);
        server.add_token("token", SimUser::admin("admin").group("system:masters"));
        let listener = server.listen_with(Listen::new().tls(&authority)).await?;
        let kubeconfig = sim_kubeconfig(&name, listener.url(), authority.pem());
        let connection = Connection::from_kubeconfig(&kubeconfig, &name)?;
        clusters.add(ClusterSpec::new(name.try_into()?, "one", connection))?;
        all.push((server, listener));
    }
    let six = Six::default();
    let running = six.start(&clusters);
    six.everywhere().await;
    for (server, _) in &all {
        let counters = server.counters();
        assert_eq!(counters.open_watches, 6, "{}", server.name());
        assert!(counters.open_connections <= 2, "{}: {counters:?}", server.name());
    }
    running.stop().await;
    Ok(())
}

fn sim_kubeconfig(name: &str, url: &str, ca: &str) -> Kubeconfig {
    use k8s_openapi::ByteString;
    let ca = serde_json::to_value(ByteString(ca.as_bytes().to_vec())).unwrap();
    serde_json::from_value(serde_json::json!({
        "clusters": [{"name": name, "cluster": {"server": url, "certificate-authority-data": ca}}],
        "users": [{"name": name, "user": {"token": "token"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }))
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_api_server_is_noticed_by_its_watches_within_twenty_seconds() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let proxy = Proxy::to(address(&plane)).await?;
    let life = Life::new();
    let client = client(&plane, &proxy, &life);
    let mut watches = Vec::new();
    for _ in 0..5 {
        watches.push(events(&client).await);
    }
    plane.freeze();
    let began = Instant::now();
    let broken = watches.iter_mut().map(|watch| async {
        let next = tokio::time::timeout(Duration::from_secs(20), watch.next()).await;
        assert!(matches!(next, Ok(None | Some(Err(_)))), "{next:?}");
    });
    join_all(broken).await;
    println!("noticed after {:?}", began.elapsed());
    plane.thaw();
    let api = Api::<ConfigMap>::default_namespaced(client);
    api.create(&PostParams::default(), &config_map("after")).await?;
    life.end().await;
    assert_eq!(life.tasks(), 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_sends_clients_away_costs_no_request_and_no_event() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    // The most that it accepts: every fiftieth request is answered with GOAWAY as well.
    let options = Options::default().with_api_server_argument("--goaway-chance=0.02");
    let plane = ControlPlane::start_with(&assets, &options).await?;
    let proxy = Proxy::to(address(&plane)).await?;
    let life = Life::new();
    let client = client(&plane, &proxy, &life);
    let watching = events(&client).await;
    let api = Api::<ConfigMap>::default_namespaced(client);
    let number = 400;
    let creating = futures::stream::iter(0..number)
        .map(|at| {
            let api = api.clone();
            async move {
                api.create(&PostParams::default(), &config_map(&format!("one-{at}")))
                    .await
            }
        })
        .buffer_unordered(20)
        .try_collect::<Vec<_>>();
    let seen = watching
        .try_filter(|event| std::future::ready(matches!(event, WatchEvent::Added(_))))
        .take(number)
        .try_collect::<Vec<_>>();
    let (created, seen) = tokio::time::timeout(LIMIT, async { tokio::join!(creating, seen) }).await?;
    assert_eq!((created?.len(), seen?.len()), (number, number));
    assert!(
        proxy.accepted() > 3,
        "{} connections: nobody was sent away",
        proxy.accepted()
    );
    eventually(LIMIT, "the old connections are gone", async || {
        match proxy.open() {
            0..=3 => Ok(()),
            open => Err(format!("{open} are open")),
        }
    })
    .await;
    Ok(())
}
