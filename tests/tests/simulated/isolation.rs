//! One bad cluster never hurts another: not a dead one, a slow one, a flooding one, nor one that refuses or lacks a
//! kind.

use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::core::DynamicObject;
use mcrt::{Action, ControllerBuilder, Health, Watch, WatchState};
use mcrt_sim::{Server, Verdict};
use mcrt_tests::{
    logs::Logs,
    simulated::{
        Recorder, Run, Running, Sims, config, fail_kind, hang, hang_kind, name, widget, widget_resource,
        widgets,
    },
};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

async fn all_reconciled(
    running: &Running<'_>,
    limit: Duration,
    seen: &Recorder,
    members: &[&str],
    object: &str,
) {
    running
        .within(limit, "the others are reconciled", async || {
            members
                .iter()
                .try_for_each(|member| match seen.count(member, object) {
                    0 => Err(format!("not {member}")),
                    _ => Ok(()),
                })
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn dead_clusters_delay_nobody() {
    let dead = ["dead-0", "dead-1", "dead-2", "dead-3"];
    let living = ["live-0", "live-1", "live-2", "live-3", "live-4", "live-5"];
    let sims = Sims::of(dead.into_iter().chain(living));
    for server in sims.servers() {
        for object in 0..if server.name().starts_with("dead") { 60 } else { 10 } {
            server.create(config(&format!("object-{object}"))).unwrap();
        }
    }
    let seen: Recorder = Recorder::default().doing(|call| async move {
        // A call to a dead server takes as long as it may.
        let _ = call.cx.client().apiserver_version().await;
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("ten-workers");
    wiring.concurrency(10);
    dead.iter().take(2).for_each(|member| hang(&sims.server(member)));
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            all_reconciled(running, SECOND * 2, &seen, &living, "object-9").await;
            // Two more die at work, with everything of theirs to do again.
            running
                .until("two more are at work", async || {
                    seen.expect("dead-3", "object-59", 1)
                })
                .await;
            for member in &dead[2..] {
                hang(&sims.server(member));
                let server = sims.server(member);
                server
                    .replace(mcrt_tests::simulated::with_data(config("object-1"), "key", "new"))
                    .unwrap();
            }
            for round in 0..30 {
                let object = format!("new-{round}");
                for member in living {
                    sims.server(member).create(config(&object)).unwrap();
                }
                all_reconciled(running, SECOND, &seen, &living, &object).await;
                sleep(SECOND).await;
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_hangs_is_removed_at_once_and_holds_up_no_other() {
    let sims = Sims::of([]);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            for whole in [true, false] {
                let dead = Server::new("a");
                if whole {
                    hang(&dead);
                } else {
                    hang_kind(&dead, "configmaps");
                }
                sims.put(&dead);
                sleep(SECOND).await;
                assert!(dead.counters().open_requests > 0, "it is being asked");
                let good = sims.join("b");
                good.create(config("object")).unwrap();
                running
                    .within(SECOND, "the other works", async || seen.expect("b", "object", 1))
                    .await;
                sims.leave("a");
                running
                    .within(SECOND, "it is gone", async || {
                        match dead.counters().open_requests {
                            0 if running.handle.fleet().get(&name("a")).is_none() => Ok(()),
                            open => Err(format!("{open} open requests")),
                        }
                    })
                    .await;
                sims.leave("b");
                seen.forget();
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn nineteen_clusters_start_while_the_first_hangs() {
    let names: Vec<_> = (0..20).map(|index| format!("cluster-{index:02}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let sims = Sims::of(names.iter().copied());
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    hang(&sims.server("cluster-00"));
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            all_reconciled(running, SECOND * 2, &seen, &names[1..], "object").await;
            sims.server("cluster-00").clear_hook();
            running
                .within(SECOND * 60, "it recovers", async || {
                    seen.expect("cluster-00", "object", 1)
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_costs_probes_and_each_key_runs_once_after_it() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    for object in 0..2_000 {
        server.create(config(&format!("object-{object}"))).unwrap();
    }
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("outage");
    wiring.resync(SECOND * 60);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            server.hook(|_| Verdict::Reset);
            server.disconnect_watches();
            running
                .until("it is found unreachable", async || {
                    match running.cluster("a").health() {
                        Health::Unreachable { .. } => Ok(()),
                        health => Err(health.to_string()),
                    }
                })
                .await;
            seen.forget();
            let asked = server.counters().requests;
            sleep(SECOND * 300).await;
            let asked = server.counters().requests - asked;
            assert!(asked < 200, "{asked} requests in five minutes");
            assert_eq!(seen.runs().len(), 0);
            server.clear_hook();
            running.settled().await;
            assert_eq!((seen.runs().len(), seen.requests().len()), (2_000, 2_000));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_kind_stops_only_those_who_need_it() {
    let sims = Sims::of(["a", "b"]);
    fail_kind(&sims.server("a"), "secrets", 403);
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let (without, with): (Recorder, Recorder) = (Recorder::default(), Recorder::default());
    let mut wiring = with.wiring("with-secrets");
    wiring.owns::<Secret>(Watch::new());
    sims.manager()
        .controller(without.controller("without-secrets"))
        .controller(with.build(wiring))
        .run(async |running| {
            running
                .until("one needs no secrets", async || without.expect("a", "object", 1))
                .await;
            running
                .until("b has them", async || with.expect("b", "object", 1))
                .await;
            running
                .until("a says so", async || {
                    is(running, "a", "secrets", WatchState::Forbidden)
                })
                .await;
            is(running, "a", "configmaps", WatchState::Synced).unwrap();
            with.expect("a", "object", 0).unwrap();
            sims.server("a").clear_hook();
            running
                .until("a serves them at last", async || with.expect("a", "object", 1))
                .await;
            running.settled().await;
            with.expect("a", "object", 1).unwrap();
        })
        .await;
}

fn is(running: &Running<'_>, cluster: &str, plural: &str, expected: WatchState) -> Result<(), String> {
    let watches = running.cluster(cluster).watches();
    let found = watches.iter().find(|(scope, _)| scope.resource.plural == plural);
    match found {
        Some((_, state)) if *state == expected => Ok(()),
        found => Err(format!("{plural} in {cluster}: {found:?}, not {expected}")),
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_may_appear_and_disappear_later() {
    let widget = widget("widget");
    let sims = Sims::of(["a", "b"]);
    sims.server("a").serve(widgets());
    sims.server("a").create(widget.clone()).unwrap();
    let seen: Recorder<DynamicObject> = Recorder::default();
    let mut wiring = ControllerBuilder::new("widgets");
    wiring.for_kind_with(widget_resource(), Watch::new());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("a has widgets", async || seen.expect("a", "widget", 1))
                .await;
            running
                .until("b has none", async || {
                    is(running, "b", "widgets", WatchState::Absent)
                })
                .await;
            let server = sims.server("b");
            server.serve(widgets());
            server.create(widget.clone()).unwrap();
            running
                .within(SECOND * 40, "b has them now", async || {
                    seen.expect("b", "widget", 1)
                })
                .await;
            server.unserve("example.com", "widgets");
            running
                .until("b has none again", async || {
                    is(running, "b", "widgets", WatchState::Absent)
                })
                .await;
            let asked = server.counters().requests;
            sleep(SECOND * 300).await;
            let asked = server.counters().requests - asked;
            assert!(asked < 100, "{asked} requests in five minutes");
            assert_eq!(server.counters().kind("widgets").open_watches, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_steady_stream_of_requeues_does_not_starve_a_new_cluster() {
    let sims = Sims::of(["busy"]);
    for object in 0..90 {
        sims.server("busy")
            .create(config(&format!("object-{object}")))
            .unwrap();
    }
    let seen: Recorder = Recorder::default().doing(|_| async {
        sleep(Duration::from_millis(15)).await;
        Ok(Action::requeue(SECOND))
    });
    let mut wiring = seen.wiring("one-worker");
    wiring.concurrency(1);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            sleep(SECOND * 10).await;
            let server = Server::new("new");
            for object in ["first", "second", "third"] {
                server.create(config(object)).unwrap();
            }
            sims.put(&server);
            for object in ["first", "second", "third"] {
                all_reconciled(running, SECOND * 5, &seen, &["new"], object).await;
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn hanging_reconciles_of_one_cluster_leave_permits_for_the_others() {
    let sims = Sims::of(["stuck", "b"]);
    for object in 0..100 {
        sims.server("stuck")
            .create(config(&format!("object-{object}")))
            .unwrap();
    }
    let seen: Recorder = Recorder::default().doing(|call| async move {
        if call.cluster() == "stuck" {
            sleep(SECOND * 3600).await;
        }
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("eight");
    wiring.concurrency(8).timeout(SECOND * 7200);
    sims.manager()
        .settings(|settings| settings.grace = SECOND)
        .controller(seen.build(wiring))
        .run(async |running| {
            sleep(SECOND * 5).await;
            for round in 0..20 {
                let object = format!("object-{round}");
                let began = Instant::now();
                sims.server("b").create(config(&object)).unwrap();
                all_reconciled(running, SECOND, &seen, &["b"], &object).await;
                assert!(
                    began.elapsed() < Duration::from_millis(200),
                    "{:?}",
                    began.elapsed()
                );
            }
            let stuck = seen.runs().iter().filter(|run| run.cluster == "stuck").count();
            assert!(stuck >= 2, "{stuck} run");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn no_more_run_at_once_than_a_cluster_and_the_controller_may() {
    let sims = Sims::of(["a", "b", "c"]);
    for server in sims.servers() {
        for object in 0..20 {
            server.create(config(&format!("object-{object}"))).unwrap();
        }
    }
    let seen: Recorder = Recorder::default().doing(|_| async {
        sleep(SECOND).await;
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("capped");
    wiring.concurrency(5).per_cluster(2);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            let runs = seen.runs();
            assert_eq!(runs.len(), 60);
            let during = |run: &Run| {
                let other = runs
                    .iter()
                    .filter(move |it| it.began <= run.began && it.ended > Some(run.began));
                let own = other.clone().filter(|it| it.cluster == run.cluster).count();
                (other.count(), own)
            };
            let (most, most_of_one) = runs
                .iter()
                .map(during)
                .fold((0, 0), |a, b| (a.0.max(b.0), a.1.max(b.1)));
            assert_eq!((most, most_of_one), (5, 2));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_past_its_deadline_is_dropped_and_tried_again() {
    let sims = Sims::of(["a"]);
    for object in ["endless", "quick"] {
        sims.server("a").create(config(object)).unwrap();
    }
    let seen: Recorder = Recorder::default().doing(|call| async move {
        if call.name() == "endless" && call.cx.attempt() < 2 {
            sleep(SECOND * 3600).await;
        }
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("deadline");
    wiring.timeout(SECOND * 2);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it is tried three times", async || seen.expect("a", "endless", 3))
                .await;
            running.settled().await;
            let first = &seen.of("a", "endless")[0];
            assert_eq!(first.ended.expect("it was dropped") - first.began, SECOND * 2);
            seen.expect("a", "quick", 1).unwrap();
            assert_eq!(running.controller("deadline").counters().timeouts, 2);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_lane_stays_shut_says_what_it_waits_for_again_and_again() {
    let logs = Logs::keep();
    let sims = Sims::of(["a"]);
    hang_kind(&sims.server("a"), "configmaps");
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("waiting"))
        .run(async |running| {
            running
                .until("it is said twice", async || {
                    match logs
                        .with(&["WARN", "controller=waiting", "cluster=a", "configmaps", "syncing"])
                        .len()
                    {
                        0 | 1 => Err(logs.text()),
                        _ => Ok(()),
                    }
                })
                .await;
        })
        .await;
}
