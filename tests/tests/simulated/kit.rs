//! The test kit itself: what it waits for, what it prints when a test fails, and what it does not let pass.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt as _;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use mcrt::{Action, ClusterSelector, Error, testing::TestFleet};
use mcrt_sim::{Fault, Faults, Requests};
use mcrt_tests::simulated::{Recorder, config, labelled, secret};
use tokio::time::Instant;

fn named(name: &str) -> ConfigMap {
    let config: ConfigMap = serde_json::from_value(config(name)).unwrap();
    config
}

/// What a future panics with.
async fn failure(future: impl Future<Output = ()>) -> String {
    let panic = AssertUnwindSafe(future)
        .catch_unwind()
        .await
        .expect_err("it fails");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic
            .downcast_ref::<&str>()
            .copied()
            .unwrap_or_default()
            .to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_fleet_starts_settles_and_stops() {
    let seen: Recorder = Recorder::default();
    let fleet = TestFleet::start(["eu", "us"])
        .built_controller(seen.controller("seen"))
        .await;
    for cluster in fleet.clusters() {
        cluster.create(named("object"));
    }
    fleet.settled().await;
    seen.expect("eu", "object", 1).unwrap();
    seen.expect("us", "object", 1).unwrap();
    let later = fleet.join("ap");
    later.create(named("object"));
    fleet.leave("eu");
    fleet.settled().await;
    seen.expect("ap", "object", 1).unwrap();
    assert_eq!(fleet.manager().fleet().clusters().len(), 2);
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn objects_are_written_and_read_by_type_and_name() {
    let seen: Recorder = Recorder::default();
    let fleet = TestFleet::start(["eu"])
        .built_controller(seen.controller("seen"))
        .await;
    let eu = fleet.cluster("eu");
    let made = eu.create(named("object"));
    assert_eq!(made.metadata.namespace.as_deref(), Some("default"));
    let edited = eu.edit::<ConfigMap>("default/object", |config| {
        config
            .data
            .get_or_insert_default()
            .insert("key".to_owned(), "value".to_owned());
    });
    assert_ne!(edited.metadata.resource_version, made.metadata.resource_version);
    assert_eq!(eu.get::<ConfigMap>("object"), Some(edited));
    eu.delete::<ConfigMap>("object");
    assert_eq!(eu.get::<ConfigMap>("object"), None);
    assert!(
        eu.list::<ConfigMap>()
            .iter()
            .all(|config| config.metadata.name.as_deref() != Some("object"))
    );
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_fleet_is_settled_when_the_last_retry_is_over_and_not_before() {
    let began = Instant::now();
    let patient: Recorder = Recorder::default().doing(move |_| async move {
        match began.elapsed() {
            early if early < Duration::from_secs(30) => Err(Error::msg("too early")),
            _ => Ok(Action::await_change()),
        }
    });
    let fleet = TestFleet::start(["eu"])
        .built_controller(patient.controller("patient"))
        .await;
    fleet.cluster("eu").create(named("object"));
    fleet.idle().await;
    assert!(began.elapsed() < Duration::from_secs(5));
    fleet.settled().await;
    assert!(began.elapsed() >= Duration::from_secs(30));
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_asks_to_be_called_again_is_idle_and_never_settled() {
    let restless: Recorder =
        Recorder::default().doing(|_| async { Ok(Action::requeue(Duration::from_mins(5))) });
    let fleet = TestFleet::start(["eu"])
        .built_controller(restless.controller("restless"))
        .await;
    fleet.cluster("eu").create(named("object"));
    fleet.idle().await;
    let told = failure(fleet.settled_within(Duration::from_mins(20))).await;
    assert!(told.contains("1 requests of restless wait for a time"), "{told}");
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_shows_the_fleet_and_nothing_that_a_secret_holds() {
    let failing: Recorder<Secret> =
        Recorder::default().doing(|_| async { Err(Error::msg("the issuer does not answer")) });
    let fleet = TestFleet::start(["eu"])
        .built_controller(failing.controller("failing"))
        .await;
    let mut object: Secret = serde_json::from_value(secret("token")).unwrap();
    object.data = Some([("key".to_owned(), ByteString(b"hunter2".to_vec()))].into());
    fleet.cluster("eu").create(object);
    fleet.idle().await;
    let told = failure(fleet.within(Duration::from_secs(1), "a token", async || {
        Err::<(), _>("there is none")
    }))
    .await;
    for part in [
        "a token: not within 1s; at last: there is none",
        "Cluster(eu#",
        "watch of secrets with mcrt.dev/test: synced, 1 objects",
        "controller failing: ",
        "1 delayed",
        "failed: cluster://eu/default/token, attempt 0",
        "the issuer does not answer",
        "server eu",
        "1 secrets: default/token",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    for hidden in ["hunter2", "aHVudGVyMg"] {
        assert!(!told.contains(hidden), "{told}");
    }
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_left_running_fails_the_stop() {
    let fleet = TestFleet::start(["eu"]).await;
    let forgotten = tokio::spawn(std::future::pending::<()>());
    let told = failure(fleet.stop()).await;
    assert!(told.contains("nothing is left: not within 1s"), "{told}");
    forgotten.abort();
}

#[tokio::test(start_paused = true)]
async fn a_test_that_fails_is_stopped_and_fails_with_its_own_words() {
    let tasks = mcrt::testing::alive_tasks();
    let told = failure(TestFleet::start(["eu"]).run(async |fleet| {
        fleet.settled().await;
        panic!("as expected");
    }))
    .await;
    assert_eq!(told, "as expected");
    assert_eq!(mcrt::testing::alive_tasks(), tasks);
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_crashes_leaves_the_clusters_to_the_next() {
    let seen: Recorder = Recorder::default();
    let hanging: Recorder = Recorder::default().doing(|_| std::future::pending());
    let setup = TestFleet::start(["eu"]).holding(|fleet| {
        fleet
            .get("eu")
            .unwrap()
            .create(labelled(config("object"), "tier", "gold"))
            .unwrap();
    });
    let fleet = setup.built_controller(hanging.controller("seen")).await;
    fleet
        .until("it hangs", async || hanging.expect("eu", "object", 1))
        .await;
    let sim = fleet.crash().await;
    let fleet = TestFleet::over(&sim)
        .built_controller(seen.controller("seen"))
        .await;
    fleet.settled().await;
    seen.expect("eu", "object", 1).unwrap();
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_down_is_not_settled() {
    let seen: Recorder = Recorder::default();
    let fleet = TestFleet::start(["eu"])
        .built_controller(seen.controller("seen"))
        .await;
    fleet.settled().await;
    let eu = fleet.cluster("eu");
    eu.faults(Faults::none().on(Requests::watches(), Fault::status(503)));
    eu.server().disconnect_watches();
    eu.create(named("object"));
    let told = failure(fleet.settled_within(Duration::from_mins(1))).await;
    assert!(told.contains("0 of 1 watches of eu are open"), "{told}");
    eu.clear_faults();
    fleet.settled().await;
    seen.expect("eu", "object", 1).unwrap();
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_something_to_tell_is_not_settled() {
    let seen: Recorder = Recorder::default();
    let fleet = TestFleet::start(["eu"])
        .built_controller(seen.controller("seen"))
        .await;
    fleet.settled().await;
    let eu = fleet.cluster("eu");
    eu.partition();
    eu.create(named("object"));
    let told = failure(fleet.settled_within(Duration::from_secs(5))).await;
    assert!(told.contains("1 watches of eu have something to tell"), "{told}");
    eu.heal();
    fleet.settled().await;
    seen.expect("eu", "object", 1).unwrap();
    fleet.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_reaches_a_server_after_a_crash() {
    let late: Recorder = Recorder::default().doing(|call| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut written = named("written");
        written.metadata.labels = None;
        call.cx.apply(&written).await?;
        Ok(Action::await_change())
    });
    let fleet = TestFleet::start(["eu"])
        .built_controller(late.controller("late"))
        .await;
    let eu = fleet.cluster("eu");
    eu.create(named("object"));
    fleet
        .until("it runs", async || late.expect("eu", "object", 1))
        .await;
    let sim = fleet.crash().await;
    assert_eq!(eu.get::<ConfigMap>("written"), None);
    assert!(!sim.get("eu").unwrap().is_partitioned());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_has_the_labels_that_a_test_gives_it_and_a_fleet_that_leaves_one_out_settles() {
    let seen: Recorder = Recorder::default();
    let fleet = TestFleet::start(["eu", "us"])
        .label("eu", &[("env", "prod")])
        .clusters(ClusterSelector::new().labels("env=prod"))
        .holding(|sim| drop(sim.get("us").unwrap().create(config("object"))))
        .built_controller(seen.controller("seen"))
        .await;
    fleet.settled().await;
    seen.expect("us", "object", 0).unwrap();
    fleet.label("us", &[("env", "prod")]);
    fleet.settled().await;
    seen.expect("us", "object", 1).unwrap();
    fleet.stop().await;
}
