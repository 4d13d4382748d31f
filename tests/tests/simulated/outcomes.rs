//! What follows a reconcile: retries, waits, giving up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::{Action, Backoff, Context, ControllerBuilder, Error, HandWired, Reconciler, Watch};
use mcrt_sim::ServedKind;
use mcrt_tests::{
    logs::Logs,
    simulated::{Call, Recorder, Run, Sims, config, with_data},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_hours(1);

pub(crate) fn plain() -> Backoff {
    Backoff {
        initial: SECOND,
        jitter: false,
        ..Backoff::default()
    }
}

/// From the end of each run to the beginning of the next, in whole seconds.
pub(crate) fn pauses(runs: &[Run]) -> Vec<u64> {
    let ends = runs.iter().map(|run| run.ended.expect("it has ended"));
    let begins = runs.iter().skip(1).map(|run| run.began);
    ends.zip(begins)
        .map(|(end, begin)| (begin - end).as_secs())
        .collect()
}

pub(crate) fn one_object() -> Sims {
    let sims = Sims::of(["a"]);
    sims.server("a").create(config("object")).unwrap();
    sims
}

fn change(sims: &Sims, value: &str) {
    sims.server("a")
        .replace(with_data(config("object"), "change", value))
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_keeps_failing_waits_longer_each_time_until_it_succeeds() {
    let sims = one_object();
    let failing = Arc::new(AtomicUsize::new(5));
    let seen: Recorder = Recorder::default().doing({
        let failing = failing.clone();
        move |_| {
            let fails = failing
                .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                .is_ok();
            async move {
                if fails {
                    Err(Error::msg("not yet"))
                } else {
                    Ok(Action::await_change())
                }
            }
        }
    });
    let mut wiring = seen.wiring("failing");
    wiring.error_policy(plain());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it succeeds", async || seen.expect("a", "object", 6))
                .await;
            running.settled().await;
            assert_eq!(pauses(&seen.runs()), [1, 2, 4, 8, 16]);
            let attempts: Vec<_> = seen.runs().iter().map(|run| run.attempt).collect();
            assert_eq!(attempts, [0, 1, 2, 3, 4, 5]);
            seen.forget();
            failing.store(1, Relaxed);
            change(&sims, "new");
            running
                .until("it fails and succeeds again", async || {
                    seen.expect("a", "object", 2)
                })
                .await;
            running.settled().await;
            assert_eq!(pauses(&seen.runs()), [1], "the success has reset the backoff");
            assert_eq!(running.controller("failing").counters().errors, 6);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn another_object_of_the_same_name_starts_with_a_fresh_backoff() {
    let sims = one_object();
    let seen: Recorder = Recorder::default().doing(|_| async { Err(Error::msg("never")) });
    let mut wiring = seen.wiring("failing");
    wiring.error_policy(plain());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it has failed often", async || seen.expect("a", "object", 5))
                .await;
            sims.server("a")
                .delete("v1", "ConfigMap", Some("default"), "object")
                .unwrap();
            sims.server("a").create(config("object")).unwrap();
            running
                .until("the new one fails", async || seen.expect("a", "object", 7))
                .await;
            let attempts: Vec<_> = seen.runs().iter().map(|run| run.attempt).skip(5).collect();
            assert_eq!(attempts, [0, 1]);
            assert_eq!(pauses(&seen.runs()[5..]), [1]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_has_used_up_its_retries_waits_for_a_change() {
    let sims = one_object();
    let seen: Recorder = Recorder::default().doing(|_| async { Err(Error::msg("never")) });
    let mut wiring = seen.wiring("failing");
    wiring.error_policy(Backoff {
        retries: Some(3),
        ..plain()
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it is given up", async || seen.expect("a", "object", 4))
                .await;
            sleep(HOUR).await;
            seen.expect("a", "object", 4).unwrap();
            change(&sims, "new");
            running
                .until("a change is worked on", async || seen.expect("a", "object", 5))
                .await;
            assert_eq!(seen.runs()[4].attempt, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_error_that_gives_up_waits_for_a_change() {
    let sims = one_object();
    let seen: Recorder = Recorder::default().doing(|_| async { Err(Error::give_up("hopeless")) });
    sims.manager()
        .controller(seen.controller("hopeless"))
        .run(async |running| {
            running.settled().await;
            sleep(HOUR).await;
            seen.expect("a", "object", 1).unwrap();
            assert_eq!(running.controller("hopeless").queue().delayed, 0);
            change(&sims, "new");
            running
                .until("a change is worked on", async || seen.expect("a", "object", 2))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn delays_that_are_asked_for_are_kept_and_a_change_cuts_them_short() {
    let sims = one_object();
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        match call
            .object
            .data
            .as_ref()
            .and_then(|data| data.get("change"))
            .map_or("", String::as_str)
        {
            "" => Err(Error::retry_after("in a minute", SECOND * 60)),
            "requeue" => Ok(Action::requeue(SECOND * 90)),
            _ => Ok(Action::await_change()),
        }
    });
    sims.manager()
        .controller(seen.controller("delays"))
        .run(async |running| {
            running
                .until("it is tried again", async || seen.expect("a", "object", 2))
                .await;
            running.settled().await;
            assert_eq!(pauses(&seen.runs()), [60]);
            seen.forget();
            change(&sims, "requeue");
            running
                .within(SECOND, "the change cuts the delay", async || {
                    seen.expect("a", "object", 1)
                })
                .await;
            running
                .until("it is requeued", async || seen.expect("a", "object", 2))
                .await;
            running.settled().await;
            assert_eq!(pauses(&seen.runs()), [90]);
            assert_eq!(seen.runs()[1].attempt, 0, "a requeue is no failure");
            change(&sims, "done");
            running
                .within(SECOND, "the change cuts the delay", async || {
                    seen.expect("a", "object", 3)
                })
                .await;
            running.settled().await;
            assert_eq!(running.controller("delays").queue().delayed, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn everything_is_reconciled_again_at_each_resync() {
    let sims = Sims::of(["a", "b"]);
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("resync");
    wiring.resync(SECOND * 10);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            sleep(SECOND * 35).await;
            running.settled().await;
            for member in ["a", "b"] {
                assert_eq!(seen.count(member, "object"), 4, "{seen:?}");
            }
        })
        .await;
}

/// Lets its own policy decide.
struct Policy(Arc<Mutex<Vec<Instant>>>);
impl HandWired for Policy {}
impl Reconciler for Policy {
    type Object = ConfigMap;
    const ERROR_POLICY: bool = true;

    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        self.0.lock().push(Instant::now());
        match cx.request().object().name.as_ref() {
            "hopeless" => Err(Error::give_up("hopeless")),
            _ => Err(Error::msg("not yet")),
        }
    }

    fn error_policy(&self, object: Arc<ConfigMap>, error: &Error, cx: Context<Self>) -> Action {
        assert_eq!(error.to_string(), "not yet");
        assert_eq!(
            object.metadata.name.as_deref(),
            Some(&*cx.request().object().name)
        );
        Action::requeue(SECOND * 7)
    }
}

#[tokio::test(start_paused = true)]
async fn the_authors_error_policy_is_asked_instead_of_the_errors_class() {
    let sims = one_object();
    let runs = Arc::default();
    let mut wiring = ControllerBuilder::new("policy");
    wiring.for_kind(Watch::new().labels("mcrt.dev/test"));
    let controller = wiring.build(Policy(Arc::clone(&runs))).unwrap();
    sims.manager()
        .controller(controller)
        .run(async |running| {
            running
                .until("it runs three times", async || match runs.lock().len() {
                    0..3 => Err("not yet".to_owned()),
                    _ => Ok(()),
                })
                .await;
            let runs = runs.lock().clone();
            assert_eq!((runs[1] - runs[0]).as_secs(), 7);
            assert_eq!((runs[2] - runs[1]).as_secs(), 7);
        })
        .await;
}

/// Reads a Secret that its type does not fit.
struct Reads;

impl HandWired for Reads {}

impl Reconciler for Reads {
    type Object = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        cx.get::<Secret>("keys").await?;
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_does_not_decode_is_logged_without_the_value() {
    let logs = Logs::keep();
    let sims = one_object();
    let keys = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "keys", "namespace": "default" }, "immutable": "hunter2",
    });
    // A server of a later version, say, where the field is a text: this one refuses what does not fit its own type.
    let server = sims.server("a");
    server.unserve("", "secrets");
    server.serve(ServedKind {
        group: String::new(),
        version: "v1".into(),
        kind: "Secret".into(),
        plural: "secrets".into(),
        namespaced: true,
        status_subresource: false,
    });
    server.create(keys).unwrap();
    let mut wiring = ControllerBuilder::new("reads");
    wiring.for_kind(Watch::new().labels("mcrt.dev/test"));
    sims.manager()
        .controller(wiring.build(Reads).unwrap())
        .run(async |running| {
            let failed = running
                .until("it has failed", async || {
                    let failed = logs.with(&["reconcile failed"]);
                    failed.first().cloned().ok_or_else(|| logs.text())
                })
                .await;
            assert!(failed.contains("does not fit its type"), "{failed}");
            // kube's client logs the whole body: a program turns that target off, as `mcrt::run` does.
            let ours = logs.text();
            let mut ours = ours.lines().filter(|line| !line.contains("kube_client"));
            assert!(ours.all(|line| !line.contains("hunter2")), "{logs:?}");
        })
        .await;
}
