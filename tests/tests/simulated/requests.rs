//! Requests whose work goes to another cluster, and watches of the host.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::{Action, MapContext, ObjectKey, Place, Request, Watch, fleet::Step};
use mcrt_tests::simulated::{
    Call, Holds, Recorder, Running, Sims, What, alive_tasks, config, fail_kind, hang, labelled, name, secret,
    with_data,
};
use parking_lot::Mutex;
use tokio::time::sleep;

const HOUR: Duration = Duration::from_hours(1);

type Mourner = Recorder<ConfigMap, true>;

fn object_key() -> ObjectKey {
    ObjectKey::namespaced("default", "object")
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of a map function")]
/// Sends the work on `object` to the cluster that the Secret's label names.
fn elsewhere<const GONE: bool>(
    _: &Recorder<ConfigMap, GONE>,
    secret: &Secret,
    cx: MapContext<Recorder<ConfigMap, GONE>>,
) -> Option<Request<ConfigMap>> {
    let labels = secret.metadata.labels.as_ref()?;
    let target = name(labels.get("target")?);
    let home = labels
        .get("home")
        .map_or_else(|| cx.cluster().name().clone(), |home| name(home));
    Some(Request::new(home, object_key()).targeting(target))
}

fn seen_at(seen: &Mourner, request: &str, times: usize) -> Result<(), String> {
    let runs = seen.runs().iter().filter(|run| run.request == request).count();
    (runs == times)
        .then_some(())
        .ok_or_else(|| format!("{request}: {runs} runs; {}", seen.summary()))
}

const HERE: &str = "cluster://a/default/object";
const THERE: &str = "cluster://a/default/object -> cluster://b";

/// `a` has an object whose work goes to `b` as well; both requests wait for an hour.
async fn with_two_requests(test: impl AsyncFnOnce(&Running<'_>, &Mourner)) {
    let sims = Sims::of(["a", "b"]);
    sims.server("a").create(config("object")).unwrap();
    let seen = Mourner::default()
        .doing(|_| async { Ok(Action::requeue(HOUR)) })
        .on_gone(|_| async {
            sleep(Duration::from_secs(2)).await;
            Ok(())
        });
    let mut wiring = seen.wiring("elsewhere");
    wiring.watches(Watch::new(), elsewhere);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            sims.server("a")
                .create(labelled(secret("to-b"), "target", "b"))
                .unwrap();
            running
                .until("it is worked on in b", async || seen_at(&seen, THERE, 1))
                .await;
            running.settled().await;
            seen_at(&seen, HERE, 1).unwrap();
            assert_eq!(running.controller("elsewhere").queue().delayed, 2);
            test(running, &seen).await;
        })
        .await;
}

async fn delayed(running: &Running<'_>, keys: usize) {
    running
        .until("the delayed keys are as many as expected", async || match running
            .controller("elsewhere")
            .queue()
            .delayed
        {
            delayed if delayed == keys => Ok(()),
            delayed => Err(format!("{delayed} delayed")),
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_map_may_send_work_to_another_cluster() {
    with_two_requests(async |_, seen| {
        let run = seen
            .runs()
            .into_iter()
            .find(|run| run.request == THERE)
            .expect("it ran");
        assert_eq!((run.cluster.as_str(), run.name.as_str()), ("b", "object"));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_target_that_leaves_takes_its_requests_and_no_others() {
    with_two_requests(async |running, _| {
        running.sims.leave("b");
        delayed(running, 1).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_home_that_leaves_takes_its_requests_in_every_cluster() {
    with_two_requests(async |running, _| {
        running.sims.leave("a");
        delayed(running, 0).await;
        assert_eq!(running.controller("elsewhere").queue().lanes, 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn leave_is_taken_once_of_an_object_with_work_in_several_clusters() {
    with_two_requests(async |running, seen| {
        let server = running.sims.server("a");
        server
            .delete("v1", "ConfigMap", Some("default"), "object")
            .unwrap();
        server
            .create(labelled(secret("again-to-b"), "target", "b"))
            .unwrap();
        running.settled().await;
        sleep(HOUR * 2).await;
        let gone: Vec<_> = seen
            .runs()
            .into_iter()
            .filter(|run| run.what == What::Gone)
            .collect();
        assert_eq!(gone.len(), 1, "{gone:?}");
        assert_eq!(gone[0].cluster, "a");
        delayed(running, 0).await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_request_for_an_object_of_a_cluster_that_is_being_attached_waits() {
    for step in [
        Step::Published,
        Step::Lane,
        Step::Indexed,
        Step::Attached,
        Step::Reached,
        Step::Started,
    ] {
        let sims = Sims::of(["a"]);
        let holds = Holds::at([(step, Duration::from_millis(900))]);
        let seen = Mourner::default();
        let mut wiring = seen.wiring("elsewhere");
        wiring.watches(Watch::new(), elsewhere);
        sims.manager()
            .settings(|settings| holds.apply(settings))
            .controller(seen.build(wiring))
            .run(async |running| {
                running.settled().await;
                sims.join("b").create(config("object")).unwrap();
                running
                    .until("b is held up", async || holds.reached(step, "b"))
                    .await;
                let secret = labelled(labelled(secret("to-a"), "target", "a"), "home", "b");
                sims.server("a").create(secret).unwrap();
                let request = "cluster://b/default/object -> cluster://a";
                running
                    .until("it is worked on in a", async || seen_at(&seen, request, 1))
                    .await;
            })
            .await;
    }
}

/// `b` joins and is held up before anything knows it but the fleet; meanwhile work is asked for there.
async fn asked_for_before_it_is_attached(then: impl AsyncFnOnce(&Running<'_>, &Mourner)) {
    let sims = Sims::of(["a"]);
    sims.server("a").create(config("object")).unwrap();
    let holds = Holds::at([(Step::Published, Duration::from_millis(900))]);
    let seen = Mourner::default();
    let mut wiring = seen.wiring("elsewhere");
    wiring.watches(Watch::new(), elsewhere);
    sims.manager()
        .settings(|settings| holds.apply(settings))
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            sims.join("b");
            running
                .until("b is held up", async || holds.reached(Step::Published, "b"))
                .await;
            sims.server("a")
                .create(labelled(secret("to-b"), "target", "b"))
                .unwrap();
            sleep(Duration::from_millis(300)).await;
            seen_at(&seen, THERE, 0).unwrap();
            then(running, &seen).await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn work_in_a_cluster_that_has_still_to_be_attached_waits_for_it() {
    asked_for_before_it_is_attached(async |running, seen| {
        running
            .until("it is worked on in b", async || seen_at(seen, THERE, 1))
            .await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn work_that_waits_for_a_cluster_is_dropped_when_that_leaves_the_fleet() {
    asked_for_before_it_is_attached(async |running, seen| {
        running.sims.leave("b");
        sleep(Duration::from_secs(5)).await;
        running.sims.join("b");
        running.settled().await;
        sleep(Duration::from_secs(5)).await;
        seen_at(seen, THERE, 0).unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn work_between_clusters_outlives_the_replacement_of_either() {
    with_two_requests(async |running, seen| {
        running.sims.join("b");
        running
            .until("it is worked on in the new b", async || seen_at(seen, THERE, 2))
            .await;
        let server = mcrt_sim::Server::new("a");
        server.create(config("object")).unwrap();
        running.sims.put(&server);
        running
            .until("the new object is worked on in b", async || {
                seen_at(seen, THERE, 3)
            })
            .await;
        delayed(running, 2).await;
    })
    .await;
}

/// Work in `a` on an object of `b`, whose server refuses to list them at first.
#[tokio::test(start_paused = true)]
async fn work_on_an_object_of_a_cluster_that_has_told_nothing_waits_without_counting_runs() {
    let sims = Sims::of(["a", "b"]);
    sims.server("b").create(config("object")).unwrap();
    fail_kind(&sims.server("b"), "configmaps", 403);
    let seen = Mourner::default();
    let mut wiring = seen.wiring("elsewhere");
    wiring.watches(Watch::new(), elsewhere);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            let secret = labelled(labelled(secret("to-a"), "target", "a"), "home", "b");
            sims.server("a").create(secret).unwrap();
            sleep(Duration::from_mins(2)).await;
            let queue = running.controller("elsewhere").queue();
            assert!(queue.dispatched <= 1, "{queue:?}");
            sims.server("b").clear_hook();
            let request = "cluster://b/default/object -> cluster://a";
            running
                .within(HOUR, "it is worked on in a", async || seen_at(&seen, request, 1))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_synced_is_read_and_worked_from_after_its_watch_is_refused() {
    let sims = Sims::of(["a", "b"]);
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let seen = Mourner::default().doing(|call: Call<ConfigMap, true>| async move {
        let read = call.cx.cached::<ConfigMap>("object")?;
        assert!(read.is_some(), "what was told stays readable");
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("elsewhere");
    wiring.watches(Watch::new(), elsewhere);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            let server = sims.server("b");
            fail_kind(&server, "configmaps", 403);
            server.disconnect_watches();
            running
                .within(HOUR, "the watch is refused", async || {
                    let watches = running.cluster("b").watches();
                    let refused = watches
                        .iter()
                        .any(|(_, state)| *state == mcrt::WatchState::Forbidden);
                    refused.then_some(()).ok_or_else(|| format!("{watches:?}"))
                })
                .await;
            let to_a = labelled(labelled(secret("to-a"), "target", "a"), "home", "b");
            sims.server("a").create(to_a).unwrap();
            let request = "cluster://b/default/object -> cluster://a";
            running
                .until("it is worked on in a", async || seen_at(&seen, request, 1))
                .await;
            sims.server("a")
                .create(labelled(secret("to-b"), "target", "b"))
                .unwrap();
            running
                .until("the store of b is read", async || seen_at(&seen, THERE, 1))
                .await;
            let counters = running.controller("elsewhere").counters();
            assert_eq!((counters.errors, counters.panics), (0, 0));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_stores_of_the_host_are_let_go_with_it() {
    let sims = Sims::of(["a"]);
    sims.server("a").create(config("object")).unwrap();
    sims.host().create(secret("settings")).unwrap();
    let kept = Arc::new(Mutex::new(Vec::<Weak<Secret>>::new()));
    let seen: Recorder = Recorder::default().doing({
        let kept = kept.clone();
        move |call: Call| {
            let kept = kept.clone();
            async move {
                let host = call.cx.host().in_namespace("default");
                let settings = host.cached::<Secret>("settings")?;
                let settings = settings.ok_or_else(|| mcrt::Error::msg("no settings"))?;
                kept.lock().push(Arc::downgrade(&settings));
                Ok(Action::await_change())
            }
        }
    });
    let mut wiring = seen.wiring("host");
    wiring.watches(Watch::<Secret>::new().on(Place::Host), |_, _, _| {
        None::<Request<ConfigMap>>
    });
    let mut handle = None;
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it has read the host", async || match kept.lock().len() {
                    0 => Err("not yet".to_owned()),
                    _ => Ok(()),
                })
                .await;
            handle = Some(running.controller("host"));
        })
        .await;
    assert!(kept.lock().iter().all(|settings| settings.upgrade().is_none()));
    drop(handle);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_the_host_reaches_objects_of_the_fleet_through_an_index() {
    let sims = Sims::of(["a", "b"]);
    for server in sims.servers() {
        server.create(labelled(config("red"), "team", "red")).unwrap();
        server.create(labelled(config("blue"), "team", "blue")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("teams");
    let by_team = wiring.index("by_team", |config: &ConfigMap| {
        config.metadata.labels.as_ref()?.get("team").cloned()
    });
    wiring.watches(
        Watch::<Secret>::new().on(Place::Host).labels("mcrt.dev/test"),
        move |_, secret, cx| {
            assert!(cx.cluster().is_host());
            let team = secret
                .metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get("team"))
                .cloned();
            cx.index(by_team).requests(&team.unwrap_or_default())
        },
    );
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            seen.forget();
            sims.host()
                .create(labelled(secret("red"), "team", "red"))
                .unwrap();
            for member in ["a", "b"] {
                running
                    .until("the team is reconciled", async || seen.expect(member, "red", 1))
                    .await;
            }
            running.settled().await;
            assert_eq!(seen.runs().len(), 2, "{seen:?}");
            assert!(
                sims.server("a").counters().kind("secrets").lists == 0,
                "members are not watched for it"
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_host_is_reconciled_on_the_host() {
    let sims = Sims::of(["a"]);
    sims.host().create(config("object")).unwrap();
    sims.server("a").create(config("other")).unwrap();
    let seen: Recorder = Recorder::default();
    let mut wiring = mcrt::ControllerBuilder::new("host");
    wiring.for_kind(Watch::new().on(Place::Host).labels("mcrt.dev/test"));
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it is reconciled", async || seen.expect("host", "object", 1))
                .await;
            running.settled().await;
            assert_eq!(sims.server("a").counters().kind("configmaps").lists, 0);
            assert!(seen.runs().iter().all(|run| run.cluster == "host"), "{seen:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_hangs_does_not_hold_up_the_fleet_and_its_stores_say_so() {
    let sims = Sims::of(["a"]);
    sims.server("a").create(config("object")).unwrap();
    sims.host().create(secret("settings")).unwrap();
    hang(sims.host());
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        let found = call
            .cx
            .host()
            .in_namespace("default")
            .cached::<Secret>("settings")?;
        assert!(found.is_some(), "never synced is not empty");
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("host");
    wiring.watches(Watch::<Secret>::new().on(Place::Host), |_, _, _| {
        None::<Request<ConfigMap>>
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            let errors = async || match running.controller("host").counters().errors {
                0 => Err("no error".to_owned()),
                _ => Ok(()),
            };
            running
                .within(Duration::from_secs(2), "it runs without the host", errors)
                .await;
            sims.host().clear_hook();
            running.settled().await;
            running
                .until("it finds the settings", async || {
                    match running.controller("host").queue().succeeded {
                        0 => Err("not yet".to_owned()),
                        _ => Ok(()),
                    }
                })
                .await;
            assert_eq!(running.controller("host").counters().panics, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_does_not_use_the_host_does_not_dial_it() {
    let sims = Sims::of(["a"]);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("fleet"))
        .run(async |running| {
            running.settled().await;
            assert_eq!(sims.host().counters().requests, 0);
            assert!(alive_tasks() > 0);
            sims.server("a")
                .create(with_data(config("object"), "key", "value"))
                .unwrap();
            running
                .until("it works", async || seen.expect("a", "object", 1))
                .await;
        })
        .await;
}
