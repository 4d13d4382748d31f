//! Clusters that accept connections and never answer leave nothing behind when they are removed.
use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{
    Action, ClusterName, Context, ControllerBuilder, HandWired, Health, Manager, Reconciler, Watch,
    providers::Clusters,
};
use mcrt_tests::{Running, eventually, proxy::Proxy, running::cluster};

const LIMIT: Duration = Duration::from_mins(1);
/// What removing a cluster may take.
const SOON: Duration = Duration::from_secs(1);

struct Nothing;
impl HandWired for Nothing {}
impl Reconciler for Nothing {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, _: Context<Self>) -> mcrt::Result<Action> {
        Ok(Action::await_change())
    }
}

fn start(clusters: &Clusters) -> Running {
    let mut wiring = ControllerBuilder::new("nothing");
    wiring.for_kind(Watch::new());
    let manager = Manager::builder()
        .provider(clusters.clone())
        .controller(wiring.build(Nothing).unwrap());
    Running::start(manager.build().unwrap())
}

fn name() -> ClusterName {
    "silent".try_into().unwrap()
}

fn add(clusters: &Clusters, scheme: &str, address: SocketAddr) {
    let skip = if scheme == "https" {
        ", \"insecure-skip-tls-verify\": true"
    } else {
        ""
    };
    let kubeconfig = format!(
        r#"{{
            "clusters": [{{"name": "silent", "cluster": {{"server": "{scheme}://{address}"{skip}}}}}],
            "users": [{{"name": "silent", "user": {{}}}}],
            "contexts": [{{"name": "silent", "context": {{"cluster": "silent", "user": "silent"}}}}]
        }}"#
    );
    clusters.add(cluster("silent", &kubeconfig)).unwrap();
}

async fn until_connections(proxy: &Proxy, what: &str, are: impl Fn(usize) -> bool) {
    eventually(LIMIT, what, async || match proxy.open() {
        open if are(open) => Ok(()),
        open => Err(format!("{open} connections")),
    })
    .await;
}

/// Removes the cluster and expects its tasks and sockets to be gone soon.
async fn remove(clusters: &Clusters, running: &Running, proxy: &Proxy) {
    let silent = running.handle().fleet().get(&name()).expect("it is engaged");
    assert!(silent.connection_tasks() > 0);
    let began = Instant::now();
    clusters.remove(&name());
    eventually(LIMIT, "nothing left", async || {
        match (proxy.open(), silent.connection_tasks()) {
            (0, 0) => Ok(()),
            (sockets, tasks) => Err(format!("{sockets} sockets, {tasks} tasks")),
        }
    })
    .await;
    assert!(began.elapsed() < SOON, "took {:?}", began.elapsed());
}

#[tokio::test]
async fn a_cluster_that_never_answered_leaves_no_task_and_no_socket() {
    // Once with a TLS handshake that does not come about, once with a request that nobody answers.
    for scheme in ["https", "http"] {
        let (proxy, clusters) = (Proxy::black_hole().await.unwrap(), Clusters::new());
        add(&clusters, scheme, proxy.address());
        let running = start(&clusters);
        until_connections(&proxy, "a connection", |open| open > 0).await;
        remove(&clusters, &running, &proxy).await;
        running.stop().await;
    }
}

#[tokio::test]
async fn a_cluster_that_fell_silent_leaves_no_task_and_no_socket() {
    let server = mcrt_sim::Server::new("silent");
    let listener = server.listen().await.unwrap();
    let (proxy, clusters) = (Proxy::to(listener.addr()).await.unwrap(), Clusters::new());
    add(&clusters, "http", proxy.address());
    let running = start(&clusters);
    eventually(LIMIT, "an open watch", async || {
        match (running.handle().fleet().get(&name()), server.counters()) {
            (Some(silent), counters) if silent.health() == Health::Ready && counters.open_watches > 0 => {
                Ok(())
            }
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    proxy.fall_silent();
    remove(&clusters, &running, &proxy).await;
    running.stop().await;
    listener.shutdown().await;
}

#[tokio::test]
async fn a_manager_stops_soon_though_a_cluster_does_not_answer() {
    let (proxy, clusters) = (Proxy::black_hole().await.unwrap(), Clusters::new());
    add(&clusters, "http", proxy.address());
    let running = start(&clusters);
    until_connections(&proxy, "a connection", |open| open > 0).await;
    let began = Instant::now();
    running.stop().await;
    assert!(began.elapsed() < SOON, "took {:?}", began.elapsed());
    until_connections(&proxy, "no connection", |open| open == 0).await;
}
