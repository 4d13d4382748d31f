//! Clusters that come and go.
use super::super::{Adapter, bed::Stage, stream::Reader};
use crate::WatchState;

pub(super) async fn all_clusters_are_engaged<A: Adapter>(stage: &Stage<A>) {
    let keys = ["one", "two", "three"];
    for (at, key) in keys.into_iter().enumerate() {
        stage.add(key, at).await;
    }
    stage
        .fleet(async |bed| {
            bed.has_exactly(&keys).await;
            for (at, key) in keys.into_iter().enumerate() {
                bed.ready(key).await;
                bed.works(key, at, "object").await;
            }
            let fleet = bed.running.manager().fleet();
            assert!(fleet.is_synced(), "the fleet knows that these are all");
            assert!(fleet.rejections().is_empty(), "{:?}", fleet.rejections());
        })
        .await;
}

pub(super) async fn a_fleet_may_begin_empty<A: Adapter>(stage: &Stage<A>) {
    stage
        .fleet(async |bed| {
            let fleet = bed.running.manager().fleet();
            bed.until("the fleet is synced", async || {
                fleet.is_synced().then_some(()).ok_or("not yet")
            })
            .await;
            assert!(bed.names().is_empty(), "{:?}", bed.names());
            stage.add("one", 0).await;
            bed.works("one", 0, "object").await;
        })
        .await;
}

pub(super) async fn a_cluster_that_is_added_is_engaged_and_one_that_is_removed_leaves<A: Adapter>(
    stage: &Stage<A>,
) {
    stage.add("one", 0).await;
    stage
        .fleet(async |bed| {
            let one = bed.ready("one").await.epoch();
            stage.add("two", 1).await;
            bed.works("two", 1, "object").await;
            stage.adapter.remove("two").await;
            bed.has_exactly(&["one"]).await;
            // A removal and an arrival say nothing of others.
            assert!(bed.goes_on("one", one).is_ok());
            // What is written there from now on is nobody's business.
            let runs = bed.seen.runs().len();
            stage.create_if_there("two", 1, "later").await;
            bed.throughout("nothing is reconciled", async || match bed.seen.runs().len() {
                now if now == runs => Ok(()),
                now => Err(format!("{} more", now - runs)),
            })
            .await;
        })
        .await;
}

pub(super) async fn a_cluster_that_leaves_ends_its_watches_and_its_queue<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.add("two", 1).await;
    for number in 0..20 {
        stage.create("one", 0, &format!("object-{number}")).await;
    }
    stage
        .fleet(async |bed| {
            bed.works("two", 1, "object").await;
            bed.filled("one", 0, "object-19").await;
            let left = bed.ready("one").await;
            stage.adapter.remove("one").await;
            bed.gone("one").await;
            let server = stage.member(0).server();
            bed.until("nothing of it is left", async || {
                // None where the members of the site are not simulated, or not what the clusters are reached at.
                let open = server.map_or(0, |server| server.counters().open_watches);
                let watches = left.watches();
                let going = watches.iter().filter(|(_, state)| *state != WatchState::Closed);
                let going = (going.count(), left.connection_tasks());
                match (open, going, bed.running.controller("seen").queue().lanes) {
                    (0, (0, 0), 0 | 1) => Ok(()),
                    (open, (watches, tasks), lanes) => Err(format!(
                        "{open} watches at its server, {watches} watches and {tasks} tasks here, {lanes} lanes"
                    )),
                }
            })
            .await;
            bed.works("two", 1, "another").await;
        })
        .await;
}

pub(super) async fn what_describes_no_cluster_is_left_alone<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.adapter.noise().await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "object").await;
            let epoch = bed.ready("one").await.epoch();
            stage.adapter.noise().await;
            bed.throughout("there is one cluster", async || {
                bed.goes_on("one", epoch)?;
                match bed.names() {
                    names if names.len() == 1 => Ok(()),
                    names => Err(format!("{names:?}")),
                }
            })
            .await;
        })
        .await;
}

pub(super) async fn a_cluster_whose_description_is_no_longer_one_leaves<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.add("two", 1).await;
    stage
        .fleet(async |bed| {
            bed.has_exactly(&["one", "two"]).await;
            stage.adapter.unselect("one").await;
            bed.has_exactly(&["two"]).await;
        })
        .await;
}

pub(super) async fn a_cluster_whose_description_is_being_deleted_leaves<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.add("two", 1).await;
    stage
        .fleet(async |bed| {
            bed.has_exactly(&["one", "two"]).await;
            stage.adapter.leave("one").await;
            bed.has_exactly(&["two"]).await;
        })
        .await;
}

pub(super) async fn a_cluster_that_is_not_ready_waits_and_leaves<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.add("two", 1).await;
    stage.adapter.unready("one", true).await;
    stage
        .fleet(async |bed| {
            bed.has_exactly(&["two"]).await;
            bed.throughout("it waits", async || match bed.get("one") {
                None => Ok(()),
                Some(cluster) => Err(format!("{cluster:?} is there")),
            })
            .await;
            stage.adapter.unready("one", false).await;
            bed.works("one", 0, "object").await;
        })
        .await;
}

pub(super) async fn another_cluster_by_the_same_name_is_another_life<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "object").await;
            let mut epoch = bed.ready("one").await.epoch();
            for (at, object) in [(1, "second"), (2, "third")] {
                let reach = stage.member(at).reach().await;
                stage.adapter.recreate("one", &reach).await;
                epoch = bed.ready_anew("one", epoch).await.epoch();
                bed.works("one", at, object).await;
            }
            // The end of the old life does not take the new one with it.
            bed.throughout("the last one stays", async || bed.goes_on("one", epoch))
                .await;
        })
        .await;
}

pub(super) async fn a_program_that_is_started_again_finds_the_same_clusters<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.add("two", 1).await;
    stage
        .fleet(async |bed| {
            bed.has_exactly(&["one", "two"]).await;
            bed.works("one", 0, "object").await;
        })
        .await;
    stage.adapter.remove("two").await;
    stage.add("three", 2).await;
    stage
        .fleet(async |bed| {
            bed.has_exactly(&["one", "three"]).await;
            bed.works("one", 0, "another").await;
            bed.works("three", 2, "another").await;
        })
        .await;
}

pub(super) async fn many_changes_at_once_come_to_the_right_end<A: Adapter>(stage: &Stage<A>) {
    const KEYS: usize = 8;
    let keys: Vec<_> = (0..KEYS).map(|number| format!("many-{number}")).collect();
    stage
        .fleet(async |bed| {
            let work = keys.iter().enumerate().map(|(number, key)| async move {
                for round in 0..4 {
                    stage.add(key, number % 3).await;
                    // Whoever asks meanwhile gets the cluster or nothing, at once.
                    let _ = bed.get(key).map(|cluster| (cluster.health(), cluster.client()));
                    let _ = bed.seen.team("red");
                    let _ = bed.names();
                    if round < 3 || number % 2 == 1 {
                        stage.adapter.remove(key).await;
                    }
                }
            });
            futures::future::join_all(work).await;
            let left: Vec<_> = keys.iter().step_by(2).map(String::as_str).collect();
            bed.has_exactly(&left).await;
            for (number, key) in left.iter().enumerate() {
                let cluster = bed.ready(key).await;
                assert_eq!(bed.get(key), Some(cluster));
                bed.works(key, number * 2 % 3, key).await;
            }
        })
        .await;
    let mut reader = Reader::of(stage);
    reader.synced().await;
    assert_eq!(reader.clusters.len(), KEYS / 2, "{:?}", reader.names());
}
