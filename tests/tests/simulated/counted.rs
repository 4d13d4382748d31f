//! What a cluster is asked while something is wrong with it: little, and never more the longer it lasts.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use mcrt::{Health, Watch};
use mcrt_sim::{Fault, Faults, Requests, Server, Verdict};
use mcrt_tests::simulated::{Recorder, Running, Sims, config, hang, secret};
use tokio::time::sleep;

/// How long is counted.
const SPAN: Duration = Duration::from_mins(5);
/// How often a watcher may begin anew in that time.
const LISTS: u64 = 12;
/// What a cluster is watched for here.
const KINDS: [&str; 2] = ["configmaps", "secrets"];

/// Lists, and watches that begin with one.
fn begun(server: &Server) -> [u64; 2] {
    KINDS.map(|kind| {
        let counters = server.counters();
        counters.kind(kind).lists
    })
}

/// Both: what an open breaker lets through none of.
fn asked(server: &Server) -> [u64; 2] {
    KINDS.map(|kind| {
        let counters = server.counters();
        counters.kind(kind).lists + counters.kind(kind).watches
    })
}

fn more(before: [u64; 2], after: [u64; 2]) -> [u64; 2] {
    [after[0] - before[0], after[1] - before[1]]
}

/// A controller with a watcher for each of the kinds, in `a` and `b`.
async fn watched(sims: &Sims, test: impl AsyncFnOnce(&Running<'_>, &Recorder)) {
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("counted");
    wiring.owns::<Secret>(Watch::new());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| test(running, &seen).await)
        .await;
}

fn fleet() -> Sims {
    let sims = Sims::of(["a", "b"]);
    for server in sims.servers() {
        server.create(config("object")).unwrap();
        server.create(secret("object")).unwrap();
    }
    sims
}

#[tokio::test(start_paused = true)]
async fn a_server_whose_lists_fail_is_listed_a_few_times_in_five_minutes() {
    for fault in [
        Fault::status(503),
        Fault::status(500),
        Fault::reset(),
        Fault::hang(),
        Fault::hang_body(),
        Fault::cut(),
        Fault::gone(),
    ] {
        let sims = fleet();
        let server = sims.server("a");
        let of_kinds = Requests::matching(|request| KINDS.contains(&request.plural()));
        let named = format!("{fault:?}");
        server.faults(Faults::none().on(of_kinds, fault));
        watched(&sims, async |running, seen| {
            running
                .until("the other works", async || seen.expect("b", "object", 1))
                .await;
            let before = begun(&server);
            sleep(SPAN).await;
            let lists = more(before, begun(&server));
            assert!(lists.iter().all(|lists| *lists <= LISTS), "{named}: {lists:?}");
            server.clear_faults();
            running
                .within(Duration::from_mins(2), "it works at last", async || {
                    seen.expect("a", "object", 1)
                })
                .await;
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_every_watch_as_gone_is_listed_a_few_times_in_five_minutes() {
    for fault in [Fault::gone(), Fault::watch_gone()] {
        let sims = fleet();
        let server = sims.server("a");
        let named = format!("{fault:?}");
        watched(&sims, async |running, seen| {
            running.settled().await;
            let watches = Requests::watches().and(|request| KINDS.contains(&request.plural()));
            server.faults(Faults::none().on(watches, fault));
            server.disconnect_watches();
            let before = begun(&server);
            sleep(SPAN).await;
            let lists = more(before, begun(&server));
            assert!(
                lists.iter().all(|lists| (1..=LISTS).contains(lists)),
                "{named}: {lists:?}"
            );
            server.clear_faults();
            server.create(config("after")).unwrap();
            running
                .within(Duration::from_mins(2), "it works again", async || {
                    seen.expect("a", "after", 1)
                })
                .await;
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_as_gone_once_is_followed_by_one_list() {
    for fault in [Fault::gone(), Fault::watch_gone()] {
        let sims = fleet();
        let server = sims.server("a");
        let named = format!("{fault:?}");
        watched(&sims, async |running, seen| {
            running.settled().await;
            seen.forget();
            let before = begun(&server);
            server.faults(Faults::none().on(Requests::watches().of("configmaps").first(1), fault));
            server.disconnect_watches();
            sleep(Duration::from_secs(1)).await;
            server.create(config("after")).unwrap();
            running
                .within(Duration::from_mins(1), "it goes on", async || {
                    seen.expect("a", "after", 1)
                })
                .await;
            sleep(SPAN).await;
            assert_eq!(more(before, begun(&server)), [1, 0], "{named}");
            assert_eq!(
                seen.runs().len(),
                1,
                "{named}: nothing else was reconciled: {seen:?}"
            );
        })
        .await;
    }
}

async fn unreachable(running: &Running<'_>, member: &str) {
    running
        .within(
            Duration::from_secs(20),
            "it is found unreachable",
            async || match running.cluster(member).health() {
                Health::Unreachable { .. } => Ok(()),
                health => Err(health.to_string()),
            },
        )
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_unreachable_is_probed_and_asked_nothing_else() {
    for dead in [
        |server: &Server| server.hook(|_| Verdict::Reset),
        |server: &Server| hang(server),
    ] {
        let sims = fleet();
        let server = sims.server("a");
        for object in 0..2_000 {
            server.create(config(&format!("object-{object}"))).unwrap();
        }
        watched(&sims, async |running, seen| {
            running.settled().await;
            dead(&server);
            server.disconnect_watches();
            unreachable(running, "a").await;
            seen.forget();
            let (before, requests) = (asked(&server), server.counters().requests);
            sleep(SPAN).await;
            assert_eq!(more(before, asked(&server)), [0, 0]);
            // One probe every 4 s, give or take a fifth.
            let probes = server.counters().requests - requests;
            assert!((40..=100).contains(&probes), "{probes} probes in five minutes");
            assert_eq!(seen.runs().len(), 0, "{seen:?}");
            server.create(config("after")).unwrap();
            server.clear_hook();
            running
                .within(Duration::from_secs(10), "it works", async || {
                    seen.expect("a", "after", 1)
                })
                .await;
            running.settled().await;
            assert_eq!(seen.runs().len(), 1, "nothing else has changed");
        })
        .await;
    }
}
