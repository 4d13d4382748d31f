//! What a cluster has to have and to pass to be ready, and what it means when it is not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures::{
    StreamExt as _,
    channel::mpsc::{UnboundedReceiver, unbounded},
    stream::{self, BoxStream},
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::{
    Controller, Fleet, Health, Watch,
    connect::Access,
    provider::{Change, ClusterSpec, Provider, ProviderContext},
    providers::Clusters,
    testing::{Setup, TestFleet},
};
use mcrt_sim::{Server, User, Verdict};
use mcrt_tests::{
    logs::Logs,
    simulated::{Recorder, Running, Sims, config, fail_kind, hang, name},
};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use tower::ServiceExt as _;

const SECOND: Duration = Duration::from_secs(1);

fn is(fleet: &Fleet, expected: &str) -> Result<(), String> {
    let complaints = fleet.get(&name("a")).map(|cluster| cluster.complaints());
    match fleet.health(&name("a")) {
        health if health.as_str() == expected => Ok(()),
        health => Err(format!("{health}, not {expected}: {complaints:?}")),
    }
}

async fn becomes(running: &Running<'_>, limit: Duration, expected: &str) -> Vec<String> {
    running
        .within(limit, &format!("it is {expected}"), async || {
            is(running.handle.fleet(), expected)
        })
        .await;
    running.cluster("a").complaints()
}

/// A controller of `ConfigMap`s that own `Secret`s.
fn controller(seen: &Recorder) -> Controller {
    let mut wiring = seen.wiring("seen");
    wiring.owns::<Secret>(Watch::new());
    seen.build(wiring)
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_too_old_is_degraded_and_reconciled_all_the_same() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.set_version("v1.27.9-eks-1");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .settings(|settings| settings.health.readiness.minimum_version = Some((1, 28)))
        .controller(controller(&seen))
        .run(async |running| {
            let complaints = becomes(running, SECOND * 100, "degraded").await;
            assert_eq!(
                complaints,
                ["Kubernetes v1.27.9-eks-1, at least 1.28 is required"]
            );
            assert_eq!(running.cluster("a").version().as_deref(), Some("v1.27.9-eks-1"));
            running
                .until("it is reconciled", async || seen.expect("a", "object", 1))
                .await;
            server.set_version("v1.28.0");
            becomes(running, SECOND * 40, "ready").await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_and_a_permission_that_is_not_held_are_named() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.unserve("", "secrets");
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(controller(&seen))
        .run(async |running| {
            let complaints = becomes(running, SECOND * 150, "degraded").await;
            assert_eq!(complaints, ["secrets (v1) is not served"]);
        })
        .await;

    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    let user = User::new("limited").may(["get", "list", "watch"], ["configmaps"]);
    server.add_token("limited", user.clone());
    let token = http::HeaderValue::from_static("Bearer limited");
    let service = server
        .service()
        .map_request(move |mut request: http::Request<kube::client::Body>| {
            request.headers_mut().insert("authorization", token.clone());
            request
        });
    let access = Access::service(server.uid(), service);
    sims.provider()
        .replace(ClusterSpec::new(name("a"), server.uid(), access));
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(controller(&seen))
        .run(async |running| {
            let complaints = becomes(running, SECOND * 150, "degraded").await;
            let expected =
                "may not list secrets (v1) in all namespaces; may not watch secrets (v1) in all namespaces";
            assert_eq!(complaints, [expected]);
            server.add_token("limited", user.may(["list", "watch"], ["secrets"]));
            becomes(running, SECOND * 80, "ready").await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_has_everything_is_asked_for_little() {
    let sims = Sims::of(["a"]);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(controller(&seen))
        .run(async |running| {
            running.settled().await;
            sleep(SECOND * 60).await;
            let before = sims.server("a").counters();
            sleep(SECOND * 600).await;
            let after = sims.server("a").counters();
            let watches = after.watches - before.watches;
            let others = after.requests - before.requests - watches;
            assert!((100..=155).contains(&others), "{others} requests in ten minutes");
            assert_eq!(
                after.writes, before.writes,
                "no permission is asked for that a watch shows"
            );
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn refusals_are_no_outage_and_credentials_that_work_again_are_noticed() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            for (code, lane_open) in [(401, false), (403, true)] {
                server.hook(move |request| match request.path() {
                    "/readyz" => Verdict::fail(code),
                    _ => Verdict::Pass,
                });
                becomes(running, SECOND * 20, "unauthorized").await;
                let health = running.cluster("a").health();
                assert!(matches!(health, Health::Unauthorized { status, .. } if status == code));
                let lane = running.controller("seen").lane(&name("a")).expect("a lane");
                assert_eq!(lane.paused, !lane_open, "{code}");
                server.clear_hook();
                becomes(running, SECOND * 10, "ready").await;
            }
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_never_accepted_us_is_not_watched_until_it_does() {
    let sims = Sims::of([]);
    let server = Server::new("a");
    server.create(config("object")).unwrap();
    server.hook(|_| Verdict::fail(401));
    sims.put(&server);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            becomes(running, SECOND, "unauthorized").await;
            sleep(SECOND * 60).await;
            assert_eq!(server.counters().lists + server.counters().watches, 0);
            server.clear_hook();
            running
                .within(SECOND * 10, "it is reconciled", async || {
                    seen.expect("a", "object", 1)
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_it_is_not_ready_goes_on_being_used() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            server.hook(|request| match request.path() {
                "/readyz" => Verdict::fail(500),
                _ => Verdict::Pass,
            });
            let complaints = becomes(running, SECOND * 30, "degraded").await;
            assert_eq!(complaints, ["/readyz answers 500"]);
            server.create(config("object")).unwrap();
            running
                .within(SECOND, "it is reconciled", async || seen.expect("a", "object", 1))
                .await;
        })
        .await;
}

fn checked(checks: impl Fn(u32) -> Verdicts + Send + Sync + 'static) -> Setup {
    let runs = AtomicU32::new(0);
    TestFleet::start(["a"])
        .built_controller(Recorder::<ConfigMap>::default().controller("seen"))
        .health_check("billing", move |cluster| {
            assert!(!cluster.is_host());
            let run = runs.fetch_add(1, Ordering::SeqCst);
            let verdict = checks(run);
            async move {
                match verdict {
                    Verdicts::Passes => Ok(()),
                    Verdicts::Fails => Err(mcrt::Error::msg("no invoice is written")),
                    Verdicts::Panics => panic!("what now"),
                    Verdicts::Hangs => std::future::pending().await,
                }
            }
        })
}

#[derive(Clone, Copy)]
enum Verdicts {
    Passes,
    Fails,
    Panics,
    Hangs,
}

async fn fleet_is(fleet: &TestFleet, limit: Duration, expected: &str) {
    fleet
        .within(limit, &format!("it is {expected}"), async || {
            is(fleet.manager().fleet(), expected)
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_check_of_the_program_that_fails_three_times_degrades_the_cluster_until_it_passes() {
    let cases = [
        (Verdicts::Fails, "check `billing`: no invoice is written"),
        (Verdicts::Panics, "check `billing` panicked: what now"),
        (Verdicts::Hangs, "check `billing`: no answer within 10s"),
    ];
    for (verdict, complaint) in cases {
        let fleet = checked(move |run| {
            if (1..6).contains(&run) {
                verdict
            } else {
                Verdicts::Passes
            }
        })
        .await;
        fleet_is(&fleet, SECOND, "ready").await;
        sleep(SECOND * 130).await;
        fleet_is(&fleet, SECOND * 130, "degraded").await;
        assert_eq!(fleet.engaged("a").complaints(), [complaint]);
        fleet_is(&fleet, SECOND * 300, "ready").await;
        fleet.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_checks_hang_leaves_at_once() {
    let fleet = checked(|_| Verdicts::Hangs)
        .settings(|settings| settings.health.application.deadline = SECOND * 3_600)
        .await;
    fleet_is(&fleet, SECOND, "ready").await;
    sleep(SECOND * 5).await;
    let cluster = fleet.engaged("a");
    let began = Instant::now();
    fleet.leave("a");
    fleet
        .within(SECOND, "nothing of it is left", async || {
            match cluster.connection_tasks() {
                0 => Ok(()),
                tasks => Err(format!("{tasks} tasks")),
            }
        })
        .await;
    assert!(began.elapsed() < SECOND);
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_refused_whatever_the_reviews_say_degrades_the_cluster_and_leaves_the_lane_open() {
    let sims = Sims::of(["a"]);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(controller(&seen))
        .run(async |running| {
            running.settled().await;
            let server = sims.server("a");
            fail_kind(&server, "secrets", 403);
            server.disconnect_watches();
            let complaints = becomes(running, SECOND * 150, "degraded").await;
            assert_eq!(complaints, ["the watch of secrets (v1) is refused"]);
            server.create(config("object")).unwrap();
            running
                .within(SECOND * 10, "it is reconciled", async || {
                    seen.expect("a", "object", 1)
                })
                .await;
        })
        .await;
}

/// The provider of a fleet, which can also fail to read a description.
struct Fallible {
    clusters: Clusters,
    failures: Arc<Mutex<Option<UnboundedReceiver<String>>>>,
}

impl Provider for Fallible {
    fn name(&self) -> &'static str {
        "fallible"
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let failures = self.failures.lock().take();
        let failures = stream::iter(failures).flatten().map(Change::Failed);
        stream::select(Arc::new(self.clusters.clone()).changes(cx), failures).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_description_that_cannot_be_read_is_no_outage_and_an_outage_is_no_wrong_description() {
    let logs = Logs::keep();
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let (fail, failures) = unbounded();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .provider(Fallible {
            clusters: sims.provider(),
            failures: Arc::new(Mutex::new(Some(failures))),
        })
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let epoch = running.cluster("a").epoch();
            fail.unbounded_send("secret `a`: not a kubeconfig at line 3".to_owned())
                .unwrap();
            server.hook(|_| Verdict::Pass);
            server.create(config("more")).unwrap();
            running
                .within(SECOND, "the last good description is used", async || {
                    seen.expect("a", "more", 1)
                })
                .await;
            is(running.handle.fleet(), "ready").unwrap();
            assert_eq!(logs.with(&["WARN", "not a kubeconfig at line 3"]).len(), 1);
            // The network goes while the description is still wrong: that is what its health says.
            server.hook(|_| Verdict::Reset);
            server.disconnect_watches();
            becomes(running, SECOND * 20, "unreachable").await;
            server.clear_hook();
            becomes(running, SECOND * 10, "ready").await;
            assert_eq!(running.cluster("a").epoch(), epoch, "no new life");
            sims.leave("a");
            running
                .within(SECOND, "only its removal takes it away", async || {
                    is(running.handle.fleet(), "not found")
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_program_that_is_started_while_a_cluster_is_down_is_ready_after_its_patience() {
    let sims = Sims::of(["a", "b", "c", "d", "e"]);
    hang(&sims.server("c"));
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            let fleet = running.handle.fleet();
            let began = Instant::now();
            assert_eq!(fleet.settled(SECOND * 10).await, Some(vec![name("c")]));
            assert_eq!(began.elapsed(), SECOND * 10);
            sims.server("c").clear_hook();
            assert_eq!(fleet.settled(SECOND * 60).await, Some(Vec::new()));
            let began = Instant::now();
            assert_eq!(fleet.settled(SECOND * 60).await, Some(Vec::new()));
            assert_eq!(began.elapsed(), Duration::ZERO);
        })
        .await;
}
