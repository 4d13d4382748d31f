//! Nothing waits for ever for a server: not a read, not a watch that does not open, not one that fell silent; and
//! no other cluster, nor another kind, waits along.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Secret};
use kube::Api;
use mcrt::{Action, Context, Watch, connect::Limits};
use mcrt_sim::{Fault, Faults, Requests, Server};
use mcrt_tests::simulated::{Call, Recorder, Running, Sims, config, hang_kind, name};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
/// What a reconcile of a cluster that leaves is given.
const GRACE: Duration = Duration::from_secs(2);

/// What a read of a kind that nobody watches ends with.
async fn read_a_node<C>(cx: &Context<C>) -> mcrt::Result<Action> {
    Api::<Node>::all(cx.client()).get_opt("any").await?;
    Ok(Action::await_change())
}

/// `a` has one reconcile, which reads from a server that does not answer any more; a controller of one worker.
async fn with_a_read_that_hangs(then: impl AsyncFnOnce(&Running<'_>, &Recorder, &Server)) {
    let sims = Sims::of(["a", "b"]);
    let server = sims.server("a");
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        match call.cluster() {
            "a" => read_a_node(&call.cx).await,
            _ => Ok(Action::await_change()),
        }
    });
    let mut wiring = seen.wiring("reader");
    wiring.concurrency(1);
    sims.manager()
        .settings(|settings| settings.grace = GRACE)
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            hang_kind(&server, "nodes");
            server.create(config("reads")).unwrap();
            running
                .until("it reads", async || seen.expect("a", "reads", 1))
                .await;
            sims.server("b").create(config("object")).unwrap();
            then(running, &seen, &server).await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_read_from_a_server_that_fell_silent_fails_at_its_deadline_and_frees_the_worker() {
    with_a_read_that_hangs(async |running, seen, server| {
        let limit = Limits::default().first_byte + SECOND;
        running
            .within(limit, "the worker is free", async || {
                seen.expect("b", "object", 1)
            })
            .await;
        let failures = running.controller("reader").last_failures();
        assert!(
            failures.iter().any(|failure| failure.request.contains("/reads")),
            "{failures:?}"
        );
        let asked = Instant::now();
        server.clear_hook();
        running
            .within(SECOND * 60, "it is read at last", async || {
                match running.controller("reader").queue() {
                    queue if queue.ready + queue.running + queue.delayed == 0 => Ok(()),
                    queue => Err(format!("{queue:?} after {:?}", asked.elapsed())),
                }
            })
            .await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_read_from_a_cluster_that_leaves_ends_with_its_grace_period() {
    with_a_read_that_hangs(async |running, seen, server| {
        running.sims.leave("a");
        running
            .within(GRACE + SECOND, "the worker is free", async || {
                seen.expect("b", "object", 1)?;
                match server.counters().open_requests {
                    0 if running.handle.fleet().get(&name("a")).is_none() => Ok(()),
                    open => Err(format!("{open} open requests")),
                }
            })
            .await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_hangs_before_its_headers_is_begun_again_and_holds_up_no_other_cluster() {
    let sims = Sims::of(["a", "b"]);
    let server = sims.server("a");
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let before = server.counters().kind("configmaps").watches;
            server.faults(Faults::none().on(Requests::watches(), Fault::hang()));
            server.disconnect_watches();
            server.create(config("unseen")).unwrap();
            for round in 0..300 {
                let object = format!("object-{round}");
                sims.server("b").create(config(&object)).unwrap();
                running
                    .within(SECOND, "the other works", async || seen.expect("b", &object, 1))
                    .await;
                sleep(SECOND).await;
            }
            // Each attempt is given up at its deadline, and the pauses between them grow.
            let attempts = server.counters().kind("configmaps").watches - before;
            assert!(
                (3..=15).contains(&attempts),
                "{attempts} attempts in five minutes"
            );
            server.clear_faults();
            running
                .within(SECOND * 120, "it goes on", async || seen.expect("a", "unseen", 1))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_always_fails_delays_no_event_of_another() {
    let sims = Sims::of(["a", "b"]);
    for server in sims.servers() {
        let failing = Requests::matching(|request| request.plural() == "secrets");
        server.faults(Faults::none().on(failing, Fault::status(500)));
    }
    let (seen, other): (Recorder, Recorder) = (Recorder::default(), Recorder::default());
    let mut wiring = other.wiring("with-secrets");
    wiring.owns::<Secret>(Watch::new());
    sims.manager()
        .controller(seen.controller("seen"))
        .controller(other.build(wiring))
        .run(async |running| {
            let server = sims.server("a");
            running
                .until("the watch is open", async || {
                    match server.counters().kind("configmaps").open_watches {
                        1 => Ok(()),
                        open => Err(format!("{open} watches")),
                    }
                })
                .await;
            let mut worst = Duration::ZERO;
            for event in 0..3_000 {
                let object = format!("object-{event}");
                let made = Instant::now();
                server.create(config(&object)).unwrap();
                while seen.last().is_none_or(|run| run.name != object) {
                    assert!(made.elapsed() < SECOND, "{object} is not reconciled");
                    sleep(Duration::from_millis(5)).await;
                }
                worst = worst.max(made.elapsed());
                sleep(Duration::from_millis(95)).await;
            }
            assert!(worst <= Duration::from_millis(50), "{worst:?}");
            assert_eq!(seen.requests().len(), 3_000);
        })
        .await;
}
