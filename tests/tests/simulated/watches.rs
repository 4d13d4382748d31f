//! How kinds are watched: metadata alone, selected, filtered by named predicates, known by value only.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret},
};
use kube::{
    Resource as _,
    core::{ApiResource, DynamicObject, PartialObjectMeta},
    runtime::reflector::ObjectRef,
};
use mcrt::{Action, ControllerBuilder, IndexReader, Place, Request, Watch, predicate};
use mcrt_sim::Verdict;
use mcrt_tests::simulated::{
    Call, Recorder, Running, Sims, config, deployment, in_namespace, labelled, name, namespace, owned_by,
    secret, with_data,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

type Names = Arc<Mutex<Vec<String>>>;

#[tokio::test(start_paused = true)]
async fn an_owned_kind_is_watched_without_its_data_and_nothing_keeps_managed_fields() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    let owner = server.create(config("owner")).unwrap();
    let child = server
        .create(owned_by(
            with_data(secret("child"), "password", "c2VjcmV0"),
            &owner,
        ))
        .unwrap();
    assert!(
        child["metadata"]["managedFields"].is_array(),
        "the server has them: {child}"
    );
    let whole = Arc::new(Mutex::new(0));
    server.hook({
        let whole = whole.clone();
        move |request| {
            if request.plural() == "secrets" && !request.metadata_only() {
                *whole.lock() += 1;
            }
            Verdict::Pass
        }
    });
    let found = Names::default();
    let seen: Recorder = Recorder::default().doing({
        let found = found.clone();
        move |call: Call| {
            assert_eq!(call.object.metadata.managed_fields, None);
            let children = call.cx.store::<PartialObjectMeta<Secret>>().list();
            assert!(
                children
                    .iter()
                    .all(|child| child.metadata.managed_fields.is_none())
            );
            found
                .lock()
                .extend(children.iter().filter_map(|child| child.metadata.name.clone()));
            async { Ok(Action::await_change()) }
        }
    });
    let mut wiring = seen.wiring("owner");
    wiring.owns::<Secret>(Watch::new());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            assert!(found.lock().contains(&"child".to_owned()));
            assert_eq!(running.controller("owner").counters().panics, 0);
            assert_eq!(*whole.lock(), 0, "whole Secrets were asked for");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_owned_kind_may_be_kept_whole() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    let owner = server.create(config("owner")).unwrap();
    server
        .create(owned_by(
            with_data(secret("child"), "password", "c2VjcmV0"),
            &owner,
        ))
        .unwrap();
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        let child = call.cx.cached::<Secret>("child")?.expect("it is in the store");
        assert!(
            child
                .data
                .as_ref()
                .is_some_and(|data| data.contains_key("password"))
        );
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("owner");
    wiring.owns_full::<Secret>(Watch::new());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            seen.expect("a", "owner", 1).unwrap();
            assert_eq!(running.controller("owner").counters().panics, 0);
            server.delete("v1", "Secret", Some("default"), "child").unwrap();
            running
                .until("the owner learns of it", async || seen.expect("a", "owner", 2))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn selectors_and_namespaces_are_the_servers_to_apply() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    for team in ["one", "two", "three"] {
        server.create(namespace(team)).unwrap();
        server.create(in_namespace(config("object"), team)).unwrap();
        server
            .create(in_namespace(labelled(config("labelled"), "tier", "gold"), team))
            .unwrap();
    }
    let (places, labels, fields): (Recorder, Recorder, Recorder) = Default::default();
    let wire = |seen: &Recorder, name: &str, watch: Watch<ConfigMap>| {
        let mut wiring = ControllerBuilder::new(name);
        wiring.for_kind(watch);
        seen.build(wiring)
    };
    let test = || Watch::new().labels("mcrt.dev/test");
    sims.manager()
        .controller(wire(&places, "places", test().namespaces(["one", "two"])))
        .controller(wire(&labels, "labels", Watch::new().labels("tier=gold")))
        .controller(wire(&fields, "fields", test().fields("metadata.name=object")))
        .run(async |running| {
            running.settled().await;
            let names = |seen: &Recorder| seen.requests().into_iter().collect::<Vec<_>>().join(" ");
            assert_eq!(
                names(&places),
                "cluster://a/one/labelled cluster://a/one/object cluster://a/two/labelled cluster://a/two/object"
            );
            assert_eq!(labels.requests().len(), 3, "{labels:?}");
            assert!(fields.runs().iter().all(|run| run.name == "object"), "{fields:?}");
            server.replace(in_namespace(labelled(config("object"), "tier", "gold"), "one")).unwrap();
            running
                .until("an object comes into the selection", async || match labels.requests().len() {
                    4 => Ok(()),
                    found => Err(format!("{found} found")),
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn named_predicates_let_the_changes_through_that_they_are_named_for() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(deployment("object")).unwrap();
    let by = |name: &str, predicate: fn(Option<&Deployment>, &Deployment) -> bool| {
        let seen = Recorder::<Deployment>::default();
        let mut wiring = ControllerBuilder::new(name);
        wiring.for_kind(Watch::new().labels("mcrt.dev/test").predicate(predicate));
        let controller = seen.build(wiring);
        (seen, controller)
    };
    let (generation, first) = by("generation", predicate::generation);
    let (finalizers, second) = by("finalizers", predicate::generation_or_finalizers);
    let (version, third) = by("version", predicate::resource_version);
    let (labels, fourth) = by("labels", predicate::labels);
    let (annotations, fifth) = by("annotations", predicate::annotations);
    let all = [&generation, &finalizers, &version, &labels, &annotations];
    let mut setup = sims.manager();
    for controller in [first, second, third, fourth, fifth] {
        setup = setup.controller(controller);
    }
    setup
        .run(async |running| {
            let counts = async |counts: [usize; 5]| {
                running
                    .until("each has run as often as expected", async || {
                        let now = all.map(|seen| seen.count("a", "object"));
                        if now == counts {
                            Ok(())
                        } else {
                            Err(format!("{now:?}, not {counts:?}"))
                        }
                    })
                    .await;
                running.settled().await;
                assert_eq!(all.map(|seen| seen.count("a", "object")), counts);
            };
            let merge = |change: Value| {
                let mut whole = json!({
                    "apiVersion": "apps/v1", "kind": "Deployment",
                    "metadata": { "name": "object", "namespace": "default" },
                });
                json_merge(&mut whole, change);
                server.merge(whole).unwrap();
            };
            counts([1, 1, 1, 1, 1]).await;
            let mut status = deployment("object");
            status["status"] = json!({ "replicas": 1 });
            server.replace_status(status).unwrap();
            counts([1, 1, 2, 1, 1]).await;
            merge(json!({ "spec": { "replicas": 2 } }));
            counts([2, 2, 3, 1, 1]).await;
            merge(json!({ "metadata": { "labels": { "new": "label" } } }));
            counts([2, 2, 4, 2, 1]).await;
            merge(json!({ "metadata": { "annotations": { "new": "annotation" } } }));
            counts([2, 2, 5, 2, 2]).await;
            merge(json!({ "metadata": { "finalizers": ["mcrt.dev/test"] } }));
            counts([2, 3, 6, 2, 2]).await;
        })
        .await;
}

fn json_merge(whole: &mut Value, change: Value) {
    match (whole, change) {
        (Value::Object(whole), Value::Object(change)) => {
            for (key, value) in change {
                json_merge(whole.entry(key).or_insert(Value::Null), value);
            }
        }
        (whole, change) => *whole = change,
    }
}

fn kind<K: kube::Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

#[tokio::test(start_paused = true)]
async fn kinds_that_only_a_value_knows_are_wired_like_any_other() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    let owner = server.create(labelled(config("object"), "team", "red")).unwrap();
    let seen: Recorder<DynamicObject> = Recorder::default();
    let mut wiring = ControllerBuilder::new("dynamic");
    wiring.for_kind_with(kind::<ConfigMap>(), Watch::new().labels("mcrt.dev/test"));
    wiring.owns_with::<PartialObjectMeta<DynamicObject>>(kind::<Secret>(), Watch::new());
    let by_team = wiring.index_with(&kind::<ConfigMap>(), "by_team", |object: &DynamicObject| {
        object.metadata.labels.as_ref()?.get("team").cloned()
    });
    wiring.watches_with(
        kind::<Deployment>(),
        Watch::<DynamicObject>::new(),
        move |_, deployment, cx| {
            cx.index(by_team)
                .requests(deployment.meta().name.as_ref().unwrap_or(&String::new()))
        },
    );
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            seen.expect("a", "object", 1).unwrap();
            server.create(owned_by(secret("child"), &owner)).unwrap();
            running
                .until("its child is seen", async || seen.expect("a", "object", 2))
                .await;
            server.create(deployment("red")).unwrap();
            running
                .until("its team is seen", async || seen.expect("a", "object", 3))
                .await;
            server.create(deployment("blue")).unwrap();
            running
                .throughout(Duration::from_secs(5), "another team is not", async || {
                    seen.expect("a", "object", 3)
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_metadata_is_mapped_like_any_other() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("metadata");
    wiring.watches(
        Watch::<PartialObjectMeta<Secret>>::new().labels("mcrt.dev/test"),
        |_, secret, cx| {
            assert!(cx.store::<PartialObjectMeta<Secret>>().is_some());
            let name = secret.metadata.name.as_deref().unwrap_or_default();
            vec![ObjectRef::<ConfigMap>::new(name).within("default")]
        },
    );
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            server.create(secret("object")).unwrap();
            running
                .until("it is mapped", async || seen.expect("a", "object", 2))
                .await;
            server.delete("v1", "Secret", Some("default"), "object").unwrap();
            running
                .until("its deletion is mapped", async || seen.expect("a", "object", 3))
                .await;
            assert_eq!(running.controller("metadata").counters().panics, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_an_index_looks_into_the_clusters_that_are_there_when_it_is_asked() {
    let sims = Sims::of(["a"]);
    sims.host().create(secret("object")).unwrap();
    let red = || labelled(config("red"), "team", "red");
    sims.server("a").create(red()).unwrap();
    let kept: Arc<Mutex<Option<IndexReader<ConfigMap, String>>>> = Arc::default();
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("teams");
    let by_team = wiring.index("by_team", |config: &ConfigMap| {
        config.metadata.labels.as_ref()?.get("team").cloned()
    });
    let keeps = kept.clone();
    wiring.watches(
        Watch::<Secret>::new().on(Place::Host).labels("mcrt.dev/test"),
        move |_, _, cx| {
            *keeps.lock() = Some(cx.index(by_team));
            None::<Request<ConfigMap>>
        },
    );
    let found = || {
        let kept = kept.lock();
        let requests = kept.as_ref().map(|index| index.requests(&"red".to_owned()));
        let mut found: Vec<_> = requests.iter().flatten().map(ToString::to_string).collect();
        found.sort();
        found
    };
    let [in_a, in_b] = ["a", "b"].map(|cluster| format!("cluster://{cluster}/default/red"));
    let finds = async |running: &Running<'_>, expected: &[&String]| {
        let is_found = || found().iter().eq(expected.iter().copied());
        running
            .until("it finds them", async || {
                is_found().then_some(()).ok_or_else(|| found().join(", "))
            })
            .await;
    };
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            finds(running, &[&in_a]).await;
            sims.join("b").create(red()).unwrap();
            finds(running, &[&in_a, &in_b]).await;
            let b = running.handle.fleet().get(&name("b")).unwrap();
            let part = kept.lock().as_ref().unwrap().of(&b);
            assert_eq!(part.get(&"red".to_owned()).len(), 1);
            sims.leave("a");
            finds(running, &[&in_b]).await;
        })
        .await;
}
