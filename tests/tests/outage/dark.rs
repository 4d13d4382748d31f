//! Five of fifty clusters go dark after being healthy: two stop, two are swallowed, one refuses.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::StreamExt as _;
use mcrt::{ClusterName, Fleet, FleetEvent, Health, ObjectKey, providers::Clusters, testing::alive_tasks};
use mcrt_tests::{eventually, proxy::Proxy, running::cluster};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::{
    Outcome, Planes, address, planes, through,
    work::{LIMIT, Work},
};

/// What is promised, and what a machine under load may add to it: clocks of the test run on, its tasks may not.
const NOTICED: Duration = Duration::from_secs(20);
const BACK: Duration = Duration::from_secs(10);
const SLACK: Duration = Duration::from_secs(5);

/// The objects of every cluster.
const OBJECTS: [&str; 3] = ["dark-first", "dark-second", "dark-third"];

#[tokio::test]
async fn five_dark_clusters_of_fifty_are_noticed_hurt_nobody_and_return() -> Outcome {
    let Some(planes) = planes().await? else {
        return Ok(());
    };
    let site = Site::of(planes).await?;
    let tasks = alive_tasks();
    let work = Work::of("mcrt.dev/dark");
    for object in OBJECTS {
        work.apply(&planes.good, object, "first").await?;
        work.apply(&planes.frozen, object, "first").await?;
    }
    let running = work.start(site.clusters.clone(), asked(&site.dark));
    let all = [&site.dark[..], &site.bright].concat();
    for object in OBJECTS {
        work.until(&all, object, 1).await;
    }
    let heard = Heard::of(running.handle().fleet());
    heard.until(&all, Instant::now(), LIMIT, "ready").await;

    let fell = Instant::now();
    site.fall(planes);
    work.apply(&planes.good, "dark-during", "first").await?;
    work.until(&site.bright, "dark-during", 1).await;
    heard
        .until(&site.dark, fell, NOTICED + SLACK, "unreachable")
        .await;
    for name in ["dark-ask", "dark-ask-again"] {
        work.ask(&planes.good, name).await?;
    }
    work.apply(&planes.good, "dark-during", "second").await?;
    work.until(&site.bright, "dark-during", 2).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let ran = site.runs_since(&work, fell);
    assert!(ran.is_empty(), "in the dark: {ran:?}");
    assert_eq!(heard.unwell(&site.bright), Vec::<String>::new());

    let lifted = Instant::now();
    site.lift(planes);
    heard.until(&site.dark, lifted, BACK + SLACK, "ready").await;
    eventually(LIMIT, "what waited has run", async || {
        let ran = site.runs_since(&work, lifted);
        let waited = site.dark.len() * OBJECTS.len();
        if ran.len() == waited {
            Ok(())
        } else {
            Err(format!("{ran:?}"))
        }
    })
    .await;
    for at in site.runs_since(&work, lifted).values().flatten() {
        assert!(*at - lifted < BACK + SLACK, "{:?}", *at - lifted);
    }
    work.apply(&planes.good, "dark-after", "first").await?;
    work.apply(&planes.frozen, "dark-after", "first").await?;
    work.until(&all, "dark-after", 1).await;
    let ran = site.runs_since(&work, lifted);
    assert!(ran.values().all(|runs| runs.len() == 1), "each once: {ran:?}");
    drop(heard);

    let engaged = running.handle().fleet().clusters();
    running.stop().await;
    eventually(LIMIT, "nothing left", async || {
        let connections: usize = engaged.iter().map(mcrt::Cluster::connection_tasks).sum();
        match (site.open(), connections, alive_tasks()) {
            (0, 0, now) if now <= tasks => Ok(()),
            left => Err(format!("{left:?}, {tasks} tasks before")),
        }
    })
    .await;
    Ok(())
}

/// Fifty clusters, and the proxies before some.
struct Site {
    clusters: Clusters,
    bright: Vec<String>,
    dark: Vec<String>,
    swallowed: Vec<Proxy>,
    refusing: Proxy,
}

impl Site {
    async fn of(planes: &Planes) -> Result<Self, Box<dyn std::error::Error>> {
        let clusters = Clusters::new();
        let bright: Vec<_> = (0..45).map(|index| format!("bright-{index:02}")).collect();
        for name in &bright {
            clusters.add(cluster(name, &planes.good.kubeconfig(name)))?;
        }
        let dark = ["frozen-0", "frozen-1", "swallowed-0", "swallowed-1", "refusing"].map(str::to_owned);
        for name in &dark[..2] {
            clusters.add(cluster(name, &planes.frozen.kubeconfig(name)))?;
        }
        let mut proxies = Vec::new();
        for name in &dark[2..] {
            let proxy = Proxy::to(address(&planes.good)).await?;
            clusters.add(cluster(name, &through(&planes.good, name, proxy.address())))?;
            proxies.push(proxy);
        }
        let refusing = proxies.pop().ok_or("the last one refuses")?;
        Ok(Self {
            clusters,
            bright,
            dark: dark.to_vec(),
            swallowed: proxies,
            refusing,
        })
    }

    fn fall(&self, planes: &Planes) {
        planes.frozen.freeze();
        self.swallowed.iter().for_each(Proxy::fall_silent);
        self.refusing.refuse();
    }

    fn lift(&self, planes: &Planes) {
        planes.frozen.thaw();
        for proxy in self.swallowed.iter().chain([&self.refusing]) {
            proxy.mend(address(&planes.good));
        }
    }

    /// The runs in dark clusters for the objects of the start, by request.
    fn runs_since(&self, work: &Work, since: Instant) -> BTreeMap<String, Vec<Instant>> {
        let mut ran = BTreeMap::new();
        for cluster in &self.dark {
            for object in OBJECTS {
                let mut runs = work.runs(cluster, object);
                runs.retain(|at| *at > since);
                if !runs.is_empty() {
                    ran.insert(format!("{cluster}/{object}"), runs);
                }
            }
        }
        ran
    }

    fn open(&self) -> usize {
        let proxies = self.swallowed.iter().chain([&self.refusing]);
        proxies.map(Proxy::open).sum()
    }
}

fn asked(dark: &[String]) -> Vec<(ClusterName, ObjectKey)> {
    let of = |cluster: &String| {
        let name: ClusterName = cluster.as_str().try_into().unwrap();
        OBJECTS.map(|object| (name.clone(), ObjectKey::namespaced("default", object)))
    };
    dark.iter().flat_map(of).collect()
}

/// How each cluster fares, and since when it is known.
struct Heard {
    told: Arc<Mutex<BTreeMap<String, (Instant, Health)>>>,
    fleet: Fleet,
    listening: JoinHandle<()>,
}

impl Heard {
    fn of(fleet: &Fleet) -> Self {
        let mut events = fleet.events();
        let told = Arc::<Mutex<BTreeMap<_, _>>>::default();
        let keeps = told.clone();
        let listening = tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if let FleetEvent::Health(cluster, health) = event {
                    keeps.lock().insert(cluster.to_string(), (Instant::now(), health));
                }
            }
        });
        Self {
            told,
            fleet: fleet.clone(),
            listening,
        }
    }

    /// All of these fare like this, and were told to so soon after an instant.
    async fn until(&self, clusters: &[String], since: Instant, limit: Duration, word: &str) {
        eventually(LIMIT, word, async || {
            clusters.iter().try_for_each(|cluster| {
                let name: ClusterName = cluster.as_str().try_into().unwrap();
                match self.fleet.get(&name).map(|cluster| cluster.health()) {
                    Some(health) if health.as_str() == word => Ok(()),
                    health => Err(format!("{cluster}: {health:?}")),
                }
            })
        })
        .await;
        let told = self.told.lock();
        let late: Vec<_> = clusters
            .iter()
            .filter_map(|cluster| Some((cluster, told.get(cluster)?.0.checked_duration_since(since)?)))
            .filter(|(_, after)| *after > limit)
            .collect();
        assert!(late.is_empty(), "{word} too late: {late:?}");
    }

    /// Which of these is told to be anything but ready.
    fn unwell(&self, clusters: &[String]) -> Vec<String> {
        let told = self.told.lock();
        let unwell = |cluster: &&String| told.get(*cluster).is_some_and(|(_, health)| !health.is_ready());
        clusters.iter().filter(unwell).cloned().collect()
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
