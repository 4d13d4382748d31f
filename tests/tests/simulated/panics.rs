//! A panic in the author's code fails that item alone, and is counted and logged with its cluster and object.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Resource as _, runtime::reflector::ObjectRef};
use mcrt::{Action, Context, ControllerBuilder, FleetEvent, HandWired, Reconciler, Watch, fleet::Step};
use mcrt_tests::{
    logs::Logs,
    simulated::{Call, Recorder, Running, Sims, config, secret, with_data},
};

/// Panics if the object is the bad one.
fn fine(object: &impl kube::Resource) {
    assert_ne!(object.meta().name.as_deref(), Some("bad"), "a bad object");
}

async fn reported(running: &Running<'_>, logs: &Logs, words: &[&str]) {
    running
        .until("the panic is reported", async || match logs.with(words).len() {
            0 => Err(logs.text()),
            _ => Ok(()),
        })
        .await;
    assert!(running.controller("panics").counters().panics > 0);
}

fn good_and_bad() -> Sims {
    let sims = Sims::of(["a"]);
    for object in ["bad", "good"] {
        sims.server("a").create(config(object)).unwrap();
    }
    sims
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_reconcile_is_tried_again_and_fails_that_object_alone() {
    let logs = Logs::keep();
    let sims = good_and_bad();
    let seen: Recorder = Recorder::default().doing(|call| async move {
        if call.cx.attempt() < 2 {
            fine(&*call.object);
        }
        Ok(Action::await_change())
    });
    sims.manager()
        .controller(seen.controller("panics"))
        .run(async |running| {
            running
                .until("the other is reconciled", async || seen.expect("a", "good", 1))
                .await;
            running
                .until("it is tried again", async || seen.expect("a", "bad", 3))
                .await;
            reported(
                running,
                &logs,
                &["ERROR", "cluster=a", "object=default/bad", "a bad object"],
            )
            .await;
            assert_eq!(running.controller("panics").counters().panics, 2);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_gone_is_tried_again_and_fails_that_object_alone() {
    let logs = Logs::keep();
    let sims = good_and_bad();
    let seen: Recorder<ConfigMap, true> = Recorder::default().on_gone(|call| async move {
        if call.cx.attempt() == 0 {
            fine(&*call.object);
        }
        Ok(())
    });
    sims.manager()
        .controller(seen.controller("panics"))
        .run(async |running| {
            running.settled().await;
            for object in ["bad", "good"] {
                sims.server("a")
                    .delete("v1", "ConfigMap", Some("default"), object)
                    .unwrap();
            }
            running
                .until("both are taken leave of", async || {
                    match running.controller("panics").counters().gone {
                        2 => Ok(()),
                        gone => Err(format!("{gone} gone")),
                    }
                })
                .await;
            reported(
                running,
                &logs,
                &["ERROR", "cluster=a", "object=default/bad", "a bad object"],
            )
            .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_map_fails_that_change_alone() {
    let logs = Logs::keep();
    let sims = good_and_bad();
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("panics");
    wiring.watches(Watch::<Secret>::new(), |_, secret, _| {
        fine(secret);
        let name = secret.meta().name.as_deref().unwrap_or_default();
        Some(ObjectRef::<ConfigMap>::new(name).within("default"))
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            for object in ["bad", "good"] {
                sims.server("a").create(secret(object)).unwrap();
            }
            running
                .until("the other is mapped", async || seen.expect("a", "good", 2))
                .await;
            seen.expect("a", "bad", 1).unwrap();
            reported(
                running,
                &logs,
                &["ERROR", "cluster=a", "object=default/bad", "a bad object"],
            )
            .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_predicate_fails_that_change_alone() {
    let logs = Logs::keep();
    let sims = good_and_bad();
    let seen: Recorder = Recorder::default();
    let mut wiring = ControllerBuilder::new("panics");
    wiring.for_kind(Watch::new().predicate(|_, object: &ConfigMap| {
        fine(object);
        true
    }));
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("the other is reconciled", async || seen.expect("a", "good", 1))
                .await;
            seen.expect("a", "bad", 0).unwrap();
            reported(
                running,
                &logs,
                &["ERROR", "cluster=a", "object=default/bad", "a bad object"],
            )
            .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_an_index_leaves_that_object_out() {
    let logs = Logs::keep();
    let sims = good_and_bad();
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("panics");
    let by_name = wiring.index("by_name", |object: &ConfigMap| {
        fine(object);
        object.metadata.name.clone()
    });
    wiring.watches(Watch::<Secret>::new(), move |_, secret, cx| {
        cx.index(by_name)
            .requests(secret.meta().name.as_ref().unwrap_or(&String::new()))
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            for object in ["bad", "good"] {
                seen.expect("a", object, 1).unwrap();
                sims.server("a").create(secret(object)).unwrap();
            }
            running
                .until("the other is found", async || seen.expect("a", "good", 2))
                .await;
            seen.expect("a", "bad", 1).unwrap();
            running
                .until("the panic is reported", async || {
                    match logs.with(&["ERROR", "cluster=a", "default/bad"]).len() {
                        0 => Err(logs.text()),
                        _ => Ok(()),
                    }
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_map_of_fleet_events_fails_that_event_alone() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    for member in ["a", "b"] {
        sims.server(member).create(config("object")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("panics");
    wiring.on_fleet(|_, event, _| {
        let about = event.cluster().map(|cluster| cluster.name().as_str());
        assert!(
            !matches!(event, FleetEvent::Health(..)) || about != Some("a"),
            "a bad event"
        );
        Some(ObjectRef::<ConfigMap>::new("object").within("default"))
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            reported(running, &logs, &["ERROR", "panics", "Cluster(a", "a bad event"]).await;
            for member in ["a", "b"] {
                sims.server(member).create(config("later")).unwrap();
                running
                    .until("both work", async || seen.expect(member, "later", 1))
                    .await;
            }
        })
        .await;
}

/// Fails at first, and its policy panics over the bad object.
struct Policy;
impl HandWired for Policy {}
impl Reconciler for Policy {
    type Object = ConfigMap;
    const ERROR_POLICY: bool = true;

    async fn reconcile(&self, object: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        match cx.attempt() {
            0 => Err(mcrt::Error::msg(format!(
                "{:?} is not ready",
                object.metadata.name
            ))),
            _ => Ok(Action::await_change()),
        }
    }

    fn error_policy(&self, object: Arc<ConfigMap>, _: &mcrt::Error, _: Context<Self>) -> Action {
        fine(&*object);
        Action::requeue(Duration::from_secs(9))
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_error_policy_falls_back_to_the_backoff() {
    let logs = Logs::keep();
    let sims = good_and_bad();
    let mut wiring = ControllerBuilder::new("panics");
    wiring.for_kind(Watch::new().labels("mcrt.dev/test"));
    let controller = wiring.build(Policy).unwrap();
    sims.manager()
        .controller(controller)
        .run(async |running| {
            reported(
                running,
                &logs,
                &["ERROR", "cluster=a", "object=default/bad", "a bad object"],
            )
            .await;
            running
                .until("the bad one has been tried again", async || {
                    match running.controller("panics").queue().succeeded {
                        0 | 1 => Err("not yet".to_owned()),
                        _ => Ok(()),
                    }
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_change_after_a_panic_is_worked_on() {
    let sims = good_and_bad();
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        if call.object.data.is_none() {
            fine(&*call.object);
        }
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("panics");
    wiring.error_policy(mcrt::Backoff {
        initial: Duration::from_hours(1),
        max: Duration::from_hours(1),
        ..mcrt::Backoff::default()
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            sims.server("a")
                .replace(with_data(config("bad"), "key", "new"))
                .unwrap();
            running
                .until("it is reconciled at once", async || seen.expect("a", "bad", 2))
                .await;
            running.settled().await;
            assert_eq!(running.controller("panics").queue().delayed, 0);
        })
        .await;
}

/// Panics before there is a future.
struct Eager;
impl HandWired for Eager {}
impl Reconciler for Eager {
    type Object = ConfigMap;

    fn reconcile(
        &self,
        object: Arc<ConfigMap>,
        _: Context<Self>,
    ) -> impl Future<Output = mcrt::Result<Action>> + Send {
        fine(&*object);
        std::future::ready(Ok(Action::await_change()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_future_of_a_reconcile_exists_is_a_panic_like_any_other() {
    let logs = Logs::keep();
    let sims = good_and_bad();
    let mut wiring = ControllerBuilder::new("panics");
    wiring.for_kind(Watch::new().labels("mcrt.dev/test"));
    let controller = wiring.build(Eager).unwrap();
    sims.manager()
        .controller(controller)
        .run(async |running| {
            reported(
                running,
                &logs,
                &["ERROR", "cluster=a", "object=default/bad", "a bad object"],
            )
            .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_supervision_of_a_cluster_is_logged_and_ends_that_life_alone() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    sims.manager()
        .settings(|settings| {
            settings.steps = Some(Arc::new(|step, cluster| {
                assert!(step != Step::Reached || cluster.as_str() != "a", "a bad step");
                Box::pin(async {})
            }));
        })
        .controller(seen.controller("panics"))
        .run(async |running| {
            running
                .until("it is said", async || {
                    match logs.with(&["ERROR", "cluster=a", "a bad step"]).len() {
                        1 => Ok(()),
                        _ => Err(logs.text()),
                    }
                })
                .await;
            running
                .until("the other works", async || seen.expect("b", "object", 1))
                .await;
            running
                .until("nothing of it is left", async || {
                    let lanes = running.controller("panics").queue().lanes;
                    let tasks = running.cluster("a").connection_tasks();
                    match (lanes, tasks, sims.server("a").counters().open_requests) {
                        (1, 0, 0) => Ok(()),
                        left => Err(format!("lanes, tasks, requests: {left:?}")),
                    }
                })
                .await;
            seen.expect("a", "object", 0).unwrap();
        })
        .await;
}
