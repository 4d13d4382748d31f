//! Every change ends in a reconcile that began after it: through relists, broken pages, late controllers and late
//! clusters; and one object is never worked on twice at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use kube::{
    Resource as _,
    core::{ApiResource, DynamicObject},
};
use mcrt::{Action, Cacheable, ControllerBuilder, Watch, fleet::Step};
use mcrt_sim::{Server, Verb, Verdict};
use mcrt_tests::simulated::{
    Holds, Recorder, Sims, config, hang, in_namespace, labelled, namespace, node, owned_by, secret, with_data,
};
use tokio::time::sleep;

/// An owner of three Secrets.
fn family(server: &Server) {
    let owner = server.create(config("owner")).unwrap();
    for child in ["first", "second", "third"] {
        server.create(owned_by(secret(child), &owner)).unwrap();
    }
}

fn delete_secret(server: &Server, name: &str) {
    server.delete("v1", "Secret", Some("default"), name).unwrap();
}

#[tokio::test(start_paused = true)]
async fn owners_learn_of_children_that_vanished_while_nobody_watched() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    family(&server);
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("family");
    wiring.owns::<Secret>(Watch::new());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            for (child, http) in [("first", true), ("second", false)] {
                let lists = server.counters().kind("secrets").lists;
                seen.forget();
                // Watches fail while the child is deleted and its event is compacted away.
                server.hook(move |request| match request.verb() {
                    Verb::Watch if request.plural() == "secrets" => Verdict::fail(503),
                    _ => Verdict::Pass,
                });
                server.disconnect_watches();
                sleep(Duration::from_secs(1)).await;
                delete_secret(&server, child);
                server.compact();
                if http {
                    let told = AtomicBool::new(false);
                    server.hook(move |request| {
                        let watch = request.verb() == Verb::Watch && request.plural() == "secrets";
                        if watch && !told.swap(true, Relaxed) {
                            Verdict::gone()
                        } else {
                            Verdict::Pass
                        }
                    });
                } else {
                    server.clear_hook();
                }
                running
                    .until("the owner is reconciled", async || seen.expect("a", "owner", 1))
                    .await;
                running.settled().await;
                seen.expect("a", "owner", 1).unwrap();
                assert!(
                    server.counters().kind("secrets").lists > lists,
                    "it was listed again"
                );
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_relist_reconciles_only_what_changed() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    for object in 0..50 {
        server.create(config(&format!("object-{object}"))).unwrap();
    }
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            seen.forget();
            server.hook(|request| match request.verb() {
                Verb::List => Verdict::Delay(Duration::from_secs(2)),
                _ => Verdict::Pass,
            });
            server.expire_watches();
            sleep(Duration::from_secs(1)).await;
            server
                .replace(with_data(config("object-7"), "key", "new"))
                .unwrap();
            server.create(config("object-new")).unwrap();
            running
                .until("the new one is reconciled", async || {
                    seen.expect("a", "object-new", 1)
                })
                .await;
            running.settled().await;
            let names: Vec<_> = seen.runs().into_iter().map(|run| run.name).collect();
            assert_eq!(names.len(), 2, "{names:?}");
            assert!(names.contains(&"object-7".to_owned()), "{names:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_second_page_fails_once_is_complete_all_the_same() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    for object in 0..1_203 {
        server.create(config(&format!("object-{object}"))).unwrap();
    }
    let failed = Arc::new(AtomicBool::new(false));
    server.hook({
        let failed = failed.clone();
        move |request| match request.continue_token() {
            Some(_) if request.plural() == "configmaps" && !failed.swap(true, Relaxed) => Verdict::fail(500),
            _ => Verdict::Pass,
        }
    });
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running
                .until("every object is reconciled", async || {
                    match seen.requests().len() {
                        1_203 => Ok(()),
                        objects => Err(format!("{objects} objects")),
                    }
                })
                .await;
            running.settled().await;
            assert!(failed.load(Relaxed));
            assert_eq!(seen.runs().len(), 1_203, "each is reconciled once");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_changes_while_it_runs_runs_once_more_and_never_beside_itself() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default().doing(|_| async {
        sleep(Duration::from_secs(1)).await;
        Ok(Action::await_change())
    });
    sims.manager()
        .controller(seen.controller("slow"))
        .run(async |running| {
            running
                .until("it runs", async || seen.expect("a", "object", 1))
                .await;
            let mut last = String::new();
            for change in ["1", "2", "3", "4", "5"] {
                let object = server
                    .replace(with_data(config("object"), "change", change))
                    .unwrap();
                last = object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
                sleep(Duration::from_millis(20)).await;
            }
            running
                .until("it runs again", async || seen.expect("a", "object", 2))
                .await;
            running.settled().await;
            seen.expect("a", "object", 2).unwrap();
            assert_eq!(seen.of("a", "object")[1].version, last);
            assert_eq!(seen.most_at_once(), 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_owner_is_one_request_whatever_namespaces_its_children_are_in() {
    let seen = slow::<Node>();
    let wiring = seen.wiring("nodes");
    one_request_per_owner(&seen, wiring).await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_whose_scope_only_the_server_knows_is_one_request_as_well() {
    let seen = slow::<DynamicObject>();
    let mut wiring = ControllerBuilder::new("nodes");
    wiring.for_kind_with(
        ApiResource::erase::<Node>(&()),
        Watch::new().labels("mcrt.dev/test"),
    );
    one_request_per_owner(&seen, wiring).await;
}

fn slow<T: Cacheable>() -> Recorder<T> {
    Recorder::default().doing(|_| async {
        sleep(Duration::from_millis(200)).await;
        Ok(Action::await_change())
    })
}

async fn one_request_per_owner<T: Cacheable>(seen: &Recorder<T>, mut wiring: ControllerBuilder<Recorder<T>>) {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    let owner = server.create(node("owner")).unwrap();
    let child = |index: u8| {
        let child = in_namespace(secret("child"), &format!("team-{index}"));
        owned_by(child, &owner)
    };
    for index in 0..5 {
        server.create(namespace(&format!("team-{index}"))).unwrap();
        server.create(child(index)).unwrap();
    }
    wiring.owns::<Secret>(Watch::new());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            for change in ["1", "2", "3"] {
                for index in 0..5 {
                    server.replace(labelled(child(index), "change", change)).unwrap();
                    sleep(Duration::from_millis(30)).await;
                }
            }
            running.settled().await;
            assert_eq!(seen.requests().len(), 1, "{seen:?}");
            assert_eq!(seen.most_at_once(), 1, "{seen:?}");
            assert!(seen.count("a", "owner") > 3, "{seen:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_late_controller_engages_every_engaged_cluster_once_and_those_being_engaged() {
    for step in [
        Step::Published,
        Step::Lane,
        Step::Attached,
        Step::Reached,
        Step::Started,
    ] {
        let members = ["a", "b", "c", "d", "e"];
        let sims = Sims::of(members);
        let early: Recorder = Recorder::default();
        let late: Recorder = Recorder::default();
        let holds = Holds::at([(step, Duration::from_millis(300))]);
        sims.manager()
            .settings(|settings| holds.apply(settings))
            .controller(early.controller("early"))
            .run(async |running| {
                for member in members {
                    sims.server(member).create(config("object")).unwrap();
                }
                running.settled().await;
                sims.join("f").create(config("object")).unwrap();
                running
                    .until("the sixth is held up", async || holds.reached(step, "f"))
                    .await;
                running.handle.add(late.controller("late")).unwrap();
                for seen in [&early, &late] {
                    running
                        .until("all six are reconciled", async || match seen.requests().len() {
                            6 => Ok(()),
                            _ => Err(seen.summary()),
                        })
                        .await;
                }
                running.settled().await;
                assert_eq!(
                    (early.runs().len(), late.runs().len()),
                    (6, 6),
                    "held at {step:?}"
                );
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_controllers_of_one_kind_share_its_watch() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let (first, second): (Recorder, Recorder) = (Recorder::default(), Recorder::default());
    sims.manager()
        .controller(first.controller("first"))
        .controller(second.controller("second"))
        .run(async |running| {
            running.settled().await;
            first.expect("a", "object", 1).unwrap();
            second.expect("a", "object", 1).unwrap();
            assert_eq!(server.counters().kind("configmaps").open_watches, 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_index_works_in_a_cluster_that_comes_up_late() {
    let sims = Sims::of(["a", "late"]);
    hang(&sims.server("late"));
    for member in ["a", "late"] {
        let server = sims.server(member);
        server.create(labelled(config("red"), "team", "red")).unwrap();
        server.create(labelled(config("blue"), "team", "blue")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("teams");
    let by_team = wiring.index("by_team", |config: &ConfigMap| {
        config.metadata.labels.as_ref()?.get("team").cloned()
    });
    wiring.watches(Watch::<Secret>::new().labels("team"), move |_, secret, cx| {
        let team = secret
            .meta()
            .labels
            .as_ref()
            .and_then(|labels| labels.get("team"))
            .cloned();
        let cluster = cx.cluster().name().clone();
        let mut requests = cx.index(by_team).requests(&team.unwrap_or_default());
        requests.retain(|request| *request.home() == cluster);
        requests
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("the good one works", async || seen.expect("a", "red", 1))
                .await;
            sleep(Duration::from_mins(1)).await;
            sims.server("late").clear_hook();
            running.settled().await;
            seen.forget();
            for member in ["late", "a"] {
                sims.server(member)
                    .create(labelled(secret("for-red"), "team", "red"))
                    .unwrap();
                running
                    .until("its team is reconciled", async || seen.expect(member, "red", 1))
                    .await;
            }
            running.settled().await;
            assert_eq!(seen.runs().len(), 2, "{seen:?}");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn objects_of_the_same_name_in_two_clusters_are_two_requests() {
    let sims = Sims::of(["a", "b"]);
    for member in ["a", "b"] {
        sims.server(member).create(config("object")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            sims.server("a")
                .replace(with_data(config("object"), "key", "new"))
                .unwrap();
            running
                .until("one of them runs again", async || seen.expect("a", "object", 2))
                .await;
            running.settled().await;
            seen.expect("b", "object", 1).unwrap();
            let expected = ["cluster://a/default/object", "cluster://b/default/object"];
            assert_eq!(seen.requests().into_iter().collect::<Vec<_>>(), expected);
        })
        .await;
}
