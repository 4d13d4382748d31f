//! A cluster that refuses everything, for one whose credentials rot or whose rights are gone: it is said, it stays
//! with that cluster, and it heals by itself.

use std::time::Duration;

use mcrt::{Health, WatchState};
use mcrt_sim::{Verb, Verdict};
use mcrt_tests::{
    logs::Logs,
    simulated::{Recorder, Running, Sims, config, with_data},
};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const SPAN: Duration = Duration::from_mins(5);

async fn refused_with(running: &Running<'_>, code: u16) {
    running
        .within(SECOND * 30, "the refusal is told", async || {
            match running.cluster("a").health() {
                Health::Unauthorized { status, .. } if status == code => Ok(()),
                health => Err(health.to_string()),
            }
        })
        .await;
}

/// `a` refuses everything for five minutes and ceases to; `b` and `c` work all along.
async fn refuses(code: u16) {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b", "c"]);
    let server = sims.server("a");
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            server.hook(move |_| Verdict::fail(code));
            server.disconnect_watches();
            refused_with(running, code).await;
            let before = server.counters().kind("configmaps");
            server.replace(with_data(config("object"), "key", "new")).unwrap();
            for round in 0..SPAN.as_secs() {
                let object = format!("object-{round}");
                for member in ["b", "c"] {
                    sims.server(member).create(config(&object)).unwrap();
                    running
                        .within(SECOND, "the others work", async || {
                            seen.expect(member, &object, 1)
                        })
                        .await;
                }
                sleep(SECOND).await;
            }
            let after = server.counters().kind("configmaps");
            let asked = after.lists + after.watches - before.lists - before.watches;
            assert!(asked <= 24, "{asked} lists and watches in five minutes");
            refused_with(running, code).await;
            seen.expect("a", "object", 1).unwrap();
            let told = logs.with(&["cluster=a", &code.to_string()]);
            assert!(!told.is_empty() && told.len() < 20, "{told:#?}");
            let others = ["cluster=b", "cluster=c"].map(|other| logs.with(&["WARN", other]).len());
            assert_eq!(others, [0, 0], "{logs:?}");

            server.clear_hook();
            running
                .within(SPAN, "the change is seen", async || seen.expect("a", "object", 2))
                .await;
            running.settled().await;
            running
                .within(SECOND * 60, "it is ready", async || {
                    let health = running.cluster("a").health();
                    health.is_ready().then_some(()).ok_or_else(|| health.to_string())
                })
                .await;
            seen.expect("a", "object", 2).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_credentials_rot_is_unauthorized_and_the_others_do_not_feel_it() {
    refuses(401).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_forbids_everything_is_told_and_the_others_do_not_feel_it() {
    refuses(403).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_forbids_everything_but_health_is_ready_and_its_watches_are_forbidden() {
    let sims = Sims::of(["a", "b"]);
    let server = sims.server("a");
    server.hook(|request| match request.verb() {
        Verb::List | Verb::Watch | Verb::Get if !request.plural().is_empty() => Verdict::fail(403),
        _ => Verdict::Pass,
    });
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running
                .within(SECOND, "the other works", async || seen.expect("b", "object", 1))
                .await;
            running
                .within(SECOND * 10, "it is forbidden", async || {
                    let cluster = running.cluster("a");
                    match cluster.watches().first() {
                        Some((_, WatchState::Forbidden)) if cluster.health().takes_requests() => Ok(()),
                        watch => Err(format!("{watch:?}, {}", cluster.health())),
                    }
                })
                .await;
            sleep(SPAN).await;
            let asked = server.counters().kind("configmaps");
            assert!(asked.lists + asked.watches <= 12, "{asked:?}");
            server.clear_hook();
            running
                .within(SPAN, "it works", async || seen.expect("a", "object", 1))
                .await;
        })
        .await;
}
