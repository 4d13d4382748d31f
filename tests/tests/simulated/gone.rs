//! Leave taken of what is gone.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{Action, Error};
use mcrt_tests::{
    logs::Logs,
    simulated::{Call, Recorder, Run, Sims, What, config},
};
use tokio::time::sleep;

use crate::outcomes::{HOUR, SECOND, one_object, pauses, plain};

type Mourner = Recorder<ConfigMap, true>;
type GoneCall = Call<ConfigMap, true>;

fn delete(sims: &Sims) {
    sims.server("a")
        .delete("v1", "ConfigMap", Some("default"), "object")
        .unwrap();
}

fn gone(seen: &Mourner) -> Vec<Run> {
    let mut runs = seen.of("a", "object");
    runs.retain(|run| run.what == What::Gone);
    runs
}

fn gone_times(seen: &Mourner, times: usize) -> Result<(), String> {
    let runs = gone(seen).len();
    (runs == times)
        .then_some(())
        .ok_or_else(|| format!("gone {runs} times, not {times}"))
}

#[tokio::test(start_paused = true)]
async fn leave_is_taken_of_a_deleted_object_once_after_its_running_reconcile() {
    let sims = one_object();
    let seen = Mourner::default().doing(|_| async {
        sleep(SECOND * 2).await;
        Ok(Action::requeue(HOUR))
    });
    sims.manager()
        .controller(seen.controller("mourner"))
        .run(async |running| {
            running
                .until("it runs", async || seen.expect("a", "object", 1))
                .await;
            delete(&sims);
            running
                .until("leave is taken", async || gone_times(&seen, 1))
                .await;
            sims.server("a").expire_watches();
            sleep(SECOND * 60).await;
            gone_times(&seen, 1).unwrap();
            seen.expect("a", "object", 1).unwrap();
            assert_eq!(seen.most_at_once(), 1);
            let queue = running.controller("mourner").queue();
            assert_eq!((queue.delayed, queue.ready), (0, 0), "nothing of it is kept");
            assert_eq!(running.controller("mourner").counters().gone, 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_leave_that_fails_is_tried_again_until_it_is_taken() {
    let sims = one_object();
    let seen = Mourner::default().on_gone(|call: GoneCall| async move {
        match call.cx.attempt() {
            0 | 1 => Err(Error::msg("not yet")),
            _ => Ok(()),
        }
    });
    let mut wiring = seen.wiring("mourner");
    wiring.error_policy(plain());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            delete(&sims);
            running
                .until("leave is taken", async || gone_times(&seen, 3))
                .await;
            sleep(SECOND * 60).await;
            assert_eq!(pauses(&gone(&seen)), [1, 2]);
            assert_eq!(running.controller("mourner").counters().gone, 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_returns_before_its_key_runs_is_mourned_and_then_reconciled() {
    let sims = one_object();
    let seen = Mourner::default().doing(|_| async {
        sleep(SECOND * 2).await;
        Ok(Action::await_change())
    });
    sims.manager()
        .controller(seen.controller("mourner"))
        .run(async |running| {
            running
                .until("it runs", async || seen.expect("a", "object", 1))
                .await;
            delete(&sims);
            let second = sims.server("a").create(config("object")).unwrap();
            running
                .until("the second one is reconciled", async || {
                    seen.expect("a", "object", 2)
                })
                .await;
            running.settled().await;
            let runs = seen.runs();
            let order: Vec<_> = runs
                .iter()
                .map(|run| (run.what, second["metadata"]["uid"] == run.uid))
                .collect();
            let expected = [
                (What::Reconcile, false),
                (What::Gone, false),
                (What::Reconcile, true),
            ];
            assert_eq!(order, expected);
            assert_eq!(seen.most_at_once(), 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn leave_is_taken_of_the_object_that_was_met_whatever_came_and_went_after_it() {
    let sims = one_object();
    let seen = Mourner::default().doing(|_| async {
        sleep(SECOND * 2).await;
        Ok(Action::await_change())
    });
    sims.manager()
        .controller(seen.controller("mourner"))
        .run(async |running| {
            running
                .until("it runs", async || seen.expect("a", "object", 1))
                .await;
            for _ in 0..3 {
                delete(&sims);
                sleep(SECOND / 10).await;
                sims.server("a").create(config("object")).unwrap();
                sleep(SECOND / 10).await;
            }
            delete(&sims);
            running
                .until("leave is taken", async || gone_times(&seen, 1))
                .await;
            running.settled().await;
            let runs = seen.runs();
            let order: Vec<_> = runs
                .iter()
                .map(|run| (run.what, run.uid == runs[0].uid))
                .collect();
            assert_eq!(order, [(What::Reconcile, true), (What::Gone, true)]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_a_relist_finds_is_mourned_and_a_replacement_too() {
    let sims = one_object();
    let server = sims.server("a");
    server.create(config("stays")).unwrap();
    let seen = Mourner::default();
    sims.manager()
        .controller(seen.controller("mourner"))
        .run(async |running| {
            running.settled().await;
            server.hook(|request| match request.verb() {
                mcrt_sim::Verb::Watch => mcrt_sim::Verdict::fail(503),
                _ => mcrt_sim::Verdict::Pass,
            });
            server.disconnect_watches();
            sleep(SECOND).await;
            delete(&sims);
            server.create(config("object")).unwrap();
            server.compact();
            server.clear_hook();
            running
                .until("the second one is reconciled", async || {
                    seen.expect("a", "object", 2)
                })
                .await;
            running.settled().await;
            gone_times(&seen, 1).unwrap();
            seen.expect("a", "stays", 1).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn objects_of_a_cluster_that_leaves_are_not_gone() {
    let sims = one_object();
    let seen = Mourner::default();
    sims.manager()
        .controller(seen.controller("mourner"))
        .run(async |running| {
            running.settled().await;
            let old = sims.leave("a").unwrap();
            running
                .until("it has left", async || {
                    match running.controller("mourner").queue().lanes {
                        0 => Ok(()),
                        lanes => Err(format!("{lanes} lanes")),
                    }
                })
                .await;
            sims.put(&old);
            running
                .until("it is back", async || seen.expect("a", "object", 2))
                .await;
            gone_times(&seen, 0).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_is_seen_as_a_change_before_the_object_is_gone() {
    let sims = Sims::of(["a"]);
    let mut object = config("object");
    object["metadata"]["finalizers"] = serde_json::json!(["mcrt.dev/test"]);
    sims.server("a").create(object).unwrap();
    let marked = Arc::new(AtomicBool::new(false));
    let seen = Mourner::default().doing({
        let marked = marked.clone();
        move |call: GoneCall| {
            if call.object.metadata.deletion_timestamp.is_some() {
                marked.store(true, Relaxed);
            }
            async { Ok(Action::await_change()) }
        }
    });
    sims.manager()
        .controller(seen.controller("mourner"))
        .run(async |running| {
            running.settled().await;
            delete(&sims);
            running
                .until("the mark is seen", async || seen.expect("a", "object", 2))
                .await;
            assert!(marked.load(Relaxed));
            gone_times(&seen, 0).unwrap();
            let change = serde_json::json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": "object", "namespace": "default", "finalizers": [] },
            });
            sims.server("a").merge(change).unwrap();
            running
                .until("leave is taken", async || gone_times(&seen, 1))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_leave_whose_retries_are_used_up_does_not_stand_before_a_later_object() {
    let logs = Logs::keep();
    let sims = one_object();
    let seen = Mourner::default()
        .on_gone(|_| async { Err(Error::msg("never")) })
        .doing(|call: GoneCall| async move {
            match call.cx.attempt() {
                0 | 1 => Err(Error::msg("not yet")),
                _ => Ok(Action::await_change()),
            }
        });
    let mut wiring = seen.wiring("mourner");
    wiring.error_policy(mcrt::Backoff {
        retries: Some(2),
        ..plain()
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it succeeds", async || seen.expect("a", "object", 3))
                .await;
            delete(&sims);
            running
                .until("leave is tried", async || gone_times(&seen, 3))
                .await;
            running
                .until("the end of it is reported", async || {
                    match logs
                        .with(&["ERROR", "object=default/object", "no leave is taken"])
                        .len()
                    {
                        1 => Ok(()),
                        _ => Err(logs.text()),
                    }
                })
                .await;
            sleep(HOUR).await;
            sims.server("a").create(config("object")).unwrap();
            running
                .until("the new one is reconciled, with all its retries", async || {
                    seen.expect("a", "object", 6)
                })
                .await;
            gone_times(&seen, 3).unwrap();
            assert_eq!(running.controller("mourner").counters().gone, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_returned_keeps_all_its_retries_after_a_leave_that_failed() {
    let sims = one_object();
    let seen = Mourner::default()
        .on_gone(|call: GoneCall| async move {
            match call.cx.attempt() {
                0 | 1 => Err(Error::msg("not yet")),
                _ => Ok(()),
            }
        })
        .doing(|_| async { Err(Error::msg("never")) });
    let mut wiring = seen.wiring("mourner");
    wiring.error_policy(mcrt::Backoff {
        retries: Some(2),
        ..plain()
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it is given up", async || seen.expect("a", "object", 3))
                .await;
            delete(&sims);
            running
                .until("leave is tried", async || gone_times(&seen, 1))
                .await;
            sims.server("a").create(config("object")).unwrap();
            running
                .until("the new one is tried as often", async || {
                    seen.expect("a", "object", 6)
                })
                .await;
            let runs = seen.runs();
            let attempts: Vec<_> = runs[runs.len() - 3..].iter().map(|run| run.attempt).collect();
            assert_eq!(attempts, [0, 1, 2]);
        })
        .await;
}
