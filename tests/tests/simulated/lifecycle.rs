//! Clusters that leave and return, managers that stop: nothing is left behind.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{Action, ControllerBuilder, Epoch, Place, Watch};
use mcrt_sim::Server;
use mcrt_tests::simulated::{Call, Recorder, Sims, alive_tasks, config, name, nothing_left};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

const GRACE: Duration = Duration::from_secs(3);
const HOUR: Duration = Duration::from_hours(1);

#[tokio::test(start_paused = true)]
async fn a_cluster_that_leaves_takes_its_ten_thousand_delayed_keys_with_it() {
    let sims = Sims::of(["a"]);
    for object in 0..10_000 {
        sims.server("a")
            .create(config(&format!("object-{object}")))
            .unwrap();
    }
    let seen: Recorder = Recorder::default().doing(|_| async { Ok(Action::requeue(HOUR)) });
    sims.manager()
        .controller(seen.controller("patient"))
        .run(async |running| {
            let queue = || running.controller("patient").queue();
            let holds = async |keys: usize, lanes: usize| {
                running
                    .until("the keys are as many as expected", async || {
                        let queue = queue();
                        let found = (queue.delayed, queue.ready + queue.running, queue.lanes);
                        if found == (keys, 0, lanes) {
                            Ok(())
                        } else {
                            Err(format!("{queue:?}"))
                        }
                    })
                    .await;
            };
            holds(10_000, 1).await;
            let full = queue().heap_bytes;
            sims.leave("a");
            holds(0, 0).await;
            assert!(
                queue().heap_bytes < full / 4,
                "{} of {full} bytes are kept",
                queue().heap_bytes
            );
            let server = Server::new("a");
            for object in 0..3 {
                server.create(config(&format!("object-{object}"))).unwrap();
            }
            seen.forget();
            sims.put(&server);
            holds(3, 1).await;
            assert_eq!(seen.runs().len(), 3, "{seen:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn another_cluster_of_the_same_name_starts_from_nothing() {
    let sims = Sims::of(["a"]);
    let old = sims.server("a");
    old.create(config("only-old")).unwrap();
    old.create(config("both")).unwrap();
    let stores = Arc::new(Mutex::new(Vec::<(Epoch, Vec<String>)>::new()));
    let seen = Recorder::default().doing({
        let stores = stores.clone();
        move |call: Call| {
            let objects = call.cx.store::<ConfigMap>().list();
            let names = objects
                .iter()
                .filter_map(|object| object.metadata.name.clone())
                .collect();
            stores.lock().push((call.cx.cluster().epoch(), names));
            async { Ok(Action::requeue(HOUR)) }
        }
    });
    sims.manager()
        .controller(seen.controller("names"))
        .run(async |running| {
            running.settled().await;
            let before = running.cluster("a").epoch();
            seen.forget();
            let new = Server::new("a");
            let both = new.create(config("both")).unwrap();
            sims.put(&new);
            running
                .until("the new life is reconciled", async || seen.expect("a", "both", 1))
                .await;
            assert_ne!(running.cluster("a").epoch(), before);
            assert_eq!(
                seen.of("a", "both")[0].uid,
                both["metadata"]["uid"].as_str().unwrap()
            );
            assert_eq!(old.counters().open_requests, 0, "the old server is still asked");
            let stores = stores.lock();
            let mixed = stores
                .iter()
                .find(|(epoch, names)| *epoch != before && names.iter().any(|name| name == "only-old"));
            assert_eq!(mixed, None);
            assert_eq!(running.controller("names").queue().delayed, 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_may_come_and_go_many_times_while_it_lists_slowly() {
    let sims = Sims::of(["b"]);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            for round in 0..200_u64 {
                let server = Server::new("a");
                server.create(config("first")).unwrap();
                server.hook(|request| match request.verb() {
                    mcrt_sim::Verb::List => mcrt_sim::Verdict::Delay(Duration::from_millis(100)),
                    _ => mcrt_sim::Verdict::Pass,
                });
                sims.put(&server);
                sleep(Duration::from_millis(round % 130)).await;
                let asked = Instant::now();
                sims.leave("a");
                running
                    .within(Duration::from_secs(5), "it has left", async || {
                        let open = server.counters().open_requests;
                        let known = running.handle.fleet().get(&name("a"));
                        if open == 0 && known.is_none() {
                            Ok(())
                        } else {
                            Err(format!("{open} open, {known:?}"))
                        }
                    })
                    .await;
                assert!(asked.elapsed() < Duration::from_secs(5));
            }
            sims.join("a").create(config("last")).unwrap();
            running
                .until("it works at last", async || seen.expect("a", "last", 1))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_running_reconcile_gets_the_grace_period_and_no_more() {
    let sims = Sims::of(["a"]);
    for object in ["quick", "asked", "endless"] {
        sims.server("a").create(config(object)).unwrap();
    }
    let finished = Arc::new(Mutex::new(Vec::new()));
    let seen = Recorder::default().doing({
        let finished = finished.clone();
        move |call: Call| {
            let finished = finished.clone();
            async move {
                match call.name() {
                    "quick" => sleep(Duration::from_secs(2)).await,
                    "asked" => call.cx.cancelled().await,
                    _ => sleep(HOUR).await,
                }
                finished.lock().push(call.name().to_owned());
                Ok(Action::await_change())
            }
        }
    });
    let mut stopped = None;
    sims.manager()
        .settings(|settings| settings.grace = GRACE)
        .controller(seen.controller("slow"))
        .run(async |running| {
            let all_run = async || match seen.runs().len() {
                3 => Ok(()),
                runs => Err(format!("{runs} run")),
            };
            running.until("all three run", all_run).await;
            stopped = Some(Instant::now());
        })
        .await;
    let stopped = stopped.expect("the test ran");
    assert_eq!(*finished.lock(), ["asked", "quick"]);
    let end = |object| seen.of("a", object)[0].ended.expect("it was joined") - stopped;
    assert!(
        end("asked") < Duration::from_millis(100),
        "it is told at once: {:?}",
        end("asked")
    );
    assert!(
        end("endless") >= GRACE && end("endless") < GRACE * 2,
        "{:?}",
        end("endless")
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_leaves_gives_its_running_reconciles_the_grace_period() {
    let sims = Sims::of(["a", "b"]);
    for member in ["a", "b"] {
        sims.server(member).create(config("endless")).unwrap();
    }
    let seen: Recorder = Recorder::default().doing(|call| async move {
        if call.cluster() == "a" {
            sleep(HOUR).await;
        }
        Ok(Action::await_change())
    });
    sims.manager()
        .settings(|settings| settings.grace = GRACE)
        .controller(seen.controller("slow"))
        .run(async |running| {
            running
                .until("it runs", async || seen.expect("a", "endless", 1))
                .await;
            let asked = Instant::now();
            let left = sims.leave("a").expect("a member");
            running
                .until("nothing of it runs", async || {
                    match seen.of("a", "endless")[0].ended {
                        Some(_) if left.counters().open_requests == 0 => Ok(()),
                        ended => Err(format!("ended: {ended:?}")),
                    }
                })
                .await;
            let took = seen.of("a", "endless")[0].ended.expect("it ended") - asked;
            assert!(took >= GRACE && took < GRACE + Duration::from_secs(1), "{took:?}");
            sims.server("b").create(config("other")).unwrap();
            running
                .until("the other cluster works", async || seen.expect("b", "other", 1))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_is_dropped_while_it_runs_leaves_nothing() {
    let sims = Sims::of(["a", "b", "c"]);
    for server in sims.servers() {
        server.create(config("endless")).unwrap();
    }
    let tasks = alive_tasks();
    let seen: Recorder = Recorder::default().doing(|_| async {
        sleep(HOUR).await;
        Ok(Action::await_change())
    });
    let setup = sims
        .manager()
        .settings(|settings| settings.grace = Duration::from_millis(100));
    let manager = setup.controller(seen.controller("endless")).build().unwrap();
    let running = tokio::spawn(manager.run(std::future::pending()));
    mcrt_tests::eventually(Duration::from_mins(1), "all run", async || {
        match seen.runs().len() {
            3 => Ok(()),
            runs => Err(format!("{runs} run")),
        }
    })
    .await;
    running.abort();
    drop(running);
    nothing_left(&sims, tasks).await;
    assert!(
        seen.runs().iter().all(|run| run.ended.is_some()),
        "{:?}",
        seen.runs()
    );
}

#[tokio::test(start_paused = true)]
async fn a_second_controller_of_a_name_is_refused_and_the_first_goes_on() {
    let sims = Sims::of(["a"]);
    let (first, second): (Recorder, Recorder) = (Recorder::default(), Recorder::default());
    sims.manager()
        .controller(first.controller("same"))
        .run(async |running| {
            running.settled().await;
            let refused = running.handle.add(second.controller("same"));
            assert!(matches!(
                refused,
                Err(mcrt::StartError::DuplicateController { .. })
            ));
            sims.server("a").create(config("object")).unwrap();
            running
                .until("the first works", async || first.expect("a", "object", 1))
                .await;
            assert_eq!(second.runs().len(), 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_comes_after_the_end_is_refused() {
    let sims = Sims::of(["a"]);
    let seen: Recorder = Recorder::default();
    let mut handle = None;
    sims.manager()
        .run(async |running| {
            running.settled().await;
            handle = Some(running.handle.clone());
        })
        .await;
    let late = handle.expect("the test ran").add(seen.controller("late"));
    assert!(matches!(late, Err(mcrt::StartError::Stopping { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_never_runs_leaves_nothing() {
    let sims = Sims::of(["a"]);
    let tasks = alive_tasks();
    let seen: Recorder = Recorder::default();
    drop(
        sims.manager()
            .controller(seen.controller("idle"))
            .build()
            .unwrap(),
    );
    nothing_left(&sims, tasks).await;
}

/// A reconciler whose state can be looked for once it should be gone.
fn with_state() -> (Recorder, Weak<()>) {
    let state = Arc::new(());
    let trace = Arc::downgrade(&state);
    let seen = Recorder::default().doing(move |_| {
        let held = state.clone();
        async move {
            drop(held);
            Ok(Action::await_change())
        }
    });
    (seen, trace)
}

#[tokio::test(start_paused = true)]
async fn what_a_controller_held_is_dropped_with_the_manager_that_ran_it() {
    let sims = Sims::of(["a"]);
    sims.server("a").create(config("object")).unwrap();
    let (seen, state) = with_state();
    let mut handle = None;
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running
                .until("it works", async || seen.expect("a", "object", 1))
                .await;
            handle = Some(running.handle.clone());
        })
        .await;
    drop(seen);
    assert!(handle.is_some());
    assert_eq!(state.strong_count(), 0, "the reconciler is still there");
}

#[tokio::test(start_paused = true)]
async fn what_a_controller_held_is_dropped_with_a_manager_that_never_ran_or_was_dropped() {
    let sims = Sims::of(["a"]);
    let (seen, state) = with_state();
    let build = || {
        sims.manager()
            .controller(seen.controller("seen"))
            .build()
            .unwrap()
    };
    drop(build());
    let running = tokio::spawn(build().run(std::future::pending()));
    sleep(Duration::from_secs(10)).await;
    running.abort();
    drop(seen);
    mcrt_tests::eventually(Duration::from_mins(1), "it is dropped", async || {
        match state.strong_count() {
            0 => Ok(()),
            count => Err(format!("held {count} times")),
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_host_stored_is_dropped_with_the_manager() {
    let sims = Sims::of([]);
    sims.host().create(config("object")).unwrap();
    let stored = Arc::new(Mutex::new(Weak::<ConfigMap>::new()));
    let seen: Recorder = Recorder::default().doing({
        let stored = stored.clone();
        move |call| {
            *stored.lock() = Arc::downgrade(&call.object);
            async { Ok(Action::await_change()) }
        }
    });
    let mut wiring = ControllerBuilder::new("seen");
    wiring.for_kind(Watch::new().on(Place::Host));
    let mut handle = None;
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it works", async || seen.expect("host", "object", 1))
                .await;
            handle = Some(running.controller("seen"));
        })
        .await;
    assert!(handle.is_some());
    assert_eq!(stored.lock().strong_count(), 0, "the store is still there");
}

#[tokio::test(start_paused = true)]
async fn a_resync_that_no_clock_can_count_to_is_never() {
    let sims = Sims::of(["a"]);
    sims.server("a").create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("seen");
    wiring.resync(Duration::MAX).timeout(Duration::MAX);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it works", async || seen.expect("a", "object", 1))
                .await;
        })
        .await;
}
