//! Clusters that their provider describes in a way that cannot be used: the last good stays, and everybody can know why.

use std::{sync::Arc, time::Duration};

use futures::{
    FutureExt as _, StreamExt as _,
    stream::{self, BoxStream},
};
use kube::config::Kubeconfig;
use mcrt::{
    FleetEvent, Health, Provider,
    connect::{Access, Connection},
    provider::{Change, ClusterSpec, ProviderContext},
};
use mcrt_tests::{
    logs::Logs,
    simulated::{Recorder, Running, Sims, config, name, spec},
};
use tokio::sync::{Mutex, mpsc};

const SECOND: Duration = Duration::from_secs(1);

/// Says what the test says, when it says it; `None` ends the stream.
#[derive(Clone)]
struct Spoken(Arc<Mutex<mpsc::UnboundedReceiver<Option<Change>>>>);

fn spoken() -> (mpsc::UnboundedSender<Option<Change>>, Spoken) {
    let (says, hears) = mpsc::unbounded_channel();
    (says, Spoken(Arc::new(Mutex::new(hears))))
}

impl Provider for Spoken {
    fn name(&self) -> &'static str {
        "spoken"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        stream::unfold(self, async |provider| {
            let change = provider.0.lock().await.recv().await??;
            Some((change, provider))
        })
        .boxed()
    }
}

fn rejected(cluster: &str, reason: &str) -> Change {
    Change::Rejected {
        name: name(cluster),
        reason: reason.to_owned(),
    }
}

fn reasons(running: &Running<'_>) -> Vec<String> {
    let rejections = running.handle.fleet().rejections();
    rejections
        .iter()
        .map(|(name, reason)| format!("{name}: {reason}"))
        .collect()
}

async fn rejections(running: &Running<'_>, expected: &[&str]) {
    running
        .until("the rejections are known", async || match reasons(running) {
            now if now == expected => Ok(()),
            now => Err(format!("{now:?}, not {expected:?}")),
        })
        .await;
}

/// What was told of rejections since the last look.
fn told(events: &mut (impl futures::Stream<Item = FleetEvent> + Unpin)) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(Some(event)) = events.next().now_or_never() {
        match event {
            FleetEvent::Rejected(name, reason) => told.push(format!("{name} rejected: {reason}")),
            FleetEvent::Cleared(name) => told.push(format!("{name} cleared")),
            _ => {}
        }
    }
    told
}

#[tokio::test(start_paused = true)]
async fn a_rejected_cluster_goes_on_as_it_was_and_says_why_until_it_is_described_well_again() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    let (says, provider) = spoken();
    let say = |change: Change| says.send(Some(change)).unwrap();
    for member in ["a", "b"] {
        say(Change::Upsert(spec(&sims.server(member))));
    }
    say(Change::Synced);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .provider(provider)
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let mut events = running.handle.fleet().events();
            let epoch = running.cluster("a").epoch();
            for reason in ["no server", "no server", "no user"] {
                say(rejected("a", reason));
            }
            rejections(running, &["a: no user"]).await;
            assert_eq!(
                told(&mut events),
                ["a rejected: no server", "a rejected: no user"]
            );
            assert_eq!(
                logs.with(&["WARN", "cluster=a", "goes on", "no user"]).len(),
                1,
                "{logs:?}"
            );
            sims.server("a").create(config("object")).unwrap();
            running
                .until("it is worked on meanwhile", async || {
                    seen.expect("a", "object", 1)
                })
                .await;

            say(Change::Upsert(spec(&sims.server("a"))));
            rejections(running, &[]).await;
            assert_eq!(told(&mut events), ["a cleared"]);
            running.settled().await;
            seen.expect("a", "object", 1).unwrap();
            assert_eq!(running.cluster("a").epoch(), epoch);
            assert_eq!(sims.server("a").counters().kind("configmaps").lists, 1);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_never_described_well_is_left_out_and_forgotten_with_its_removal() {
    let sims = Sims::of(["a"]);
    let (says, provider) = spoken();
    let say = |change: Change| says.send(Some(change)).unwrap();
    say(Change::Upsert(spec(&sims.server("a"))));
    say(rejected("b", "two clusters claim this name"));
    say(Change::Synced);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .provider(provider)
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let fleet = running.handle.fleet();
            rejections(running, &["b: two clusters claim this name"]).await;
            assert_eq!(fleet.health(&name("b")), Health::NotFound);
            assert_eq!(fleet.settled(SECOND).await, Some(Vec::new()));
            let mut events = fleet.events();
            say(Change::Remove(name("b")));
            rejections(running, &[]).await;
            assert_eq!(told(&mut events), ["b cleared"]);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn rejections_outlive_a_stream_and_go_with_what_the_next_one_does_not_name() {
    let sims = Sims::of(["a"]);
    let (says, provider) = spoken();
    let say = |change: Change| says.send(Some(change)).unwrap();
    let describe = || Change::Upsert(spec(&sims.server("a")));
    say(describe());
    say(rejected("a", "no user"));
    say(rejected("b", "no server"));
    say(Change::Synced);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .provider(provider)
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let epoch = running.cluster("a").epoch();
            let both = ["a: no user", "b: no server"];
            rejections(running, &both).await;
            let mut events = running.handle.fleet().events();
            says.send(None).unwrap();
            tokio::time::sleep(SECOND * 5).await;
            rejections(running, &both).await;

            // The next stream names one as it was, which tells nothing new, and the other not.
            say(rejected("a", "no user"));
            tokio::time::sleep(SECOND).await;
            rejections(running, &both).await;
            say(Change::Synced);
            rejections(running, &["a: no user"]).await;
            assert_eq!(told(&mut events), ["b cleared"]);
            assert_eq!(running.cluster("a").epoch(), epoch, "named, if not well");
            sims.server("a").create(config("object")).unwrap();
            running
                .until("it is worked on", async || seen.expect("a", "object", 1))
                .await;
            say(describe());
            rejections(running, &[]).await;
        })
        .await;
}

/// Access that passes for one until a client is built: no certificate can be for such a name.
fn unusable() -> Access {
    let server = "https://two..dots:1";
    let kubeconfig = serde_json::json!({
        "contexts": [{ "name": "c", "context": { "cluster": "k" } }],
        "clusters": [{ "name": "k", "cluster": { "server": server, "insecure-skip-tls-verify": true } }],
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig).unwrap();
    Connection::from_kubeconfig(&kubeconfig, "c").unwrap().into()
}

#[tokio::test(start_paused = true)]
async fn what_no_client_can_be_built_from_is_rejected_as_if_the_provider_had_said_so() {
    let sims = Sims::of(["a"]);
    let provider = sims.provider();
    provider.replace(ClusterSpec::new(name("b"), "b", unusable()));
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            let known = async |cluster: &str| {
                running
                    .until("it is rejected", async || match reasons(running) {
                        now if now.len() == 1 && now[0].starts_with(cluster) => Ok(now[0].clone()),
                        now => Err(format!("{now:?}")),
                    })
                    .await
            };
            let said = known("b: ").await;
            assert!(said.contains("cannot be used"), "{said}");
            provider.remove(&name("b"));
            rejections(running, &[]).await;

            let epoch = running.cluster("a").epoch();
            provider.replace(ClusterSpec::new(name("a"), "another", unusable()));
            known("a: ").await;
            assert_eq!(running.cluster("a").epoch(), epoch);
            sims.put(&sims.server("a"));
            rejections(running, &[]).await;
            assert_eq!(running.cluster("a").epoch(), epoch);
        })
        .await;
}
