//! What a provider says and what becomes of it: lives that go on, end or begin anew.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use kube::config::Kubeconfig;
use mcrt::{
    ClusterName, Epoch, Manager, Place, Provider, StartError, Watch,
    connect::{Access, Connection},
    provider::{Change, ClusterSpec, ProviderContext},
    providers::{self, Merge},
};
use mcrt_tests::{
    logs::Logs,
    simulated::{Recorder, Running, Sims, config, name, spec},
};
use parking_lot::Mutex;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

/// Says what it is told to: one script for each stream, which ends after all but the last.
#[derive(Clone, Default)]
struct Scripted {
    streams: Arc<Mutex<VecDeque<Script>>>,
    started: Arc<AtomicUsize>,
}

enum Script {
    Ends(Vec<Change>),
    Stays(Vec<Change>),
    Panics,
}

impl Scripted {
    fn of(streams: impl IntoIterator<Item = Script>) -> Self {
        Self {
            streams: Arc::new(Mutex::new(streams.into_iter().collect())),
            started: Arc::default(),
        }
    }
}

impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        self.started.fetch_add(1, Relaxed);
        match self.streams.lock().pop_front() {
            Some(Script::Ends(changes)) => stream::iter(changes).boxed(),
            Some(Script::Stays(changes)) => stream::iter(changes).chain(stream::pending()).boxed(),
            Some(Script::Panics) => panic!("a broken provider"),
            None => stream::pending().boxed(),
        }
    }
}

fn upsert(sims: &Sims, member: &str) -> Change {
    Change::Upsert(spec(&sims.server(member)))
}

fn epoch(running: &Running<'_>, cluster: &str) -> Option<Epoch> {
    running
        .handle
        .fleet()
        .get(&name(cluster))
        .map(|cluster| cluster.epoch())
}

async fn started(running: &Running<'_>, provider: &Scripted, streams: usize) {
    running
        .until("the provider is asked again", async || {
            match provider.started.load(Relaxed) {
                now if now == streams => Ok(()),
                now => Err(format!("asked {now} times")),
            }
        })
        .await;
    sleep(SECOND / 10).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_keeps_its_clusters_and_the_next_says_which_are_gone() {
    let sims = Sims::of(["a", "b"]);
    let provider = Scripted::of([
        Script::Ends(vec![upsert(&sims, "a"), upsert(&sims, "b"), Change::Synced]),
        // Ends before it has told everything: that says nothing of `b`.
        Script::Ends(vec![upsert(&sims, "a")]),
        Script::Ends(vec![Change::Failed("cannot be read".to_owned())]),
        Script::Stays(vec![upsert(&sims, "a"), Change::Synced]),
    ]);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .provider(provider.clone())
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let (a, b) = (epoch(running, "a"), epoch(running, "b"));
            for stream in [2, 3] {
                started(running, &provider, stream).await;
                assert_eq!(
                    (epoch(running, "a"), epoch(running, "b")),
                    (a, b),
                    "stream {stream}"
                );
            }
            started(running, &provider, 4).await;
            assert_eq!((epoch(running, "a"), epoch(running, "b")), (a, None));
            sims.server("a").create(config("object")).unwrap();
            running
                .until("the other goes on", async || seen.expect("a", "object", 1))
                .await;
            assert_eq!(sims.server("a").counters().kind("configmaps").lists, 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_is_asked_again_and_its_clusters_go_on() {
    let sims = Sims::of(["a", "b"]);
    let provider = Scripted::of([
        Script::Ends(vec![upsert(&sims, "a"), Change::Synced]),
        Script::Panics,
        Script::Stays(vec![upsert(&sims, "a"), upsert(&sims, "b"), Change::Synced]),
    ]);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .provider(provider)
        .controller(seen.controller("seen"))
        .run(async |running| {
            running
                .until("the first is engaged", async || {
                    epoch(running, "a").ok_or_else(|| "no".to_owned())
                })
                .await;
            let a = epoch(running, "a");
            running.settled().await;
            assert_eq!(epoch(running, "a"), a);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn naming_a_cluster_again_changes_its_life_only_if_it_is_another() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let first = epoch(running, "a");
            sims.put(&server);
            sims.label("a", &[("region", "north")]);
            running
                .until("its properties change in place", async || {
                    let properties = running.cluster("a").properties();
                    match properties.labels.get("region").map(String::as_str) {
                        Some("north") => Ok(()),
                        other => Err(format!("{other:?}")),
                    }
                })
                .await;
            assert_eq!(epoch(running, "a"), first);
            running.settled().await;
            seen.expect("a", "object", 1).unwrap();
            assert_eq!(server.counters().kind("configmaps").lists, 1);

            // The same server under another identity of its credentials.
            let access = Access::service("rotated", server.service());
            sims.provider()
                .replace(ClusterSpec::new(name("a"), server.uid(), access));
            running
                .until("it begins a new life", async || seen.expect("a", "object", 2))
                .await;
            let second = epoch(running, "a");
            assert_ne!(second, first);

            // The same way to reach it, but another object that announces it.
            let access = Access::service("rotated", server.service());
            sims.provider()
                .replace(ClusterSpec::new(name("a"), "another", access));
            running
                .until("it begins a third life", async || seen.expect("a", "object", 3))
                .await;
            assert_ne!(epoch(running, "a"), second);
            running.settled().await;
            assert_eq!(server.counters().open_watches, 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_removed_and_added_in_one_breath_is_another_life() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let first = epoch(running, "a");
            sims.leave("a");
            sims.put(&server);
            running
                .until("it is engaged anew", async || match epoch(running, "a") {
                    now if now.is_some() && now != first => Ok(()),
                    now => Err(format!("{now:?}")),
                })
                .await;
            running.settled().await;
            server.create(config("object")).unwrap();
            running
                .until("it works", async || seen.expect("a", "object", 1))
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_can_neither_give_nor_take_the_host() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    let mut other = spec(&sims.server("b"));
    other.name = ClusterName::host();
    let provider = Scripted::of([Script::Stays(vec![
        upsert(&sims, "a"),
        upsert(&sims, "b"),
        Change::Upsert(other),
        Change::Remove(ClusterName::host()),
        Change::Synced,
    ])]);
    let seen: Recorder = Recorder::default();
    let mut wiring = mcrt::ControllerBuilder::new("seen");
    wiring.for_kind(Watch::new().on(Place::Host));
    sims.manager()
        .provider(provider)
        .controller(seen.build(wiring))
        .run(async |running| {
            let host = running.handle.fleet().host();
            assert!(host.is_some());
            running.settled().await;
            assert_eq!(running.handle.fleet().host(), host);
            sims.host().create(config("object")).unwrap();
            running
                .until("the host works", async || seen.expect("host", "object", 1))
                .await;
            assert_eq!(logs.with(&["WARN", "ManagerBuilder::host"]).len(), 2, "{logs:?}");
        })
        .await;
}

/// Access that passes for one until a client is built: no certificate can be for such a name.
fn unusable() -> Access {
    let kubeconfig = serde_json::json!({
        "contexts": [{ "name": "c", "context": { "cluster": "k" } }],
        "clusters": [{ "name": "k", "cluster": {
            "server": "https://two..dots:1",
            "insecure-skip-tls-verify": true,
        } }],
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).unwrap();
    Connection::from_kubeconfig(&kubeconfig, "c").unwrap().into()
}

#[tokio::test(start_paused = true)]
async fn a_host_that_no_client_can_be_built_for_is_an_error_at_the_start() {
    let sims = Sims::of([]);
    let seen: Recorder = Recorder::default();
    let mut wiring = seen.wiring("seen");
    wiring.uses::<k8s_openapi::api::core::v1::Secret>(mcrt::Uses::new().on(Place::Host));
    let built = Manager::builder()
        .provider(sims.provider())
        .host(unusable())
        .controller(seen.build(wiring))
        .build();
    assert!(matches!(built, Err(StartError::Connect(_))), "{built:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_no_client_can_be_built_for_is_left_out_until_it_is_described_otherwise() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    let broken = ClusterSpec::new(name("b"), "b", unusable());
    sims.provider().replace(broken);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running
                .until("it is said", async || {
                    match logs.with(&["WARN", "cluster=b", "left out"]).len() {
                        1 => Ok(()),
                        _ => Err(logs.text()),
                    }
                })
                .await;
            assert_eq!(epoch(running, "b"), None);
            sims.put(&sims.server("b"));
            running.settled().await;
            let good = epoch(running, "b");
            sims.provider()
                .replace(ClusterSpec::new(name("b"), "b", unusable()));
            running
                .until("it is said", async || {
                    match logs.with(&["WARN", "cluster=b", "goes on"]).len() {
                        1 => Ok(()),
                        _ => Err(logs.text()),
                    }
                })
                .await;
            assert_eq!(epoch(running, "b"), good);
        })
        .await;
}

/// In the multicluster-runtime, 40 providers added at run time got stuck in every round.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_providers_added_from_eight_tasks_while_the_manager_runs_are_all_active() {
    const TASKS: usize = 8;
    const EACH: usize = 125;
    let names: Vec<_> = (0..TASKS * EACH)
        .map(|number| format!("member-{number}"))
        .collect();
    let sims = Sims::of(names.iter().map(String::as_str));
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let merge = Merge::new();
    let seen: Recorder = Recorder::default();
    let setup = sims
        .manager()
        .provider(merge.clone())
        .controller(seen.controller("seen"));
    setup
        .run(async |running| {
            let adding = names.chunks(EACH).map(|names| {
                let specs: Vec<_> = names.iter().map(|name| spec(&sims.server(name))).collect();
                let merge = merge.clone();
                tokio::spawn(async move { add_each(&merge, specs).await })
            });
            for task in adding.collect::<Vec<_>>() {
                let longest = task.await.unwrap();
                assert!(longest < SECOND, "a call took {longest:?}");
            }
            running
                .until("every cluster is active", async || {
                    let active: BTreeSet<_> = seen.runs().iter().map(|run| run.cluster.clone()).collect();
                    match active.len() {
                        all if all == names.len() => Ok(()),
                        some => Err(format!("{some} of {} are", names.len())),
                    }
                })
                .await;
            for name in &names[1..] {
                assert!(merge.remove(name).is_some());
            }
            running
                .until("one is left", async || {
                    match running.handle.fleet().clusters().len() {
                        1 => Ok(()),
                        left => Err(format!("{left} are")),
                    }
                })
                .await;
        })
        .await;
}

/// Adds a provider for each cluster; the longest that one call took.
async fn add_each(merge: &Merge, specs: Vec<ClusterSpec>) -> Duration {
    let mut longest = Duration::ZERO;
    for spec in specs {
        let began = std::time::Instant::now();
        let provider = providers::Single::new(spec.name.clone(), spec.access);
        merge.add(spec.name.to_string(), provider).unwrap();
        longest = longest.max(began.elapsed());
        tokio::task::yield_now().await;
    }
    longest
}
