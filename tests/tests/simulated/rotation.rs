//! Credentials that change: the same life goes on behind them. Another server is another life.

use mcrt::{connect::ServiceAccess, provider::ClusterSpec};
use mcrt_sim::{Server, User};
use mcrt_tests::simulated::{Recorder, Running, Sims, config, name};
use serde_json::json;

const OBJECTS: u64 = 5_000;
const ROTATIONS: u64 = 20;

fn token(revision: u64) -> String {
    format!("token-{revision}")
}

fn user(revision: u64) -> String {
    format!("user-{revision}")
}

fn allow(server: &Server, revision: u64) {
    server.add_token(&token(revision), User::admin(user(revision)));
}

/// The server as it is reached with one token.
fn described(server: &Server, address: &str, revision: u64) -> ClusterSpec {
    let service = ServiceAccess::new(address, server.service().with_token(&token(revision)));
    ClusterSpec::new(name(server.name()), server.uid(), service.revision(revision))
}

/// A fleet of one full server, which is reached with the first token.
fn fleet() -> (Sims, Server) {
    let sims = Sims::of([]);
    let server = Server::new("a");
    allow(&server, 0);
    for number in 0..OBJECTS {
        server.create(config(&format!("object-{number}"))).unwrap();
    }
    sims.put(&server);
    sims.provider().replace(described(&server, "here", 0));
    (sims, server)
}

/// Changes an object and waits until that has been seen, once since the first runs were forgotten.
async fn change(running: &Running<'_>, server: &Server, seen: &Recorder, object: &str) {
    let change = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": object, "namespace": "default"},
        "data": {"changed": "yes"},
    });
    server.merge(change).unwrap();
    running
        .until("the change is reconciled", async || seen.expect("a", object, 1))
        .await;
}

/// Rotates the token; the server closes the watches afterwards, or leaves them open.
async fn rotate(running: &Running<'_>, sims: &Sims, server: &Server, revision: u64, closes: bool) {
    allow(server, revision);
    sims.provider().replace(described(server, "here", revision));
    if closes {
        server.disconnect_watches();
    }
    let cluster = running.cluster("a");
    running
        .until("requests show the new token", async || {
            let asked = cluster.client().apiserver_version().await;
            asked.map_err(|error| error.to_string())?;
            match server.counters().user(&user(revision)) {
                0 => Err("none does".to_owned()),
                _ => Ok(()),
            }
        })
        .await;
    server.remove_token(&token(revision - 1));
}

async fn rotations(closes: bool) {
    let (sims, server) = fleet();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let (before, epoch) = (server.counters(), running.cluster("a").epoch());
            assert_eq!(seen.runs().len() as u64, OBJECTS);
            seen.forget();
            for revision in 1..=ROTATIONS {
                rotate(running, &sims, &server, revision, closes).await;
                change(running, &server, &seen, &format!("object-{revision}")).await;
            }
            running.settled().await;
            let after = server.counters();
            let restarts = after.watches - before.watches;
            assert_eq!(after.lists, before.lists, "no object is listed again");
            assert!(
                restarts <= if closes { ROTATIONS } else { 0 },
                "{restarts} watch restarts"
            );
            assert_eq!(
                seen.runs().len() as u64,
                ROTATIONS,
                "each change once, and nothing because of a rotation"
            );
            assert_eq!(running.cluster("a").epoch(), epoch);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn twenty_rotations_of_a_token_restart_no_watch_that_the_server_leaves_open() {
    rotations(false).await;
}

#[tokio::test(start_paused = true)]
async fn twenty_rotations_after_each_of_which_the_server_closes_its_watches_list_nothing_again() {
    rotations(true).await;
}

#[tokio::test(start_paused = true)]
async fn another_server_is_another_life() {
    let (sims, server) = fleet();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let (lists, epoch) = (server.counters().lists, running.cluster("a").epoch());
            sims.provider().replace(described(&server, "there", 0));
            running
                .until("another life", async || match running.cluster("a").epoch() {
                    now if now == epoch => Err("the first goes on".to_owned()),
                    _ => Ok(()),
                })
                .await;
            running.settled().await;
            assert_eq!(server.counters().lists, 2 * lists, "listed once more");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_the_server_no_longer_takes_is_replaced_and_work_goes_on() {
    let (sims, server) = fleet();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let (lists, epoch) = (server.counters().lists, running.cluster("a").epoch());
            seen.forget();
            allow(&server, 1);
            server.remove_token(&token(0));
            server.disconnect_watches();
            running
                .until("the old token is refused", async || {
                    match server.counters().unauthorized {
                        0 => Err("not yet".to_owned()),
                        _ => Ok(()),
                    }
                })
                .await;
            sims.provider().replace(described(&server, "here", 1));
            change(running, &server, &seen, "object-1").await;
            running.settled().await;
            assert_eq!(
                (server.counters().lists, running.cluster("a").epoch()),
                (lists, epoch)
            );
            assert_eq!(seen.runs().len(), 1);
        })
        .await;
}
