//! That several replicas share what a provider describes.
use super::super::{
    Adapter,
    bed::{Bed, Stage},
    second::Second,
};
use std::collections::BTreeSet;

const KEYS: [&str; 3] = ["one", "two", "three"];

pub(super) async fn replicas_share_the_clusters_and_each_is_worked_on_by_one<A: Adapter>(stage: &Stage<A>) {
    describe(stage).await;
    stage
        .replicas(async |first, second| {
            shared(stage, first, &second).await;
            for (at, key) in KEYS.into_iter().enumerate() {
                stage.create(key, at, "object").await;
                first.filled(key, at, "object").await;
            }
            // Whose a cluster is does not change by itself.
            let before = (first.names(), second.names());
            first
                .throughout("each keeps its part", async || {
                    let now = (first.names(), second.names());
                    (now == before)
                        .then_some(())
                        .ok_or_else(|| format!("{now:?}, not {before:?}"))
                })
                .await;
            stage.adapter.remove("two").await;
            first
                .until("what is gone is nobody's", async || {
                    let name = first.name("two").to_string();
                    let known = [first.names(), second.names()].concat().contains(&name);
                    (!known).then_some(()).ok_or("it is engaged")
                })
                .await;
            second.leave().await;
        })
        .await;
}

pub(super) async fn a_replica_that_ends_hands_over_and_nothing_is_reconciled_by_two<A: Adapter>(
    stage: &Stage<A>,
) {
    describe(stage).await;
    for (at, key) in KEYS.into_iter().enumerate() {
        stage.create(key, at, "early").await;
    }
    stage
        .replicas(async |first, second| {
            shared(stage, first, &second).await;
            for (at, key) in KEYS.into_iter().enumerate() {
                first.filled(key, at, "early").await;
            }
            second.leave().await;
            first.has_exactly(&KEYS).await;
            for (at, key) in KEYS.into_iter().enumerate() {
                first.works(key, at, "late").await;
            }
            let by: BTreeSet<_> = first.seen.runs().iter().map(|run| run.by).collect();
            assert_eq!(by.len(), 2, "both have worked: {by:?}");
            assert_eq!(first.seen.twice(), Vec::<String>::new());
        })
        .await;
}

async fn describe<A: Adapter>(stage: &Stage<A>) {
    for (at, key) in KEYS.into_iter().enumerate() {
        stage.add(key, at).await;
    }
}

/// Waits until each cluster is engaged by one of the two, and each of them knows of the others' part.
async fn shared<A: Adapter>(stage: &Stage<A>, first: &Bed<'_, A>, second: &Second) {
    let wanted: BTreeSet<_> = KEYS.iter().map(|key| stage.adapter.cluster(key)).collect();
    first
        .until("each cluster is engaged by one", async || {
            let (one, other) = (first.names(), second.names());
            let together: BTreeSet<_> = one.iter().chain(&other).cloned().collect();
            let is_shared = one.len() + other.len() == KEYS.len() && together == wanted;
            let elsewhere = first.running.manager().fleet().elsewhere();
            let elsewhere: Vec<_> = elsewhere.iter().map(ToString::to_string).collect();
            let replicas = first.running.manager().fleet().replicas().len();
            (is_shared && elsewhere == other && replicas == 2)
                .then_some(())
                .ok_or_else(|| format!("{one:?} and {other:?}, {replicas} share"))
        })
        .await;
}
