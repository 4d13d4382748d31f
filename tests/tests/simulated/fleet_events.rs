//! What is told of the fleet: complete, in order, to streams and to controllers, early and late ones.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::runtime::reflector::ObjectRef;
use mcrt::{ControllerBuilder, FleetEvent, Health, Place, Request, Watch, fleet::Step};
use mcrt_sim::Server;
use mcrt_tests::{
    logs::Logs,
    simulated::{Holds, Recorder, Running, Sims, config, hang},
};
use parking_lot::Mutex;
use tokio::time::sleep;

type Told = Arc<Mutex<Vec<String>>>;

fn words(event: &FleetEvent) -> String {
    match event {
        FleetEvent::Engaged(cluster) => format!("{cluster} engaged"),
        FleetEvent::Health(cluster, Health::Ready) => format!("{cluster} ready"),
        FleetEvent::Health(cluster, _) => format!("{cluster} lost"),
        FleetEvent::Properties(cluster) => {
            let regions: Vec<_> = cluster.properties().labels.clone().into_values().collect();
            format!("{cluster} is {}", regions.join(" "))
        }
        FleetEvent::Disengaged(cluster) => format!("{cluster} disengaged"),
        FleetEvent::Synced => "synced".to_owned(),
        other => format!("{other:?}"),
    }
}

fn of(told: &Told, cluster: &str) -> Vec<String> {
    let told = told.lock();
    let own = told
        .iter()
        .filter_map(|words| words.strip_prefix(cluster)?.strip_prefix(' '));
    own.map(str::to_owned).collect()
}

async fn heard(running: &Running<'_>, told: &Told, expected: &[&str]) {
    running
        .until("the events are told", async || match of(told, "a") {
            events if events == expected => Ok(()),
            events => Err(format!("{events:?}, not {expected:?}")),
        })
        .await;
}

async fn health(running: &Running<'_>, ready: bool) {
    running
        .until("the health has changed", async || {
            match running.cluster("a").health() {
                health if health.is_ready() == ready => Ok(()),
                health => Err(health.to_string()),
            }
        })
        .await;
}

/// `a` joins, is lost, returns, is replaced, and leaves.
async fn a_life(running: &Running<'_>) {
    let server = running.sims.join("a");
    running.settled().await;
    hang(&server);
    health(running, false).await;
    server.clear_hook();
    health(running, true).await;
    let epoch = running.cluster("a").epoch();
    running.sims.put(&Server::new("a"));
    running
        .until("it is replaced", async || match running.cluster("a").epoch() {
            now if now == epoch => Err("not yet".to_owned()),
            _ => Ok(()),
        })
        .await;
    running.settled().await;
    running.sims.leave("a");
}

const A_LIFE: [&str; 7] = [
    "engaged",
    "ready",
    "lost",
    "ready",
    "disengaged",
    "engaged",
    "ready",
];

#[tokio::test(start_paused = true)]
async fn a_stream_of_fleet_events_is_complete_and_in_order() {
    let sims = Sims::of(["b"]);
    let seen: Recorder = Recorder::default();
    let told = Told::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            let mut events = running.handle.fleet().events();
            let listener = told.clone();
            let listening = tokio::spawn(async move {
                while let Some(event) = events.next().await {
                    listener.lock().push(words(&event));
                }
            });
            running.settled().await;
            a_life(running).await;
            let whole = [&A_LIFE[..], &["disengaged"]].concat();
            heard(running, &told, &whole).await;
            assert_eq!(of(&told, "b"), ["engaged", "ready"]);
            assert_eq!(told.lock().iter().filter(|words| *words == "synced").count(), 1);

            let mut late = running.handle.fleet().events();
            let replay = [late.next().await, late.next().await].map(|event| words(&event.expect("an event")));
            assert_eq!(replay, ["b engaged", "synced"]);
            listening.abort();
        })
        .await;
}

fn listening(name: &str, told: &Told) -> mcrt::Controller {
    let seen: Recorder = Recorder::default();
    let told = told.clone();
    let mut wiring = seen.wiring(name);
    wiring.on_fleet(move |_, event, _| {
        told.lock().push(words(event));
        None::<Request<ConfigMap>>
    });
    seen.build(wiring)
}

#[tokio::test(start_paused = true)]
async fn a_controller_is_told_of_every_change_in_order_also_of_the_first_cluster() {
    let sims = Sims::of([]);
    let (early, late) = (Told::default(), Told::default());
    sims.manager()
        .controller(listening("early", &early))
        .run(async |running| {
            a_life(running).await;
            running
                .until("it has left", async || {
                    match running.controller("early").queue().lanes {
                        0 => Ok(()),
                        lanes => Err(format!("{lanes} lanes")),
                    }
                })
                .await;
            sims.join("b");
            running.settled().await;
            running.handle.add(listening("late", &late)).unwrap();
            running.settled().await;
            sims.leave("b");
            sims.join("c");
            running.settled().await;
            let whole = [&A_LIFE[..], &["disengaged"]].concat();
            heard(running, &early, &whole).await;
            running
                .until("all is told", async || match (of(&early, "b"), of(&late, "b")) {
                    (early, late) if early.len() == 3 && late.len() == 2 => Ok(()),
                    told => Err(format!("{told:?}")),
                })
                .await;
            assert_eq!(of(&late, "b"), ["engaged", "disengaged"]);
            assert_eq!(early.lock().iter().filter(|words| *words == "synced").count(), 1);
            assert_eq!(late.lock().iter().filter(|words| *words == "synced").count(), 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn requests_made_as_a_cluster_engages_are_kept_wherever_the_engagement_is_held_up() {
    for step in [
        Step::Published,
        Step::Lane,
        Step::Indexed,
        Step::Attached,
        Step::Reached,
        Step::Started,
    ] {
        let sims = Sims::of(["a"]);
        sims.server("a").create(config("object")).unwrap();
        let holds = Holds::at([(step, Duration::from_millis(500))]);
        let seen: Recorder = Recorder::default();
        let mut wiring = seen.wiring("greeter");
        wiring.on_fleet(|_, event, _| match event {
            // Work on an object of `a`, in each cluster that joins.
            FleetEvent::Engaged(cluster) if cluster.name().as_str() != "a" => {
                let object = mcrt::ObjectKey::namespaced("default", "object");
                let request = Request::<ConfigMap>::new(mcrt_tests::simulated::name("a"), object);
                Some(request.targeting(cluster.name().clone()))
            }
            _ => None,
        });
        sims.manager()
            .settings(|settings| holds.apply(settings))
            .controller(seen.build(wiring))
            .run(async |running| {
                running.settled().await;
                sims.join("b");
                running
                    .until("its work is done in the new cluster", async || {
                        seen.expect("b", "object", 1)
                    })
                    .await;
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_host_is_reconciled_when_a_cluster_is_lost_returns_leaves_and_joins() {
    let sims = Sims::of(["a", "b"]);
    sims.host().create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    let mut wiring = ControllerBuilder::new("hub");
    wiring.for_kind(Watch::new().on(Place::Host).labels("mcrt.dev/test"));
    wiring.on_fleet(|_, event, _| {
        let about_a = event
            .cluster()
            .is_some_and(|cluster| cluster.name().as_str() == "a");
        about_a.then(|| ObjectRef::<ConfigMap>::new("object").within("default"))
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            let once = async |what: &str| {
                running
                    .until(what, async || seen.expect("host", "object", 1))
                    .await;
                // Shorter than a probe may take: the next event is not there yet.
                sleep(Duration::from_secs(1)).await;
                seen.expect("host", "object", 1).unwrap();
                seen.forget();
            };
            running.settled().await;
            sleep(Duration::from_secs(5)).await;
            seen.forget();
            hang(&sims.server("a"));
            once("it is lost").await;
            sims.server("a").clear_hook();
            once("it returns").await;
            let server = sims.leave("a").unwrap();
            once("it leaves").await;
            hang(&server);
            sims.put(&server);
            once("it joins").await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_named_without_its_cluster_is_nowhere_when_a_cluster_has_left() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    sims.server("a").create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("named");
    wiring.on_fleet(|_, event, _| {
        let left = matches!(event, FleetEvent::Disengaged(_));
        left.then(|| ObjectRef::<ConfigMap>::new("object").within("default"))
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            sims.leave("b");
            running
                .until("it is reported", async || {
                    match logs.with(&["WARN", "named", "without their cluster"]).len() {
                        0 => Err(logs.text()),
                        _ => Ok(()),
                    }
                })
                .await;
            running.settled().await;
            seen.expect("a", "object", 1).unwrap();
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_becomes_ready_at_once_has_the_host_reconciled_a_few_times_not_once_for_each() {
    let names: Vec<_> = (0..40).map(|member| format!("member-{member}")).collect();
    let sims = Sims::of(names.iter().map(String::as_str));
    sims.host().create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    let mut wiring = ControllerBuilder::new("hub");
    wiring.for_kind(Watch::new().on(Place::Host).labels("mcrt.dev/test"));
    wiring.uses::<Secret>(mcrt::Uses::new());
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            sleep(Duration::from_secs(3)).await;
            seen.forget();
            for (number, name) in names.iter().enumerate() {
                sims.join(name);
                if number % 4 == 0 {
                    sleep(Duration::from_millis(50)).await;
                }
            }
            running.settled().await;
            sleep(Duration::from_secs(10)).await;
            let runs = seen.count("host", "object");
            assert!((1..=3).contains(&runs), "{runs} runs");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_described_otherwise_is_told_of_once() {
    let sims = Sims::of(["a"]);
    let told = Told::default();
    sims.manager()
        .controller(listening("listens", &told))
        .run(async |running| {
            running.settled().await;
            sims.label("a", &[("region", "north")]);
            heard(running, &told, &["engaged", "ready", "is north"]).await;
            sims.label("a", &[("region", "south")]);
            heard(running, &told, &["engaged", "ready", "is north", "is south"]).await;
            sims.label("a", &[("region", "south")]);
            running
                .throughout(Duration::from_secs(5), "it is told no more", async || {
                    match of(&told, "a").len() {
                        4 => Ok(()),
                        events => Err(format!("{events} events")),
                    }
                })
                .await;
        })
        .await;
}
