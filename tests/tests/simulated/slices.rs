//! Namespaces of the host as clusters: one watch for all of them, and each a cluster of its own.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::{Api, runtime::reflector::ObjectRef};
use mcrt::{Health, Watch, WatchState, providers::Namespaces};
use mcrt_sim::{Fault, Faults, Requests, Server, Verb};
use mcrt_tests::simulated::{Recorder, Running, Sims, config, in_namespace, name, namespace, with_data};
use serde_json::Value;
use tokio::time::sleep;

fn sims(namespaces: usize) -> Sims {
    let sims = Sims::of([]);
    for number in 0..namespaces {
        fill(sims.host(), &slice(number));
    }
    sims
}

fn slice(number: usize) -> String {
    format!("slice-{number}")
}

fn fill(host: &Server, name: &str) {
    host.create(namespace(name)).unwrap();
    host.create(object(name)).unwrap();
}

fn object(namespace: &str) -> Value {
    in_namespace(config("one"), namespace)
}

fn change(host: &Server, namespace: &str, value: &str) {
    host.merge(with_data(object(namespace), "value", value)).unwrap();
}

fn slices() -> Namespaces {
    Namespaces::new().skip("default")
}

async fn engaged(running: &Running<'_>, clusters: usize) {
    running
        .within(Duration::from_mins(10), "every namespace is ready", async || {
            let ready = running.handle.fleet().clusters();
            let ready = ready.iter().filter(|cluster| cluster.health() == Health::Ready);
            match ready.count() {
                count if count == clusters => Ok(()),
                count => Err(format!("{count} of {clusters}")),
            }
        })
        .await;
}

async fn reconciled(running: &Running<'_>, seen: &Recorder, requests: usize) {
    running
        .within(
            Duration::from_mins(10),
            "every object is reconciled",
            async || match seen.requests().len() {
                count if count == requests => Ok(()),
                count => Err(format!("{count} of {requests}")),
            },
        )
        .await;
}

/// Watches that are open, and lists of the first page: what follows belongs to the same list.
fn watched(host: &Server, plural: &str) -> u64 {
    host.counters().kind(plural).open_watches
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_namespaces_are_clusters_with_one_watch_per_kind() {
    const SLICES: usize = 10_000;
    let sims = sims(SLICES);
    let host = sims.host().clone();
    let seen: Recorder = Recorder::default();
    let provider = Arc::new(slices());
    sims.manager()
        .provider(Arc::clone(&provider))
        .controller(seen.controller("seen"))
        .run(async |running| {
            reconciled(running, &seen, SLICES).await;
            engaged(running, SLICES).await;
            assert_eq!(watched(&host, "configmaps"), 1);
            let shared = provider.shared().unwrap();
            assert_eq!(shared.members(), SLICES);
            let watches = shared.watches();
            assert_eq!(watches.len(), 1);
            assert_eq!((watches[0].members, watches[0].lists), (SLICES, 1));
            let told = watches[0].told;
            // One of the provider for the namespaces, one of all clusters for their objects.
            assert_eq!(host.counters().open_watches, 2);
            for number in [0, 5_000, 9_999] {
                change(&host, &slice(number), "changed");
            }
            running
                .until("the changes are reconciled", async || {
                    seen.expect(&slice(0), "one", 2)?;
                    seen.expect(&slice(5_000), "one", 2)?;
                    seen.expect(&slice(9_999), "one", 2)
                })
                .await;
            assert_eq!(shared.watches()[0].told - told, 3, "nobody else was told");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_server_shows_in_every_namespace_and_costs_the_probes_of_one() {
    const SLICES: usize = 200;
    let sims = sims(SLICES);
    let host = sims.host().clone();
    let seen: Recorder = Recorder::default();
    let provider = Arc::new(slices());
    sims.manager()
        .provider(Arc::clone(&provider))
        .controller(seen.controller("seen"))
        .run(async |running| {
            engaged(running, SLICES).await;
            reconciled(running, &seen, SLICES).await;
            host.faults(Faults::none().on(Requests::any(), Fault::refuse()));
            host.disconnect_watches();
            running
                .until("all are unreachable", async || {
                    let clusters = running.handle.fleet().clusters();
                    match clusters.iter().find(|it| it.health() == Health::Ready) {
                        None => Ok(()),
                        Some(cluster) => Err(format!("{cluster} is ready")),
                    }
                })
                .await;
            let probes = || host.counters().count(|row| row.verb == Verb::Raw);
            let before = probes();
            sleep(Duration::from_mins(1)).await;
            let asked = probes() - before;
            assert!(asked <= 62, "{asked} probes in a minute");
            host.merge(with_data(object(&slice(7)), "value", "meanwhile"))
                .unwrap();
            host.clear_faults();
            engaged(running, SLICES).await;
            running
                .until("what changed meanwhile is reconciled", async || {
                    seen.expect(&slice(7), "one", 2)
                })
                .await;
            assert_eq!(
                provider.shared().unwrap().watches()[0].lists,
                1,
                "nothing is listed again"
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_suspended_namespace_holds_up_no_other_and_goes_on_where_it_stood() {
    let sims = sims(3);
    let host = sims.host().clone();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .provider(slices())
        .controller(seen.controller("seen"))
        .run(async |running| {
            reconciled(running, &seen, 3).await;
            let fleet = running.handle.fleet().clone();
            fleet.suspend(&name("slice-0"));
            change(&host, "slice-0", "a");
            change(&host, "slice-1", "a");
            running
                .until("the other is reconciled", async || {
                    seen.expect("slice-1", "one", 2)
                })
                .await;
            sleep(Duration::from_secs(10)).await;
            seen.expect("slice-0", "one", 1).unwrap();
            fleet.resume(&name("slice-0"));
            running
                .until("it goes on", async || seen.expect("slice-0", "one", 2))
                .await;
            assert_eq!(host.counters().kind("configmaps").lists, 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_made_again_is_another_life_and_nothing_of_the_first_runs() {
    let sims = sims(2);
    let host = sims.host().clone();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .provider(slices())
        .controller(seen.controller("seen"))
        .run(async |running| {
            reconciled(running, &seen, 2).await;
            let first = running.cluster("slice-0").epoch();
            host.delete("v1", "Namespace", None, "slice-0").unwrap();
            running
                .until("it has left", async || {
                    match running.handle.fleet().get(&name("slice-0")) {
                        None => Ok(()),
                        Some(_) => Err("it is there".to_owned()),
                    }
                })
                .await;
            host.settle();
            seen.forget();
            fill(&host, "slice-0");
            running
                .until("it is reconciled again", async || {
                    seen.expect("slice-0", "one", 1)
                })
                .await;
            let again = seen.last().unwrap().epoch;
            assert_ne!(first, again);
            assert_eq!(host.counters().kind("configmaps").lists, 1);
            assert_eq!(watched(&host, "configmaps"), 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn reconcilers_write_in_their_namespace_and_are_refused_elsewhere() {
    let sims = sims(2);
    let host = sims.host().clone();
    let seen: Recorder = Recorder::default().doing(|call| async move {
        let own: Api<ConfigMap> = Api::namespaced(call.cx.client(), call.cluster());
        own.get("one").await?;
        let everywhere: Api<ConfigMap> = Api::all(call.cx.client());
        let refused = everywhere
            .list(&kube::api::ListParams::default())
            .await
            .unwrap_err();
        assert!(
            refused.to_string().contains("outside of the namespace"),
            "{refused}"
        );
        let node: Api<Node> = Api::all(call.cx.client());
        assert!(matches!(node.get("x").await.unwrap_err(), kube::Error::Api(status) if status.code == 403));
        Ok(mcrt::Action::await_change())
    });
    sims.manager()
        .provider(slices())
        .controller(seen.controller("seen"))
        .run(async |running| {
            reconciled(running, &seen, 2).await;
            let once = async || seen.expect("slice-0", "one", 1);
            running
                .throughout(Duration::from_secs(30), "it succeeded at once", once)
                .await;
            assert_eq!(host.counters().kind("nodes").gets, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_lives_in_no_namespace_keeps_a_controller_waiting_and_says_why() {
    let sims = sims(1);
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("seen");
    wiring.watches(Watch::<Node>::new(), |_, _, _| None::<ObjectRef<ConfigMap>>);
    sims.manager()
        .provider(slices())
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it says what it may not", async || {
                    let cluster = running.handle.fleet().get(&name("slice-0"));
                    let cluster = cluster.ok_or("it is not engaged")?;
                    let watches = cluster.watches();
                    let forbidden = watches.iter().any(|(scope, state)| {
                        scope.resource.plural == "nodes" && *state == WatchState::Forbidden
                    });
                    match (forbidden, cluster.complaints().join("; ")) {
                        (true, said) if said.contains("nodes") => Ok(()),
                        other => Err(format!("{other:?}")),
                    }
                })
                .await;
            seen.expect("slice-0", "one", 0).unwrap();
        })
        .await;
}
