//! What clusters say of themselves: read where it is asked for, believed where it is trusted, never their identity.

use std::{collections::BTreeMap, time::Duration};

use mcrt::{
    ClusterSelector, Controller, Health, Properties, Property, PropertyOrigin, SelfReported, StartError,
    provider::ClusterSpec,
};
use mcrt_sim::{ServedKind, Server};
use mcrt_tests::simulated::{Recorder, Running, Sims, config, fail_kind, name, spec};
use serde_json::{Value, json};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const ZONE: &str = "zone.example.com";

fn properties(version: &str) -> ServedKind {
    ServedKind {
        group: "about.k8s.io".to_owned(),
        version: version.to_owned(),
        kind: "ClusterProperty".to_owned(),
        plural: "clusterproperties".to_owned(),
        namespaced: false,
        status_subresource: false,
    }
}

fn property(version: &str, name: &str, value: &str) -> Value {
    json!({
        "apiVersion": format!("about.k8s.io/{version}"),
        "kind": "ClusterProperty",
        "metadata": { "name": name },
        "spec": { "value": value },
    })
}

/// A server that says this of itself.
fn saying(server: &Server, name: &str, value: &str) {
    server.serve(properties("v1beta1"));
    server.create(property("v1beta1", name, value)).unwrap();
}

fn in_zone(seen: &Recorder, zone: &str) -> Controller {
    let mut wiring = seen.wiring("zoned");
    wiring.clusters(ClusterSelector::new().property("zone", zone));
    seen.build(wiring)
}

fn known(running: &Running<'_>, cluster: &str, property: &str) -> Option<(String, PropertyOrigin)> {
    let properties = running.handle.fleet().get(&name(cluster))?.properties();
    let Property { value, origin } = properties.named.get(property)?;
    Some((value.clone(), *origin))
}

async fn says(running: &Running<'_>, cluster: &str, property: &str, expected: Option<&str>) {
    running
        .within(SECOND * 400, property, async || {
            let expected = expected.map(|value| (value.to_owned(), PropertyOrigin::SelfReported));
            match known(running, cluster, property) {
                now if now == expected => Ok(()),
                now => Err(format!("{now:?}, not {expected:?}")),
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_unless_the_operator_wants_it() {
    let sims = Sims::of(["a"]);
    saying(&sims.server("a"), "zone", "eu");
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            sleep(SECOND * 60).await;
            assert!(running.cluster("a").properties().named.is_empty());
            assert_eq!(sims.server("a").counters().kind("clusterproperties").lists, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_known_by_its_own_word_and_selected_by_it_where_that_is_trusted() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    saying(&server, "zone", "eu");
    server.create(property("v1beta1", ZONE, "x")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .self_reported(SelfReported::new().trust(["zone"]))
        .controller(in_zone(&seen, "eu"))
        .run(async |running| {
            running
                .until("it is selected", async || seen.expect("a", "object", 1))
                .await;
            says(running, "a", ZONE, Some("x")).await;
            let version = running.cluster("a").version().unwrap();
            says(running, "a", "kubernetes-version", Some(&version)).await;
            let epoch = running.cluster("a").epoch();

            server.replace(property("v1beta1", "zone", "us")).unwrap();
            running
                .until("it is not selected any more", async || {
                    match running.controller("zoned").lane(&name("a")) {
                        None => Ok(()),
                        Some(_) => Err("it is".to_owned()),
                    }
                })
                .await;
            server.replace(property("v1beta1", "zone", "eu")).unwrap();
            running
                .until("it is again", async || seen.expect("a", "object", 2))
                .await;
            server
                .delete("about.k8s.io/v1beta1", "ClusterProperty", None, "zone")
                .unwrap();
            says(running, "a", "zone", None).await;
            assert_eq!(running.cluster("a").epoch(), epoch);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn its_own_word_selects_nothing_where_it_is_not_trusted() {
    let sims = Sims::of(["a"]);
    saying(&sims.server("a"), "zone", "eu");
    sims.server("a").create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .self_reported(SelfReported::new().trust([ZONE]))
        .controller(in_zone(&seen, "eu"))
        .run(async |running| {
            says(running, "a", "zone", Some("eu")).await;
            sleep(SECOND * 60).await;
            seen.expect("a", "object", 0).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_word_of_the_host_side_stands_before_that_of_the_cluster() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    saying(&server, "zone", "us");
    let described = |named: &[(&str, &str)]| -> ClusterSpec {
        let inventory = |value: &str| Property {
            value: value.to_owned(),
            origin: PropertyOrigin::Inventory,
        };
        let mut properties = Properties::default();
        let named = named
            .iter()
            .map(|(name, value)| ((*name).to_owned(), inventory(value)));
        properties.named = named.collect::<BTreeMap<_, _>>();
        spec(&server).with_properties(properties)
    };
    sims.provider().replace(described(&[("zone", "eu")]));
    let seen: Recorder = Recorder::default();
    sims.manager()
        .self_reported(SelfReported::new().trust(["zone"]))
        .controller(in_zone(&seen, "eu"))
        .run(async |running| {
            running.settled().await;
            sleep(SECOND).await;
            let version = running.cluster("a").version().unwrap();
            says(running, "a", "kubernetes-version", Some(&version)).await;
            seen.expect("a", "object", 1).unwrap();
            assert_eq!(
                known(running, "a", "zone"),
                Some(("eu".to_owned(), PropertyOrigin::Inventory))
            );
            // Nobody else says it: now the cluster's own word counts.
            sims.provider().replace(described(&[]));
            says(running, "a", "zone", Some("us")).await;
            running
                .until("it is not selected any more", async || {
                    match running.controller("zoned").lane(&name("a")) {
                        None => Ok(()),
                        Some(_) => Err("it is".to_owned()),
                    }
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_serves_the_former_version_alone_is_read_in_it_until_it_serves_the_newer() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.serve(properties("v1alpha1"));
    server.create(property("v1alpha1", "zone", "eu")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .self_reported(SelfReported::new())
        .controller(seen.controller("seen"))
        .run(async |running| {
            says(running, "a", "zone", Some("eu")).await;
            server.serve(properties("v1beta1"));
            running
                .within(SECOND * 900, "one watch of the newer version", async || {
                    let watches = running.cluster("a").watches();
                    let mut versions: Vec<_> = watches
                        .iter()
                        .map(|(scope, _)| &*scope.resource.version)
                        .collect();
                    versions.retain(|version| version.contains('a'));
                    if versions == ["v1beta1"] {
                        Ok(())
                    } else {
                        Err(format!("{versions:?}"))
                    }
                })
                .await;
            server.create(property("v1beta1", "region", "north")).unwrap();
            says(running, "a", "region", Some("north")).await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_serve_or_show_properties_is_well_and_says_its_version_alone() {
    let sims = Sims::of(["silent", "refusing"]);
    saying(&sims.server("refusing"), "zone", "eu");
    fail_kind(&sims.server("refusing"), "clusterproperties", 403);
    for member in ["silent", "refusing"] {
        sims.server(member).create(config("object")).unwrap();
    }
    let seen: Recorder = Recorder::default();
    sims.manager()
        .self_reported(SelfReported::new().trust(["zone"]))
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            sleep(SECOND * 120).await;
            for member in ["silent", "refusing"] {
                seen.expect(member, "object", 1).unwrap();
                assert_eq!(running.cluster(member).health(), Health::Ready);
            }
            for member in ["silent", "refusing"] {
                let version = running.cluster(member).version().unwrap();
                says(running, member, "kubernetes-version", Some(&version)).await;
                assert_eq!(running.cluster(member).properties().named.len(), 1);
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_claims_to_be_another_takes_neither_its_name_nor_its_place() {
    const ID: &str = "cluster.clusterset.k8s.io";
    let sims = Sims::of(["good", "evil"]);
    for member in ["good", "evil"] {
        saying(&sims.server(member), ID, "good");
        sims.server(member).create(config("object")).unwrap();
    }
    let mut properties = Properties::default();
    let id = Property {
        value: "good".to_owned(),
        origin: PropertyOrigin::Inventory,
    };
    properties.named.insert(ID.to_owned(), id);
    sims.provider()
        .replace(spec(&sims.server("good")).with_properties(properties));
    let (by_id, by_name): (Recorder, Recorder) = Default::default();
    let selecting = |seen: &Recorder, controller: &str, clusters: ClusterSelector| {
        let mut wiring = seen.wiring(controller);
        wiring.clusters(clusters);
        seen.build(wiring)
    };
    sims.manager()
        .self_reported(SelfReported::new().trust(["zone"]))
        .controller(selecting(
            &by_id,
            "by-id",
            ClusterSelector::new().property(ID, "good"),
        ))
        .controller(selecting(
            &by_name,
            "by-name",
            ClusterSelector::new().names(["good"]),
        ))
        .run(async |running| {
            let fleet = running.handle.fleet();
            running
                .until("evil is engaged", async || {
                    fleet.get(&name("evil")).ok_or_else(|| "no".to_owned())
                })
                .await;
            let epochs = ["good", "evil"].map(|member| running.cluster(member).epoch());
            says(running, "evil", ID, Some("good")).await;
            sleep(SECOND * 60).await;
            for seen in [&by_id, &by_name] {
                seen.expect("good", "object", 1).unwrap();
                seen.expect("evil", "object", 0).unwrap();
            }
            let names: Vec<_> = fleet.clusters().iter().map(ToString::to_string).collect();
            assert_eq!(names, ["evil", "good"]);
            assert_eq!(
                ["good", "evil"].map(|member| running.cluster(member).epoch()),
                epochs
            );
        })
        .await;
    for trusted in [ID, ""] {
        let what = SelfReported::new().trust([trusted]);
        let refused = sims.manager().self_reported(what).build().unwrap_err();
        assert!(matches!(refused, StartError::SelfReported { .. }), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_changes_its_word_all_the_time_is_heard_once_a_second() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    saying(&server, "zone", "0");
    let seen: Recorder = Recorder::default();
    sims.manager()
        .self_reported(SelfReported::new())
        .controller(seen.controller("seen"))
        .run(async |running| {
            says(running, "a", "zone", Some("0")).await;
            let mut events = running.handle.fleet().events();
            for word in 0..1000 {
                server
                    .replace(property("v1beta1", "zone", &word.to_string()))
                    .unwrap();
                sleep(SECOND / 100).await;
            }
            says(running, "a", "zone", Some("999")).await;
            let mut told = 0;
            while let Some(Some(event)) =
                futures::FutureExt::now_or_never(futures::StreamExt::next(&mut events))
            {
                told += usize::from(matches!(event, mcrt::FleetEvent::Properties(_)));
            }
            assert!(
                (5..=13).contains(&told),
                "{told} changes were told in ten seconds"
            );
        })
        .await;
}
