//! What a reconcile writes: applied under its name, in the right cluster, never owned across clusters.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::runtime::events::{Event, EventType};
use mcrt::{Action, ErrorClass, ObjectKey, Request, Watch};
use mcrt_tests::simulated::{Call, Recorder, Sims, config, name, secret};
use parking_lot::Mutex;
use serde_json::Value;

fn child(call: &Call) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some("child".to_owned()),
            owner_references: Some(vec![call.cx.owner_reference()]),
            ..ObjectMeta::default()
        },
        string_data: Some([("key".to_owned(), "value".to_owned())].into()),
        ..Secret::default()
    }
}

fn get_child(sims: &Sims, member: &str) -> Option<Value> {
    sims.server(member)
        .get("v1", "Secret", Some("default"), "child")
        .ok()
}

#[tokio::test(start_paused = true)]
async fn what_is_applied_bears_the_controllers_name_and_its_owner_and_comes_back() {
    let sims = Sims::of(["a", "b"]);
    let owners: Vec<_> = sims
        .servers()
        .iter()
        .map(|server| server.create(config("owner")).unwrap())
        .collect();
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        call.cx.apply(&child(&call)).await?;
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("applier");
    wiring.owns::<Secret>(Watch::new());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            for (member, owner) in ["a", "b"].into_iter().zip(&owners) {
                let found = get_child(&sims, member).expect("it was applied");
                let meta = &found["metadata"];
                assert_eq!(meta["labels"]["app.kubernetes.io/managed-by"], "applier");
                assert_eq!(meta["ownerReferences"][0]["uid"], owner["metadata"]["uid"]);
                assert_eq!(meta["ownerReferences"][0]["controller"], true);
                let managers = meta["managedFields"].as_array().expect("managed fields");
                assert!(
                    managers
                        .iter()
                        .any(|entry| entry["manager"] == "applier" && entry["operation"] == "Apply")
                );
            }
            let runs = seen.count("a", "owner");
            sims.server("a")
                .delete("v1", "Secret", Some("default"), "child")
                .unwrap();
            running
                .until("it is there again", async || match get_child(&sims, "a") {
                    Some(_) => Ok(()),
                    None => Err("it is not there".to_owned()),
                })
                .await;
            running.settled().await;
            // Once for the deletion, once for the new one: applying what is there already changes nothing.
            assert!(seen.count("a", "owner") <= runs + 2, "{seen:?}");
            assert_eq!(running.controller("applier").counters().errors, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_another_cluster_is_refused() {
    let sims = Sims::of(["a", "b"]);
    sims.server("a").create(config("owner")).unwrap();
    let refusals = Arc::new(Mutex::new(Vec::new()));
    let seen: Recorder = Recorder::default().doing({
        let refusals = refusals.clone();
        move |call: Call| {
            let refusals = refusals.clone();
            async move {
                if let Err(error) = call.cx.apply(&child(&call)).await {
                    refusals
                        .lock()
                        .push((call.cluster().to_owned(), error.class(), error.to_string()));
                }
                Ok(Action::await_change())
            }
        }
    });
    let mut wiring = seen.wiring("applier");
    wiring.watches(Watch::<Secret>::new().labels("mcrt.dev/test"), |_, _, cx| {
        let request = Request::new(
            cx.cluster().name().clone(),
            ObjectKey::namespaced("default", "owner"),
        );
        Some(request.targeting(name("b")))
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            sims.server("a").create(secret("go-to-b")).unwrap();
            running
                .until("it is worked on in b", async || seen.expect("b", "owner", 1))
                .await;
            running.settled().await;
            let refusals = refusals.lock();
            let [(cluster, class, error)] = &refusals[..] else {
                panic!("one is refused: {refusals:?}");
            };
            assert_eq!((cluster.as_str(), *class), ("b", ErrorClass::GiveUp));
            assert!(
                error.contains("owner references do not cross clusters"),
                "{error}"
            );
            assert!(
                error.contains("`a`") && error.contains("`b`"),
                "it names both: {error}"
            );
            assert!(get_child(&sims, "a").is_some());
            assert!(get_child(&sims, "b").is_none());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn events_land_in_the_cluster_of_their_object() {
    let sims = Sims::of(["a", "b"]);
    for server in sims.servers() {
        server.create(config(&format!("only-{}", server.name()))).unwrap();
    }
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        let event = Event {
            type_: EventType::Normal,
            reason: "Greeted".to_owned(),
            note: Some(format!("in {}", call.cluster())),
            action: "Greet".to_owned(),
            secondary: None,
        };
        call.cx.event(&event).await?;
        Ok(Action::await_change())
    });
    sims.manager()
        .controller(seen.controller("greeter"))
        .run(async |running| {
            running.settled().await;
            for member in ["a", "b"] {
                let events = sims
                    .server(member)
                    .list("events.k8s.io/v1", "Event", None)
                    .unwrap();
                let [event] = &events[..] else {
                    panic!("one event in {member}: {events:?}");
                };
                assert_eq!(event["regarding"]["name"], format!("only-{member}"));
                assert_eq!(event["note"], format!("in {member}"));
                assert_eq!(event["reportingController"], "greeter");
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn live_reads_go_to_the_cluster_of_the_request_and_end_when_it_leaves() {
    let sims = Sims::of(["a", "b"]);
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    sims.server("b").create(secret("only-b")).unwrap();
    let found = Arc::new(Mutex::new(Vec::new()));
    let seen: Recorder = Recorder::default().doing({
        let found = found.clone();
        move |call: Call| {
            let found = found.clone();
            async move {
                let secret = call.cx.get::<Secret>("only-b").await?;
                found.lock().push((call.cluster().to_owned(), secret.is_some()));
                Ok(Action::await_change())
            }
        }
    });
    sims.manager()
        .controller(seen.controller("reader"))
        .run(async |running| {
            running.settled().await;
            let mut found = found.lock().clone();
            found.sort();
            assert_eq!(found, [("a".to_owned(), false), ("b".to_owned(), true)]);
            let client = running.cluster("a").client();
            sims.leave("a");
            running
                .until("its client fails at once", async || {
                    match tokio::time::timeout(Duration::from_millis(1), client.apiserver_version()).await {
                        Ok(Err(_)) => Ok(()),
                        other => Err(format!("{:?}", other.map(|answer| answer.is_ok()))),
                    }
                })
                .await;
        })
        .await;
}
