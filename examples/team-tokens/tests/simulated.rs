//! The controller on a simulated fleet.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail as tests do"
)]
#![cfg(feature = "sim")]

use mcrt::{ControllerBuilder, Manager, MulticlusterController, providers::Sim};
use mcrt_sim::{Fleet, Server};
use serde_json::{Value, json};
use std::time::Duration;
use team_tokens::{TOKEN, TeamTokens, demo};
use tokio::{sync::oneshot, task::JoinHandle, time};

const LIMIT: Duration = Duration::from_mins(1);
const CLUSTERS: [&str; 3] = ["alpha", "beta", "gamma"];

/// The controller at work on three clusters with the objects of the demonstration.
struct Running {
    fleet: Fleet,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start() -> Self {
        let fleet = Fleet::new();
        for name in CLUSTERS {
            fleet.join(name);
        }
        demo(&fleet);
        let sim = Sim::new(fleet.clone());
        let mut wiring = ControllerBuilder::new(TeamTokens::NAME);
        TeamTokens::wire(&mut wiring);
        let controller = TeamTokens {
            issuer: "tests".into(),
        };
        let host = sim.host_access();
        let manager = Manager::builder()
            .provider(sim)
            .host(host)
            .controller(wiring.build(controller).unwrap())
            .build()
            .unwrap();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            // Dropped, it stops too.
            let _ = stopped.await;
        };
        let task = tokio::spawn(manager.run(shutdown));
        Self { fleet, stop, task }
    }

    fn server(&self, name: &str) -> Server {
        self.fleet.get(name).unwrap()
    }

    async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap();
    }
}

fn secret(server: &Server, name: &str) -> Option<Value> {
    server.get("v1", "Secret", None, name).ok()
}

fn token(server: &Server, name: &str) -> Option<String> {
    Some(secret(server, name)?["data"][TOKEN].as_str()?.to_owned())
}

async fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            time::sleep(Duration::from_millis(10)).await;
        }
    };
    let Ok(found) = time::timeout(LIMIT, found).await else {
        panic!("{what}: not within {LIMIT:?}");
    };
    found
}

#[tokio::test(start_paused = true)]
async fn every_team_gets_a_token_in_every_cluster_and_no_two_are_alike() {
    let running = Running::start();
    let mut tokens = Vec::new();
    for cluster in CLUSTERS {
        for config in ["blue-settings", "red-settings"] {
            let server = running.server(cluster);
            tokens.push(until(config, || token(&server, config)).await);
        }
    }
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 6);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_key_changes_the_tokens_of_its_team_alone() {
    let running = Running::start();
    let servers = CLUSTERS.map(|cluster| running.server(cluster));
    let mut old = Vec::new();
    for server in &servers {
        let red = until("red", || token(server, "red-settings")).await;
        old.push((red, until("blue", || token(server, "blue-settings")).await));
    }
    let change = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "red"}, "data": {"key": "dHVsaXBz"},
    });
    running.fleet.host().merge(change).unwrap();
    for (server, (red, blue)) in servers.iter().zip(&old) {
        until("another red", || {
            token(server, "red-settings").filter(|now| now != red)
        })
        .await;
        assert_eq!(token(server, "blue-settings").as_ref(), Some(blue));
    }
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_deleted_secret_comes_back_and_is_owned_by_its_config_map() {
    let running = Running::start();
    let server = running.server("beta");
    let first = until("the Secret", || secret(&server, "red-settings")).await;
    server.delete("v1", "Secret", None, "red-settings").unwrap();
    let again = until("the Secret again", || secret(&server, "red-settings")).await;
    assert_ne!(first["metadata"]["uid"], again["metadata"]["uid"]);
    let owner = &again["metadata"]["ownerReferences"][0];
    assert_eq!(
        (owner["kind"].as_str(), owner["name"].as_str()),
        (Some("ConfigMap"), Some("red-settings"))
    );
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_team_without_a_key_waits_for_it() {
    let running = Running::start();
    let server = running.server("gamma");
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "green-settings", "labels": {"mcrt.dev/team": "green"}},
    });
    server.create(config).unwrap();
    until("another team's token", || token(&server, "red-settings")).await;
    assert_eq!(token(&server, "green-settings"), None);
    let key = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "green", "labels": {"mcrt.dev/signing-key": ""}}, "data": {"key": "bW9zcw=="},
    });
    running.fleet.host().create(key).unwrap();
    until("the token", || token(&server, "green-settings")).await;
    running.stop().await;
}
