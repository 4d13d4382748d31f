//! Providers that are wrong, and the checks that find them out.
use crate::{
    ClusterName, Provider,
    provider::{Change, ClusterSpec, ProviderContext},
    providers::Clusters,
    testing::conformance::{self, Adapter, CHECKS, Reach, Site, Verb, run},
};
use futures::{FutureExt, StreamExt, future::ready, stream::BoxStream};
use std::{panic::AssertUnwindSafe, sync::Arc};

/// What is wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    NeverSynced,
    ForgetsRemovals,
    SpawnsForever,
}

struct Wrong<const FAULT: usize>(Clusters);

const FAULTS: [Fault; 4] = [
    Fault::None,
    Fault::NeverSynced,
    Fault::ForgetsRemovals,
    Fault::SpawnsForever,
];

impl<const FAULT: usize> Provider for Wrong<FAULT> {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
        let fault = FAULTS[FAULT];
        if fault == Fault::SpawnsForever {
            tokio::spawn(std::future::pending::<()>());
        }
        let changes = Arc::new(self.0.clone()).changes(cx);
        changes
            .filter(move |change| {
                ready(match change {
                    Change::Synced => fault != Fault::NeverSynced,
                    Change::Remove(_) => fault != Fault::ForgetsRemovals,
                    _ => true,
                })
            })
            .boxed()
    }
}

impl<const FAULT: usize> Adapter for Wrong<FAULT> {
    const NAME: &'static str = "wrong";

    async fn begin(_: &Site) -> Self {
        Self(Clusters::new())
    }

    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Self(self.0.clone()))
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        (verb == Verb::Claim).then_some("tests of the kit do without")
    }

    async fn add(&self, key: &str, reach: &Reach) {
        let name = ClusterName::new(key).unwrap();
        self.0.replace(ClusterSpec::new(name, "1", reach.access()));
    }

    async fn remove(&self, key: &str) {
        self.0.remove(&ClusterName::new(key).unwrap());
    }
}

async fn failure<const FAULT: usize>(check: &str) -> String {
    let failed = AssertUnwindSafe(run::<Wrong<FAULT>>(check, Site::simulated()));
    let Err(panic) = failed.catch_unwind().await else {
        return "it passes".to_owned();
    };
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
async fn what_is_right_passes() {
    let check = "a_stream_names_the_whole_set_and_then_says_synced";
    assert_eq!(failure::<0>(check).await, "it passes");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_never_says_synced_is_found_out() {
    let told = failure::<1>("without_clusters_synced_is_said_all_the_same").await;
    assert!(told.contains("the stream says `Synced`: not within"), "{told}");
    assert!(told.contains("is not synced"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_is_not_said_is_found_out_and_the_fleet_is_shown() {
    let told = failure::<2>("a_cluster_that_is_added_is_engaged_and_one_that_is_removed_leaves").await;
    for part in [
        "the fleet is [\"one\"]: not within",
        "Cluster(two#",
        "server member-2",
        "controller seen",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_outlives_its_stream_is_found_out() {
    let told = failure::<3>("a_stream_that_is_dropped_leaves_nothing_running").await;
    assert!(told.contains("what the stream started has ended"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_verb_that_is_neither_implemented_nor_lacking_is_found_out() {
    let told = failure::<0>("other_credentials_go_on_with_the_same_life").await;
    assert!(told.contains("cannot do Rotate to `one`"), "{told}");
}

#[test]
fn a_report_says_what_is_not_applicable_and_why() {
    let report = conformance::report::<Wrong<0>>();
    assert_eq!(report.lines().count(), CHECKS.len() + 2);
    let claim = report.lines().find(|line| line.contains("second claim")).unwrap();
    assert!(
        claim.ends_with("| not applicable: tests of the kit do without |"),
        "{claim}"
    );
}
