//! Clusters that are selected, and no longer, by one controller or by the whole fleet, while they live on.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::DynamicObject;
use mcrt::{
    Action, ClusterSelector, Controller, ControllerBuilder, FleetEvent, Health, ObjectKey, Place, Request,
    StartError, Watch, fleet::Step,
};
use mcrt_sim::Server;
use mcrt_tests::{
    logs::Logs,
    random::Random,
    seeds,
    simulated::{
        Call, Holds, Recorder, Running, Sims, config, labelled, name, secret, widget_resource, widgets,
    },
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const PROD: &[(&str, &str)] = &[("env", "prod")];
const TEST: &[(&str, &str)] = &[("env", "test")];

fn labels(selector: &str) -> ClusterSelector {
    ClusterSelector::new().labels(selector)
}

fn selecting(seen: &Recorder, name: &str, clusters: ClusterSelector) -> Controller {
    let mut wiring = seen.wiring(name);
    wiring.clusters(clusters);
    seen.build(wiring)
}

/// Whether a controller has a lane in a cluster.
fn works_in(running: &Running<'_>, controller: &str, cluster: &str, expected: bool) -> Result<(), String> {
    match running.controller(controller).lane(&name(cluster)).is_some() {
        works if works == expected => Ok(()),
        works => Err(format!("{controller} works in {cluster}: {works}")),
    }
}

async fn joins(running: &Running<'_>, controller: &str, cluster: &str) {
    let what = format!("{controller} joins {cluster}");
    running
        .until(&what, async || works_in(running, controller, cluster, true))
        .await;
}

async fn leaves(running: &Running<'_>, controller: &str, cluster: &str) {
    let what = format!("{controller} leaves {cluster}");
    running
        .until(&what, async || works_in(running, controller, cluster, false))
        .await;
}

async fn watches(running: &Running<'_>, server: &Server, expected: u64) {
    running
        .until("watches begin or end", async || {
            match server.counters().open_watches {
                open if open == expected => Ok(()),
                open => Err(format!("{open} open, not {expected}")),
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_joins_and_leaves_the_controller_that_selects_it_and_no_other() {
    let sims = Sims::of(["a", "b"]);
    sims.label("b", PROD);
    for member in ["a", "b"] {
        sims.server(member).create(config("object")).unwrap();
    }
    let (all, prod): (Recorder, Recorder) = Default::default();
    sims.manager()
        .controller(all.controller("all"))
        .controller(selecting(&prod, "prod", labels("env=prod")))
        .run(async |running| {
            running.settled().await;
            prod.expect("a", "object", 0).unwrap();
            prod.expect("b", "object", 1).unwrap();
            let epoch = running.cluster("a").epoch();

            sims.label("a", PROD);
            running
                .until("it is reconciled there", async || prod.expect("a", "object", 1))
                .await;
            sims.label("a", TEST);
            leaves(running, "prod", "a").await;
            sims.server("a").create(config("second")).unwrap();
            running
                .until("the other goes on", async || all.expect("a", "second", 1))
                .await;
            prod.expect("a", "second", 0).unwrap();

            sims.label("a", PROD);
            running
                .until("all that exists is reconciled", async || {
                    prod.expect("a", "object", 2)?;
                    prod.expect("a", "second", 1)
                })
                .await;
            running.settled().await;
            for member in ["a", "b"] {
                all.expect(member, "object", 1).unwrap();
                let counters = sims.server(member).counters();
                assert_eq!((counters.kind("configmaps").lists, counters.open_watches), (1, 1));
            }
            prod.expect("b", "object", 1).unwrap();
            assert_eq!(running.cluster("a").epoch(), epoch, "its life went on");
            assert!(
                prod.runs()
                    .iter()
                    .all(|run| run.cluster != "a" || run.epoch == epoch)
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_nobody_uses_any_more_ends_and_begins_anew_when_it_is_wanted() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("kept")).unwrap();
    server.create(config("deleted")).unwrap();
    let prod: Recorder<ConfigMap, true> = Recorder::default();
    let secrets: Recorder<Secret> = Recorder::default();
    let mut wiring = prod.wiring("prod");
    wiring.clusters(labels("env=prod"));
    wiring.index("by_name", |config: &ConfigMap| config.metadata.name.clone());
    sims.label("a", PROD);
    sims.manager()
        .controller(prod.build(wiring))
        .controller(secrets.controller("secrets"))
        .run(async |running| {
            running.settled().await;
            for round in 1..=20 {
                sims.label("a", TEST);
                leaves(running, "prod", "a").await;
                watches(running, &server, 1).await;
                assert_eq!(running.cluster("a").watches().len(), 1);
                if round == 1 {
                    server
                        .delete("v1", "ConfigMap", Some("default"), "deleted")
                        .unwrap();
                }
                sims.label("a", PROD);
                running
                    .until("it is reconciled again", async || {
                        prod.expect("a", "kept", round + 1)
                    })
                    .await;
                running.settled().await;
            }
            assert_eq!(server.counters().kind("configmaps").lists, 21);
            assert_eq!(server.counters().kind("secrets").lists, 1);
            prod.expect("a", "deleted", 1).unwrap();
            assert_eq!(prod.of("a", "deleted").len(), 1, "its deletion was not seen");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_leaves_lets_reconciles_end_and_holds_up_neither_others_nor_its_return_twice() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    sims.label("a", PROD);
    let slow: Recorder = Recorder::default().doing(|call: Call| async move {
        sleep(SECOND * 5).await;
        drop(call);
        Ok(Action::await_change())
    });
    let quick: Recorder = Recorder::default();
    sims.manager()
        .controller(selecting(&slow, "slow", labels("env=prod")))
        .controller(selecting(&quick, "quick", labels("env=test")))
        .run(async |running| {
            running
                .until("it runs", async || slow.expect("a", "object", 1))
                .await;
            let began = Instant::now();
            sims.label("a", TEST);
            running
                .until("the other joins", async || quick.expect("a", "object", 1))
                .await;
            assert!(began.elapsed() < SECOND, "{:?}", began.elapsed());
            assert!(slow.runs()[0].ended.is_none(), "it goes on meanwhile");
            // Selected again while it is still leaving.
            sims.label("a", PROD);
            leaves(running, "quick", "a").await;
            running
                .until("it runs again", async || slow.expect("a", "object", 2))
                .await;
            let runs = slow.runs();
            assert_eq!(runs[0].ended.map(|end| end - runs[0].began), Some(SECOND * 5));
            assert_eq!(slow.most_at_once(), 1);
            running.settled().await;
            slow.expect("a", "object", 2).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_leaves_the_fleet_while_a_controller_leaves_it_is_taken_down_once() {
    let sims = Sims::of(["a"]);
    sims.server("a").create(config("object")).unwrap();
    sims.label("a", PROD);
    let slow: Recorder = Recorder::default().doing(|call: Call| async move {
        call.cx.cancelled().await;
        sleep(SECOND * 3).await;
        Ok(Action::await_change())
    });
    let all: Recorder = Recorder::default();
    sims.manager()
        .controller(selecting(&slow, "slow", labels("env=prod")))
        .controller(all.controller("all"))
        .run(async |running| {
            running
                .until("it runs", async || slow.expect("a", "object", 1))
                .await;
            sims.label("a", TEST);
            sleep(SECOND).await;
            sims.leave("a");
            sims.join("a").create(config("object")).unwrap();
            sims.label("a", PROD);
            running
                .until("the next life is worked on", async || {
                    slow.expect("a", "object", 2)?;
                    all.expect("a", "object", 2)
                })
                .await;
            let runs = slow.runs();
            assert!(runs[0].ended.is_some_and(|end| end <= runs[1].began));
            assert_ne!(runs[0].epoch, runs[1].epoch);
        })
        .await;
}

/// Sends work on each object of the host to the clusters `a` and `b`, and watches Secrets there.
fn fan_out(clusters: ClusterSelector) -> ControllerBuilder<Recorder> {
    let mut wiring = ControllerBuilder::new("fan-out");
    wiring.for_kind(Watch::new().on(Place::Host).labels("mcrt.dev/test"));
    wiring.watches(Watch::<Secret>::new().on(Place::Host), |_, secret, cx| {
        let key = ObjectKey::namespaced("default", secret.metadata.name.as_deref().unwrap_or_default());
        let home = cx.cluster().name().clone();
        let targets = ["a", "b"].map(name);
        targets
            .map(|target| Request::<ConfigMap>::new(home.clone(), key.clone()).targeting(target))
            .to_vec()
    });
    wiring.clusters(clusters);
    wiring
}

#[tokio::test(start_paused = true)]
async fn a_request_for_a_cluster_that_is_not_selected_is_dropped_and_that_is_said_once() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    sims.label("a", PROD);
    sims.host().create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.build(fan_out(labels("env=prod"))))
        .run(async |running| {
            running.settled().await;
            sims.host().create(secret("object")).unwrap();
            running
                .until("it goes to a", async || seen.expect("a", "object", 1))
                .await;
            for round in 0..5 {
                let change = labelled(secret("object"), "round", &round.to_string());
                sims.host().replace(change).unwrap();
                running
                    .until("it goes to a again", async || {
                        seen.expect("a", "object", round + 2)
                    })
                    .await;
            }
            let told = logs.with(&["WARN", "does not select"]);
            assert_eq!(told.len(), 1, "{told:?}");
            assert!(told[0].contains("cluster=b"), "{told:?}");

            sims.label("b", PROD);
            joins(running, "fan-out", "b").await;
            running.settled().await;
            seen.expect("b", "object", 0).unwrap();
            sims.host()
                .replace(labelled(secret("object"), "last", "1"))
                .unwrap();
            running
                .until("now it goes to b", async || seen.expect("b", "object", 1))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_is_told_of_the_clusters_that_it_selects_as_if_there_were_no_others() {
    let sims = Sims::of(["a", "b", "c"]);
    sims.label("b", PROD);
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("prod");
    wiring.clusters(labels("env=prod").except(["c"]));
    let listener = told.clone();
    wiring.on_fleet(move |_, event, _| {
        listener.lock().push(match event {
            FleetEvent::Engaged(cluster) => format!("+{cluster}"),
            FleetEvent::Disengaged(cluster) => format!("-{cluster}"),
            FleetEvent::Health(cluster, Health::Ready) => format!("{cluster} ready"),
            FleetEvent::Properties(cluster) => format!("{cluster} changed"),
            FleetEvent::Synced => "synced".to_owned(),
            other => format!("{other:?}"),
        });
        None::<Request<ConfigMap>>
    });
    let heard = async |running: &Running<'_>, expected: &[&str]| {
        running
            .until("it is told", async || {
                let mut told = told.lock().clone();
                told.retain(|words| words != "synced");
                if told == expected {
                    Ok(())
                } else {
                    Err(format!("{told:?}, not {expected:?}"))
                }
            })
            .await;
    };
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            heard(running, &["+b", "b ready"]).await;
            told.lock().clear();
            sims.label("a", PROD);
            sims.label("c", PROD);
            heard(running, &["+a"]).await;
            sims.label("a", &[("env", "prod"), ("tier", "gold")]);
            heard(running, &["+a", "a changed"]).await;
            sims.label("a", TEST);
            heard(running, &["+a", "a changed", "-a"]).await;
            sims.leave("a");
            sims.leave("c");
            sims.leave("b");
            heard(running, &["+a", "a changed", "-a", "-b"]).await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_reconciled_on_the_host_hears_of_a_ready_cluster_that_comes_to_be_selected() {
    let sims = Sims::of(["a"]);
    sims.host().create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.build(fan_out(labels("env=prod"))))
        .run(async |running| {
            running.settled().await;
            sleep(SECOND * 5).await;
            let before = seen.count("host", "object");
            sims.label("a", PROD);
            running
                .until("the host's object is looked at again", async || {
                    seen.expect("host", "object", before + 1)
                })
                .await;
            sims.label("a", &[("env", "prod"), ("tier", "gold")]);
            running.settled().await;
            sleep(SECOND * 5).await;
            seen.expect("host", "object", before + 1).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn only_controllers_that_select_a_cluster_require_something_of_it() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let (all, picky): (Recorder, Recorder) = Default::default();
    let mut wiring = picky.wiring("picky");
    wiring.clusters(labels("env=prod"));
    wiring.watches_with(widget_resource(), Watch::<DynamicObject>::new(), |_, _, _| {
        None::<Request<ConfigMap>>
    });
    let health = async |running: &Running<'_>, expected: &str| {
        running
            .within(SECOND * 120, expected, async || {
                match running.cluster("a").health() {
                    health if health.as_str() == expected => Ok(()),
                    health => Err(health.to_string()),
                }
            })
            .await;
    };
    sims.manager()
        .controller(all.controller("all"))
        .controller(picky.build(wiring))
        .run(async |running| {
            running.settled().await;
            sleep(SECOND * 300).await;
            health(running, "ready").await;
            sims.label("a", PROD);
            health(running, "degraded").await;
            picky.expect("a", "object", 0).unwrap();
            sims.label("a", TEST);
            running
                .within(SECOND * 5, "it is well at once", async || {
                    match running.cluster("a").health() {
                        Health::Ready => Ok(()),
                        health => Err(health.to_string()),
                    }
                })
                .await;
            sims.label("a", PROD);
            health(running, "degraded").await;
            server.serve(widgets());
            running
                .within(SECOND * 300, "it is worked on", async || {
                    picky.expect("a", "object", 1)
                })
                .await;
            all.expect("a", "object", 1).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_no_controller_selects_does_not_keep_a_fleet_from_being_settled() {
    let sims = Sims::of(["a", "dead"]);
    sims.label("a", PROD);
    mcrt_tests::simulated::hang(&sims.server("dead"));
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(selecting(&seen, "prod", labels("env=prod")))
        .run(async |running| {
            let began = Instant::now();
            let late = running.handle.fleet().settled(SECOND * 60).await;
            assert_eq!(late, Some(Vec::new()));
            assert!(began.elapsed() < SECOND * 10, "{:?}", began.elapsed());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_fleet_dials_only_the_clusters_that_it_selects() {
    let sims = Sims::of(["eu-1", "eu-test", "us-1"]);
    for member in ["eu-1", "eu-test", "us-1"] {
        sims.label(member, PROD);
        sims.server(member).create(config("object")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    let asked = |member: &str| {
        let counters = sims.server(member).counters();
        counters.gets + counters.lists + counters.watches
    };
    sims.manager()
        .clusters(labels("env=prod").names(["eu-*"]).except(["*-test"]))
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            seen.expect("eu-1", "object", 1).unwrap();
            let fleet = running.handle.fleet();
            assert_eq!(fleet.left_out(), [name("eu-test"), name("us-1")]);
            let first = running.cluster("eu-1").epoch();

            sims.label("eu-1", TEST);
            running
                .until("it leaves", async || match fleet.health(&name("eu-1")) {
                    Health::NotFound => Ok(()),
                    health => Err(health.to_string()),
                })
                .await;
            watches(running, &sims.server("eu-1"), 0).await;
            assert_eq!(fleet.left_out().len(), 3);
            sims.leave("us-1");
            sims.label("eu-1", PROD);
            running
                .until("it is back", async || seen.expect("eu-1", "object", 2))
                .await;
            assert_ne!(running.cluster("eu-1").epoch(), first, "in another life");
            assert_eq!(fleet.left_out(), [name("eu-test")]);
            assert_eq!(asked("eu-test"), 0);
        })
        .await;
}

#[test]
fn a_selector_that_cannot_be_read_keeps_the_program_from_starting() {
    let sims = Sims::of([]);
    let refused = sims.manager().clusters(labels("env in (")).build().unwrap_err();
    assert!(matches!(refused, StartError::Clusters(_)), "{refused}");
    assert!(refused.to_string().contains("`(` without `)`"), "{refused}");
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("seen");
    wiring.clusters(ClusterSelector::new().names([""]));
    let refused = wiring.build(seen.clone()).unwrap_err().to_string();
    assert!(
        refused.contains("controller `seen`: `clusters`: `` names no cluster"),
        "{refused}"
    );
}

#[test]
fn the_plan_says_which_clusters_are_selected() {
    let seen: Recorder = Recorder::default();
    let plan = selecting(&seen, "seen", labels("env=prod").names(["eu-*"])).plan();
    assert_eq!(
        plan.last().map(String::as_str),
        Some("clusters: names eu-*; labels env=prod")
    );
    assert_eq!(seen.controller("all").plan().len(), 1);
}

#[test]
fn clusters_that_change_sides_at_random_lose_nothing_and_do_nothing_twice() {
    seeds::each(0, 8, changing_sides);
}

async fn changing_sides(seed: u64) {
    let mut random = Random::seeded(seed);
    let members = ["a", "b", "c", "d"];
    let sims = Sims::of(members);
    let side = || -> Recorder {
        Recorder::default().doing(|_: Call| async {
            sleep(SECOND / 50).await;
            Ok(Action::await_change())
        })
    };
    let (prod, test) = (side(), side());
    let holds = Holds::at([(Step::Lane, SECOND / 100), (Step::Purged, SECOND / 100)]);
    sims.manager()
        .settings(|settings| holds.apply(settings))
        .controller(selecting(&prod, "prod", labels("env=prod")))
        .controller(selecting(&test, "test", labels("env=test")))
        .run(async |running| {
            for object in 0..200 {
                let member = *random.choose(&members);
                match random.below(3) {
                    0 => sims.label(member, PROD),
                    1 => sims.label(member, TEST),
                    _ => drop(sims.server(member).create(config(&format!("object-{object}")))),
                }
                sleep(random.millis(100)).await;
            }
            for (member, (_, there, labels)) in members.iter().zip(sides(&prod, &test).iter().cycle()) {
                sims.label(member, labels);
                leaves(running, there, member).await;
            }
            running.settled().await;
            for (member, (here, ..)) in members.iter().zip(sides(&prod, &test).iter().cycle()) {
                let server = sims.server(member);
                for object in server.list("v1", "ConfigMap", Some("default")).unwrap() {
                    let object = object["metadata"]["name"].as_str().unwrap_or_default();
                    let lost = object.starts_with("object-") && here.count(member, object) == 0;
                    assert!(!lost, "{object} in {member} is lost");
                }
                watches(running, &server, 1).await;
            }
            assert!(prod.most_at_once() <= 1 && test.most_at_once() <= 1);
        })
        .await;
}

/// Who is to work in each second cluster, who is not, and its labels.
type Side<'a> = (
    &'a Recorder,
    &'static str,
    &'static [(&'static str, &'static str)],
);

fn sides<'a>(prod: &'a Recorder, test: &'a Recorder) -> [Side<'a>; 2] {
    [(prod, "test", PROD), (test, "prod", TEST)]
}
