//! kube's own watcher, with both of its list strategies: once the faults are over, what it told is what the server
//! holds, whatever came before.

use std::{collections::BTreeMap, time::Duration};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        watcher::{Config, Event, watcher},
    },
};
use mcrt_sim::Server;
use mcrt_tests::{random::Random, seeds, simulated::config};
use tokio::time::{Instant, sleep, timeout};

use super::{patient::client, plan, world};

/// Of each of the tests, of which there are four.
const SEEDS: u64 = 250;
/// The longest of its own timers, that of an idle watch, several times; a backoff of half a minute between.
const LIMIT: Duration = Duration::from_hours(1);

type Objects = BTreeMap<String, (String, String)>;

#[test]
fn with_pages_nothing_is_lost() {
    seeds::each(0, SEEDS, async |seed| {
        nothing_is_lost(seed, Config::default().page_size(6), plan::draw).await;
    });
}

#[test]
fn with_pages_nothing_is_lost_under_all_faults_at_once() {
    seeds::each(1_000, SEEDS, async |seed| {
        nothing_is_lost(seed, Config::default().page_size(6), plan::all).await;
    });
}

#[test]
fn with_streaming_lists_nothing_is_lost() {
    seeds::each(2_000, SEEDS, async |seed| {
        nothing_is_lost(seed, Config::default().streaming_lists(), plan::draw).await;
    });
}

#[test]
fn with_streaming_lists_nothing_is_lost_under_all_faults_at_once() {
    seeds::each(3_000, SEEDS, async |seed| {
        nothing_is_lost(seed, Config::default().streaming_lists(), plan::all).await;
    });
}

async fn nothing_is_lost(seed: u64, config: Config, draw: fn(&mut Random, &[&str]) -> mcrt_sim::Faults) {
    let mut random = Random::seeded(seed);
    let server = server();
    let faults = draw(&mut random, &["configmaps"]);
    let shown = Shown(format!("{faults:#?}"));
    server.faults(faults);
    let api: Api<ConfigMap> = Api::namespaced(client(&server), "default");
    let config = config
        .labels("mcrt.dev/test")
        .timeout(30 + u32::try_from(random.below(200)).unwrap());
    let mut follower = Follower::of(watcher(api, config).default_backoff().boxed());

    follower.during(events(&server, &mut random)).await;
    server.heal();
    server.clear_faults();
    let caught_up = timeout(LIMIT, follower.until(|told| *told == held(&server))).await;
    assert!(
        caught_up.is_ok(),
        "{}",
        difference(&held(&server), &follower.told)
    );
    // And so it stays, with changes that come without faults.
    for step in 0..5 {
        world::change(&server, &mut random, 1_000 + step);
        sleep(random.millis(1_000)).await;
    }
    let goes_on = timeout(LIMIT, follower.until(|told| *told == held(&server))).await;
    assert!(goes_on.is_ok(), "{}", difference(&held(&server), &follower.told));
    drop(shown);
}

fn server() -> Server {
    let server = Server::new("a");
    for object in 0..20 {
        server.create(config(&format!("object-{object}"))).unwrap();
    }
    server
}

/// Some minutes in the life of a server.
async fn events(server: &Server, random: &mut Random) {
    for step in 0..30 {
        world::change(server, random, step);
        if random.percent(20) {
            world::disturb(server, random);
        }
        sleep(random.millis(8_000)).await;
    }
}

/// The objects of the server, by name: which of that name, and in which version.
fn held(server: &Server) -> Objects {
    let objects = server.list("v1", "ConfigMap", Some("default")).unwrap();
    let ours = objects
        .iter()
        .filter(|object| object["metadata"]["labels"]["mcrt.dev/test"] == "yes");
    ours.map(|object| {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        (text("name"), (text("uid"), text("resourceVersion")))
    })
    .collect()
}

/// What a watcher told, as a store would hold it.
struct Follower<S> {
    stream: S,
    told: Objects,
    listed: Objects,
}

impl<S: futures::Stream<Item = kube::runtime::watcher::Result<Event<ConfigMap>>> + Unpin> Follower<S> {
    fn of(stream: S) -> Self {
        Self {
            stream,
            told: Objects::new(),
            listed: Objects::new(),
        }
    }

    /// Follows as long as something else goes on.
    async fn during(&mut self, events: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = events => {}
            () = self.until(|_| false) => {}
        }
    }

    /// Follows until what was told is enough, and a moment longer: nothing more may come after it.
    async fn until(&mut self, enough: impl Fn(&Objects) -> bool) {
        loop {
            let quiet = Instant::now() + Duration::from_secs(1);
            tokio::select! {
                biased;
                event = self.stream.next() => match event {
                    Some(Ok(event)) => self.take(event),
                    // The backoff in the stream follows.
                    Some(Err(_)) => {}
                    None => panic!("the watcher ended"),
                },
                () = tokio::time::sleep_until(quiet) => if enough(&self.told) { return },
            }
        }
    }

    fn take(&mut self, event: Event<ConfigMap>) {
        let entry = |object: ConfigMap| {
            let version = object.resource_version().unwrap_or_default();
            (object.name_any(), (object.uid().unwrap_or_default(), version))
        };
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => self.listed.extend([entry(object)]),
            Event::InitDone => self.told = std::mem::take(&mut self.listed),
            Event::Apply(object) => self.told.extend([entry(object)]),
            Event::Delete(object) => drop(self.told.remove(&object.name_any())),
        }
    }
}

fn difference(held: &Objects, told: &Objects) -> String {
    let missing = held
        .iter()
        .filter(|(name, object)| told.get(*name) != Some(object));
    let extra = told.iter().filter(|(name, _)| !held.contains_key(*name));
    format!(
        "held by the server and not told: {:?}; told and not held: {:?}",
        missing.collect::<Vec<_>>(),
        extra.collect::<Vec<_>>()
    )
}

/// A plan that is printed when its test fails.
pub(crate) struct Shown(pub(crate) String);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}
