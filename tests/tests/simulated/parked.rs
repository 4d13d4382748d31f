//! What waits for a cluster is let go when that is back or known, whatever else keeps lanes closed.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use mcrt::{Action, ControllerBuilder, FleetEvent, Health, Place, Requests as Wanted, Watch};
use mcrt_sim::{Fault, Faults, Requests, Server, Verdict};
use mcrt_tests::{
    logs::Logs,
    simulated::{Call, Recorder, Running, Sims, config, fail_kind, hang_kind, name, secret, with_data},
};
use serde_json::json;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

/// Sends the work on the host's object to each cluster that becomes ready. Its lane on the host needs Secrets.
fn fan_out() -> ControllerBuilder<Recorder> {
    let mut wiring = ControllerBuilder::new("fan-out");
    wiring.for_kind(Watch::new().on(Place::Host).labels("mcrt.dev/test"));
    wiring.watches(
        Watch::<Secret>::new().on(Place::Host),
        |_, _, _| -> Wanted<Recorder> { Wanted::none() },
    );
    wiring.on_fleet(|_, event, cx| match event {
        FleetEvent::Health(cluster, Health::Ready) if !cluster.is_host() => {
            let host = cx.cluster().name().clone();
            let object = mcrt::ObjectKey::namespaced("default", "object");
            Some(mcrt::Request::<ConfigMap>::new(host, object).targeting(cluster.name().clone()))
        }
        _ => None,
    });
    wiring
}

fn refused(server: &Server) {
    server.faults(Faults::none().on(Requests::any(), Fault::refuse()));
    server.disconnect_watches();
}

async fn host_is(running: &Running<'_>, expected: &str) {
    running
        .within(SECOND * 20, &format!("the host is {expected}"), async || {
            let host = running.handle.fleet().host().ok_or("no host")?;
            let health = host.health();
            (health.as_str() == expected)
                .then_some(())
                .ok_or_else(|| health.to_string())
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn work_that_waits_for_its_home_goes_on_when_that_is_back_though_its_own_lane_never_opens() {
    let sims = Sims::of(["a"]);
    sims.host().create(config("object")).unwrap();
    fail_kind(sims.host(), "secrets", 403);
    let seen: Recorder = Recorder::default().doing(|call| async move {
        let reports = Api::<ConfigMap>::namespaced(call.cx.host().client(), "default");
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"seen": "yes"}}}));
        reports.patch("object", &PatchParams::default(), &patch).await?;
        Ok(Action::await_change())
    });
    sims.manager()
        .controller(seen.build(fan_out()))
        .run(async |running| {
            running
                .until("it is worked on in a", async || seen.expect("a", "object", 1))
                .await;
            refused(sims.host());
            host_is(running, "unreachable").await;
            seen.forget();
            assert!(running.handle.fleet().suspend(&name("a")));
            assert!(running.handle.fleet().resume(&name("a")));
            running
                .until("it is tried", async || seen.expect("a", "object", 1))
                .await;
            sims.host().clear_faults();
            running
                .within(SECOND * 10, "it runs once the host is back", async || {
                    seen.expect("a", "object", 2)
                })
                .await;
            assert_eq!(seen.runs()[1].attempt, 0, "nothing counts as failed");
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn work_that_waits_for_what_its_home_has_goes_on_when_that_is_known() {
    let sims = Sims::of(["a"]);
    sims.host().create(config("object")).unwrap();
    sims.host().hook(|request| match request.plural() {
        "configmaps" => Verdict::Hang,
        "secrets" => Verdict::fail(403),
        _ => Verdict::Pass,
    });
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.build(fan_out()))
        .run(async |running| {
            running
                .within(SECOND * 20, "a is ready", async || {
                    match running.handle.fleet().health(&name("a")) {
                        Health::Ready => Ok(()),
                        health => Err(health.to_string()),
                    }
                })
                .await;
            sleep(SECOND).await;
            seen.expect("a", "object", 0).unwrap();
            fail_kind(sims.host(), "secrets", 403);
            running
                .within(SECOND * 200, "it is worked on", async || {
                    seen.expect("a", "object", 1)
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_runs_into_its_own_timeout_in_an_outage_has_not_failed() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        if call.object.data.is_none() {
            std::future::pending::<()>().await;
        }
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("hangs");
    wiring.timeout(SECOND * 30);
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running
                .until("it hangs", async || seen.expect("a", "object", 1))
                .await;
            refused(&server);
            sleep(SECOND * 60).await;
            seen.expect("a", "object", 1).unwrap();
            server
                .replace(with_data(config("object"), "key", "value"))
                .unwrap();
            server.clear_faults();
            running
                .within(SECOND * 10, "it runs again", async || {
                    seen.expect("a", "object", 2)
                })
                .await;
            assert_eq!(seen.runs()[1].attempt, 0, "nothing counts as failed");
            assert_eq!(running.controller("hangs").counters().timeouts, 0);
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_first_list_of_an_optional_kind_is_waited_for_however_late_its_cluster_is_reached() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    server.create(secret("secret")).unwrap();
    refused(&server);
    let seen: Recorder = Recorder::default().doing(|call: Call| async move {
        let synced = call.cx.store::<Secret>().is_synced();
        assert!(synced, "reconciled before the optional kind was listed");
        Ok(Action::await_change())
    });
    let mut wiring = seen.wiring("optional");
    wiring.watches(Watch::<Secret>::new().optional(), |_, _, _| -> Wanted<Recorder> {
        Wanted::none()
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            sleep(SECOND * 60).await;
            hang_kind(&server, "secrets");
            server.clear_faults();
            running
                .within(SECOND * 30, "it is reached", async || {
                    match running.handle.fleet().health(&name("a")) {
                        Health::Ready => Ok(()),
                        health => Err(health.to_string()),
                    }
                })
                .await;
            sleep(SECOND * 3).await;
            seen.expect("a", "object", 0).unwrap();
            running
                .within(SECOND * 20, "it is waited for no longer than that", async || {
                    seen.expect("a", "object", 1)
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_waits_for_its_watches_is_not_complained_of_while_its_cluster_is_down() {
    let logs = Logs::keep();
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    hang_kind(&server, "configmaps");
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("waits"))
        .run(async |running| {
            running
                .within(SECOND * 120, "it is told that it waits", async || {
                    let told = logs.with(&["WARN", "going on waiting"]);
                    (told.len() == 1).then_some(()).ok_or_else(|| logs.text())
                })
                .await;
            refused(&server);
            sleep(SECOND * 600).await;
            let told = logs.with(&["WARN", "going on waiting"]).len();
            assert!(told <= 2, "told {told} times of what an outage holds up");
        })
        .await;
}
