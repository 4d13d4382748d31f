//! Five clusters of fifty go dark after being healthy: it is noticed, the others work as before, and what waited for
//! the five runs once when they are back.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::{FleetEvent, Health, ObjectKey, Request, Watch};
use mcrt_sim::{Fault, Faults, Requests, Server};
use mcrt_tests::simulated::{Recorder, Running, Sims, config, labelled, name, secret};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// Until a cluster that went dark is found unreachable.
const NOTICED: Duration = Duration::from_secs(20);
/// Until one that is back is ready and has worked off what waited.
const BACK: Duration = Duration::from_secs(10);
const CLUSTERS: usize = 50;
const DARK: usize = 5;
/// Objects of each cluster.
const OBJECTS: usize = 4;

/// How a cluster goes dark, and comes back.
struct Darkness {
    fall: fn(&Server),
    lift: fn(&Server),
}

/// Connections stand and nothing passes; as if a process was stopped.
const FROZEN: Darkness = Darkness {
    fall: Server::partition,
    lift: Server::heal,
};
/// The same, and what stood is gone when it is over; as if something on the way had forgotten it.
const SWALLOWED: Darkness = Darkness {
    fall: Server::partition,
    lift: |server| {
        server.disconnect_watches();
        server.heal();
    },
};
/// Connections break, and new ones are refused.
const REFUSED: Darkness = Darkness {
    fall: |server| {
        server.faults(Faults::none().on(Requests::any(), Fault::refuse()));
        server.disconnect_watches();
    },
    lift: Server::clear_faults,
};

#[tokio::test(start_paused = true)]
async fn five_frozen_clusters_of_fifty_are_noticed_hurt_nobody_and_return() {
    five_of_fifty(&FROZEN).await;
}

#[tokio::test(start_paused = true)]
async fn five_swallowed_clusters_of_fifty_are_noticed_hurt_nobody_and_return() {
    five_of_fifty(&SWALLOWED).await;
}

#[tokio::test(start_paused = true)]
async fn five_refusing_clusters_of_fifty_are_noticed_hurt_nobody_and_return() {
    five_of_fifty(&REFUSED).await;
}

async fn five_of_fifty(darkness: &Darkness) {
    let names: Vec<_> = (0..CLUSTERS).map(|index| format!("cluster-{index:02}")).collect();
    let sims = Sims::of(names.iter().map(String::as_str));
    for server in sims.servers() {
        for object in 0..OBJECTS {
            server.create(config(&format!("object-{object}"))).unwrap();
        }
    }
    let (dark, bright) = names.split_at(DARK);
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("dark");
    let all = names[..DARK].to_vec();
    // Work in every dark cluster, whenever the last cluster says so.
    wiring.watches(Watch::<Secret>::new().labels("poke"), move |_, _, _| {
        every_object(&all)
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            let health = Heard::by(running);
            seen.forget();
            let fell = Instant::now();
            for name in dark {
                (darkness.fall)(&sims.server(name));
            }
            bright_work(running, &seen, bright, "first").await;
            health.until(running, dark, fell, NOTICED, "unreachable").await;
            poke(&sims, bright);
            bright_work(running, &seen, bright, "second").await;
            sleep(Duration::from_mins(2)).await;
            bright_work(running, &seen, bright, "third").await;
            let dark_runs = |seen: &Recorder| {
                let mut runs = seen.runs();
                runs.retain(|run| dark.contains(&run.cluster));
                runs
            };
            assert!(dark_runs(&seen).is_empty(), "{:?}", dark_runs(&seen));
            assert_eq!(health.unwell(bright), Vec::<String>::new());

            let lifted = Instant::now();
            for name in dark {
                (darkness.lift)(&sims.server(name));
            }
            health.until(running, dark, lifted, BACK, "ready").await;
            let parked = DARK * OBJECTS;
            running
                .within(
                    BACK.saturating_sub(lifted.elapsed()),
                    "what waited has run",
                    async || match dark_runs(&seen).len() {
                        runs if runs == parked => Ok(()),
                        runs => Err(format!("{runs} runs of {parked}")),
                    },
                )
                .await;
            running.settled().await;
            sleep(Duration::from_mins(1)).await;
            assert_eq!(dark_runs(&seen).len(), parked, "each once: {seen:?}");
            for name in dark {
                // What is new is seen as before.
                let object = "after";
                sims.server(name).create(config(object)).unwrap();
                running
                    .within(Duration::from_secs(1), "it works", async || {
                        seen.expect(name, object, 1)
                    })
                    .await;
            }
        })
        .await;
}

fn every_object(dark: &[String]) -> Vec<Request<ConfigMap>> {
    let of = |cluster: &String| {
        let cluster = name(cluster);
        (0..OBJECTS).map(move |object| {
            let key = ObjectKey::namespaced("default", format!("object-{object}"));
            Request::new(cluster.clone(), key)
        })
    };
    dark.iter().flat_map(of).collect()
}

/// Asks for work in the dark clusters, five times: it waits there once.
fn poke(sims: &Sims, bright: &[String]) {
    for member in bright.iter().take(5) {
        let poke = labelled(secret("poke"), "poke", "yes");
        sims.server(member).create(poke).unwrap();
    }
}

/// A new object in each of these is reconciled at once.
async fn bright_work(running: &Running<'_>, seen: &Recorder, bright: &[String], object: &str) {
    for member in bright {
        running.sims.server(member).create(config(object)).unwrap();
    }
    running
        .within(Duration::from_millis(200), "the others work", async || {
            bright
                .iter()
                .try_for_each(|member| seen.expect(member, object, 1))
        })
        .await;
}

type Told = BTreeMap<String, Vec<(Instant, Health)>>;

/// How each cluster fared, and when that was told.
struct Heard {
    told: Arc<Mutex<Told>>,
    listening: tokio::task::JoinHandle<()>,
}

impl Heard {
    fn by(running: &Running<'_>) -> Self {
        let mut events = running.handle.fleet().events();
        let told = Arc::<Mutex<Told>>::default();
        let keeps = told.clone();
        let listening = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if let FleetEvent::Health(cluster, health) = event {
                    let mut told = keeps.lock();
                    let of = told.entry(cluster.to_string()).or_default();
                    of.push((Instant::now(), health));
                }
            }
        });
        Self { told, listening }
    }

    /// Each of these was told of with this word, in time.
    async fn until(
        &self,
        running: &Running<'_>,
        members: &[String],
        since: Instant,
        limit: Duration,
        word: &str,
    ) {
        running
            .within(limit, word, async || {
                let told = self.told.lock();
                members.iter().try_for_each(|member| {
                    let health = told.get(member).and_then(|told| told.last());
                    match health {
                        Some((at, health)) if health.as_str() == word && *at - since <= limit => Ok(()),
                        health => Err(format!("{member}: {health:?}")),
                    }
                })
            })
            .await;
    }

    /// What of these was told of at all.
    fn unwell(&self, members: &[String]) -> Vec<String> {
        let told = self.told.lock();
        let of = members.iter().filter(|member| told.contains_key(*member));
        of.cloned().collect()
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
