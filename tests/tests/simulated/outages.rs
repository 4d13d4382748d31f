//! A cluster that goes dark and comes back: how soon that is noticed, what it costs meanwhile, and what runs then.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams},
    runtime::reflector::ObjectRef,
};
use mcrt::{Action, ControllerBuilder, FleetEvent, Health, Place, Watch, connect::ConnectError};
use mcrt_sim::{Fault, Faults, Requests, Server, Verdict};
use mcrt_tests::{
    logs::Logs,
    simulated::{Call, Recorder, Running, Sims, config, hang, name, with_data},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// Asks the cluster where the work goes for the object.
async fn ask<const GONE: bool>(call: Call<ConfigMap, GONE>) -> mcrt::Result<Action> {
    let name = call.name().to_owned();
    Api::<ConfigMap>::namespaced(call.cx.client(), "default")
        .get_opt(&name)
        .await?;
    Ok(Action::await_change())
}

async fn health(running: &Running<'_>, cluster: &str, limit: Duration, expected: &str) -> Health {
    running
        .within(limit, &format!("{cluster} is {expected}"), async || match running
            .handle
            .fleet()
            .health(&name(cluster))
        {
            health if health.as_str() == expected => Ok(health),
            health => Err(health.to_string()),
        })
        .await
}

fn frozen(server: &Server) {
    server.partition();
}

fn refused(server: &Server) {
    server.faults(Faults::none().on(Requests::any(), Fault::refuse()));
    server.disconnect_watches();
}

fn silent(server: &Server) {
    hang(server);
}

fn back(server: &Server) {
    server.heal();
    server.clear_hook();
    server.clear_faults();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_goes_dark_is_noticed_within_twenty_seconds_and_back_within_ten() {
    let faults: [(&str, fn(&Server)); 3] = [("frozen", frozen), ("refused", refused), ("silent", silent)];
    let (mut slowest, mut slowest_back) = (Duration::ZERO, Duration::ZERO);
    for (fault, begin) in faults {
        let sims = Sims::of(["a"]);
        sims.server("a").create(config("object")).unwrap();
        let seen: Recorder = Recorder::default().doing(ask);
        sims.manager()
            .controller(seen.controller("seen"))
            .run(async |running| {
                running.settled().await;
                let server = sims.server("a");
                for round in 0..20_u64 {
                    // Anywhere between two probes, and long enough not to be taken for a flapping server.
                    sleep(SECOND * 61 + Duration::from_millis(round * 317)).await;
                    begin(&server);
                    let began = Instant::now();
                    health(running, "a", SECOND * 20, "unreachable").await;
                    slowest = slowest.max(began.elapsed());
                    sleep(Duration::from_millis(500 + round * 211)).await;
                    server
                        .replace(with_data(config("object"), "round", &round.to_string()))
                        .unwrap();
                    seen.forget();
                    back(&server);
                    let returned = Instant::now();
                    running
                        .within(SECOND * 10, &format!("{fault}: it works again"), async || {
                            seen.expect("a", "object", 1)
                        })
                        .await;
                    slowest_back = slowest_back.max(returned.elapsed());
                }
            })
            .await;
    }
    println!("noticed after {slowest:?} at most, worked again after {slowest_back:?} at most");
}

#[tokio::test(start_paused = true)]
async fn two_thousand_reconciles_that_fail_in_an_outage_cost_probes_and_each_succeeds_once_after_it() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    let server = sims.server("a");
    for object in 0..2_000 {
        server.create(config(&format!("object-{object}"))).unwrap();
    }
    sims.server("b").create(config("object")).unwrap();
    let succeeded = Arc::new(Mutex::new(Vec::new()));
    let done = succeeded.clone();
    let seen: Recorder = Recorder::default().doing(move |call| {
        let done = done.clone();
        async move {
            sleep(SECOND).await;
            let (cluster, name) = (call.cluster().to_owned(), call.name().to_owned());
            ask(call).await?;
            done.lock().push((cluster, name));
            Ok(Action::await_change())
        }
    });
    sims.manager()
        .controller(seen.controller("asks"))
        .run(async |running| {
            running
                .until("it is at work", async || match seen.runs().len() {
                    runs if runs > 300 => Ok(()),
                    runs => Err(format!("{runs} runs")),
                })
                .await;
            refused(&server);
            health(running, "a", SECOND * 20, "unreachable").await;
            sleep(SECOND * 10).await;
            seen.forget();
            let (asked, queue) = (server.counters().requests, running.controller("asks").queue());
            assert!(queue.ready > 1_000, "{queue:?}");
            sleep(SECOND * 290).await;
            let asked = server.counters().requests - asked;
            assert!(asked < 100, "{asked} requests in five minutes");
            assert_eq!(seen.runs().len(), 0, "{}", seen.summary());
            assert_eq!(running.controller("asks").queue().heap_bytes, queue.heap_bytes);
            let told = logs.with(&["WARN", "reconcile failed"]).len();
            assert!(told <= 64, "{told} failures told one by one");
            let once = logs.with(&["WARN", "reconciles fail because"]);
            assert_eq!(once.len(), 1, "{}", logs.text());
            back(&server);
            running.settled().await;
            let mut done = succeeded.lock().clone();
            assert_eq!(done.len(), 2_001);
            done.sort_unstable();
            done.dedup();
            assert_eq!(done.len(), 2_001, "one succeeded twice");
            assert_eq!(logs.with(&["INFO", "put_back", "the cluster is back"]).len(), 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_backs_off_is_tried_when_the_cluster_is_back_and_not_at_its_time() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let fails = Arc::new(AtomicBool::new(true));
    let asked = fails.clone();
    let seen: Recorder = Recorder::default().doing(move |_| {
        let fails = asked.load(Ordering::SeqCst);
        async move {
            if fails {
                return Err(mcrt::Error::retry_after("not now", Duration::from_hours(1)));
            }
            Ok(Action::requeue(Duration::from_hours(2)))
        }
    });
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running
                .until("it fails", async || seen.expect("a", "object", 1))
                .await;
            fails.store(false, Ordering::SeqCst);
            for runs in [2, 2] {
                refused(&server);
                health(running, "a", SECOND * 20, "unreachable").await;
                sleep(SECOND * 70).await;
                back(&server);
                health(running, "a", SECOND * 10, "ready").await;
                sleep(SECOND * 5).await;
                // The first time it has failed; after that it waits for a time that it asked for.
                seen.expect("a", "object", runs).unwrap();
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn requests_under_way_fail_when_the_outage_is_noticed() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default().doing(ask);
    sims.manager()
        .settings(|settings| settings.transport.limits.first_byte = SECOND * 600)
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            seen.forget();
            server.replace(with_data(config("object"), "key", "new")).unwrap();
            running
                .until("it is asked", async || seen.expect("a", "object", 1))
                .await;
            running.settled().await;
            seen.forget();
            hang(&server);
            let mut again = config("object");
            again["data"] = json!({"key": "newer"});
            server.replace(again).unwrap();
            running
                .until("it hangs", async || seen.expect("a", "object", 1))
                .await;
            let began = Instant::now();
            running
                .within(SECOND * 20, "it ends", async || {
                    let ended = seen.runs().iter().all(|run| run.ended.is_some());
                    ended.then_some(()).ok_or_else(|| "it hangs".to_owned())
                })
                .await;
            assert!(began.elapsed() <= SECOND * 20);
            back(&server);
            running
                .within(SECOND * 10, "it runs once more", async || {
                    seen.expect("a", "object", 2)
                })
                .await;
            running.settled().await;
            seen.expect("a", "object", 2).unwrap();
            assert_eq!(seen.of("a", "object")[1].attempt, 0, "nothing counts as failed");
        })
        .await;
}

/// Sends the work on the host's object to each cluster that becomes ready.
fn fan_out() -> ControllerBuilder<Recorder> {
    let mut wiring = ControllerBuilder::new("fan-out");
    wiring.for_kind(Watch::new().on(Place::Host).labels("mcrt.dev/test"));
    wiring.on_fleet(|_, event, cx| match event {
        FleetEvent::Health(cluster, Health::Ready) if !cluster.is_host() => {
            let host = cx.cluster().name().clone();
            let object = mcrt::ObjectKey::namespaced("default", "object");
            Some(mcrt::Request::<ConfigMap>::new(host, object).targeting(cluster.name().clone()))
        }
        _ => None,
    });
    wiring
}

#[tokio::test(start_paused = true)]
async fn work_that_needs_its_home_waits_for_it_and_its_target_goes_on() {
    let sims = Sims::of(["a"]);
    sims.host().create(config("object")).unwrap();
    sims.server("a").create(config("own")).unwrap();
    let seen: Recorder = Recorder::default().doing(|call| async move {
        // A report to where the object lives.
        let home = call.cx.host().client();
        let reports = Api::<ConfigMap>::namespaced(home, "default");
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"seen": "yes"}}}));
        reports.patch("object", &PatchParams::default(), &patch).await?;
        Ok(Action::await_change())
    });
    let wiring = fan_out();
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it is worked on in a", async || seen.expect("a", "object", 1))
                .await;
            running.settled().await;
            refused(sims.host());
            running
                .within(SECOND * 20, "the host is down", async || {
                    let host = running.handle.fleet().host().expect("a host");
                    let down = matches!(host.health(), Health::Unreachable { .. });
                    down.then_some(()).ok_or_else(|| host.health().to_string())
                })
                .await;
            seen.forget();
            // `a` becomes ready anew, which asks for the work there.
            assert!(running.handle.fleet().suspend(&name("a")));
            assert!(running.handle.fleet().resume(&name("a")));
            running
                .until("it is tried", async || seen.expect("a", "object", 1))
                .await;
            sleep(SECOND * 100).await;
            seen.expect("a", "object", 1).unwrap();
            back(sims.host());
            running
                .within(SECOND * 10, "it runs once the host is back", async || {
                    seen.expect("a", "object", 2)
                })
                .await;
            running.settled().await;
            seen.expect("a", "object", 2).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_open_the_breaker_before_any_probe_and_a_healthy_server_is_back_at_once() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            server.hook(|request| match request.path() {
                "/readyz" => Verdict::Pass,
                _ => Verdict::Reset,
            });
            let client = running.cluster("a").client();
            for _ in 0..5 {
                client.apiserver_version().await.unwrap_err();
            }
            let refused = client.apiserver_version().await.unwrap_err();
            assert!(
                matches!(
                    ConnectError::within(&refused),
                    Some(ConnectError::BreakerOpen { .. })
                ),
                "{refused}"
            );
            server.clear_hook();
            let began = Instant::now();
            health(running, "a", SECOND * 2, "ready").await;
            assert!(began.elapsed() < SECOND * 2);
            client.apiserver_version().await.unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_and_goes_does_not_move_the_lane_each_time() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let mut changes = running.cluster("a").health_changes();
            let mut moves = 0;
            for _ in 0..40 {
                refused(&server);
                sleep(SECOND * 12).await;
                back(&server);
                sleep(SECOND * 8).await;
                if changes.has_changed().unwrap() {
                    moves += 1;
                    changes.mark_unchanged();
                }
            }
            assert!(moves <= 8, "{moves} of 40 outages moved it");
            running
                .within(SECOND * 60, "it stays, and is ready", async || {
                    match running.cluster("a").health() {
                        Health::Ready => Ok(()),
                        health => Err(health.to_string()),
                    }
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_suspended_cluster_is_sent_nothing_but_probes_and_goes_on_when_it_is_resumed() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default().doing(ask);
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            let fleet = running.handle.fleet();
            assert!(!fleet.suspend(&name("nobody")));
            assert_eq!(fleet.health(&name("nobody")), Health::NotFound);
            running.settled().await;
            seen.forget();
            assert!(fleet.suspend(&name("a")));
            assert!(matches!(fleet.health(&name("a")), Health::Suspended { .. }));
            server.replace(with_data(config("object"), "key", "new")).unwrap();
            server.hook(|request| match request.path() {
                "/readyz" => Verdict::Pass,
                path => panic!("{path} is asked of a suspended cluster"),
            });
            sleep(SECOND * 300).await;
            seen.expect("a", "object", 0).unwrap();
            server.clear_hook();
            // Another life of the name is suspended as well.
            let other = sims.join("a");
            other.create(config("object")).unwrap();
            sleep(SECOND * 60).await;
            assert!(matches!(fleet.health(&name("a")), Health::Suspended { .. }));
            seen.expect("a", "object", 0).unwrap();
            assert!(fleet.resume(&name("a")));
            assert!(!fleet.resume(&name("a")));
            running
                .within(SECOND * 10, "it goes on", async || seen.expect("a", "object", 1))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_hub_object_is_reconciled_once_each_when_a_cluster_is_lost_returns_is_removed_and_is_added() {
    let sims = Sims::of(["a", "b"]);
    sims.host().create(config("hub")).unwrap();
    let seen: Recorder = Recorder::default();
    let mut wiring = ControllerBuilder::new("hub");
    wiring.for_kind(Watch::new().on(Place::Host).labels("mcrt.dev/test"));
    wiring.on_fleet(|_, event, _| {
        let tells = match event {
            FleetEvent::Health(cluster, Health::Lost { .. }) | FleetEvent::Disengaged(cluster) => {
                cluster.name().as_str() == "a"
            }
            _ => false,
        };
        tells.then(|| ObjectRef::<ConfigMap>::new("hub").within("default"))
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            let once = async |what: &str, limit: Duration| {
                running
                    .within(limit, what, async || seen.expect("host", "hub", 1))
                    .await;
                sleep(SECOND * 20).await;
                seen.expect("host", "hub", 1).unwrap();
                seen.forget();
            };
            running.settled().await;
            sleep(SECOND * 5).await;
            seen.forget();
            hang(&sims.server("a"));
            sleep(SECOND * 290).await;
            seen.expect("host", "hub", 0).unwrap();
            once("it is lost", SECOND * 40).await;
            // What is reconciled on the host is so for every cluster that becomes ready.
            back(&sims.server("a"));
            once("it returns", SECOND * 10).await;
            let server = sims.leave("a").unwrap();
            once("it is removed", SECOND).await;
            sims.put(&server);
            once("it is added", SECOND * 10).await;
        })
        .await;
}
