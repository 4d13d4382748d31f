//! That the clusters of a provider are worked in: objects, indexes, controllers.
use super::super::{
    Adapter,
    bed::{Bed, Stage},
    seen::{HELD, Seen},
};
use crate::{
    ClusterName,
    providers::{Clusters, Merge, Prefix},
};
use std::sync::Arc;

pub(super) async fn objects_that_were_there_before_are_reconciled<A: Adapter>(stage: &Stage<A>) {
    for (at, key) in ["one", "two"].into_iter().enumerate() {
        stage.add(key, at).await;
        stage.create(key, at, "early").await;
    }
    stage
        .fleet(async |bed| {
            bed.filled("one", 0, "early").await;
            bed.filled("two", 1, "early").await;
        })
        .await;
}

pub(super) async fn new_objects_are_reconciled<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage
        .fleet(async |bed| {
            bed.ready("one").await;
            bed.works("one", 0, "new").await;
        })
        .await;
}

pub(super) async fn changed_objects_are_reconciled_again<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "object").await;
            stage.clear("one", 0, "object").await;
            bed.filled("one", 0, "object").await;
        })
        .await;
}

/// Two objects in two clusters, and a third of another team.
async fn teams<A: Adapter>(stage: &Stage<A>) {
    for (at, key) in ["one", "two"].into_iter().enumerate() {
        stage.add(key, at).await;
        stage.create_of(key, at, "red", "red").await;
    }
    stage.create_of("one", 0, "blue", "blue").await;
}

pub(super) async fn an_index_finds_the_objects_of_one_cluster<A: Adapter>(stage: &Stage<A>) {
    teams(stage).await;
    stage
        .fleet(async |bed| {
            let (one, two) = (bed.ready("one").await, bed.ready("two").await);
            for (cluster, team, expected) in [
                (&one, "red", vec![stage.object("red")]),
                (&two, "red", vec![stage.object("red")]),
                (&one, "blue", vec![stage.object("blue")]),
                (&two, "blue", vec![]),
            ] {
                bed.filled("two", 1, "red").await;
                bed.until("the index finds them", async || {
                    match bed.seen.team_of(team, cluster) {
                        found if found == expected => Ok(()),
                        found => Err(format!("{team} in {cluster}: {found:?}")),
                    }
                })
                .await;
            }
        })
        .await;
}

pub(super) async fn an_index_finds_the_objects_of_all_clusters<A: Adapter>(stage: &Stage<A>) {
    teams(stage).await;
    stage
        .fleet(async |bed| {
            bed.finds("red", &[("one", 0), ("two", 1)]).await;
            // The index reaches a cluster that comes later.
            stage.add("three", 2).await;
            stage.create_of("three", 2, "red", "red").await;
            bed.finds("red", &[("one", 0), ("two", 1), ("three", 2)]).await;
            stage.adapter.remove("two").await;
            bed.finds("red", &[("one", 0), ("three", 2)]).await;
        })
        .await;
}

impl<A: Adapter> Bed<'_, A> {
    /// Waits until the index of all clusters finds a team's object in each of these, and nothing else.
    async fn finds(&self, team: &str, keys: &[(&str, usize)]) {
        let object = self.stage.object(team);
        let mut wanted: Vec<_> = keys
            .iter()
            .map(|(key, at)| {
                let namespace = self.stage.spot(key, *at).namespace;
                let object = crate::ObjectKey::namespaced(namespace, object.as_str());
                crate::Request::<k8s_openapi::api::core::v1::ConfigMap>::new(self.name(key), object)
                    .to_string()
            })
            .collect();
        wanted.sort();
        self.until("the index finds them", async || match self.seen.team(team) {
            found if found == wanted => Ok(()),
            found => Err(format!("{found:?}, not {wanted:?}")),
        })
        .await;
    }
}

/// Of one cluster, before the other is known.
const MANY: usize = 40;

pub(super) async fn a_cluster_of_many_objects_does_not_starve_another<A: Adapter>(stage: &Stage<A>) {
    stage.add("many", 0).await;
    for number in 0..MANY {
        stage.create("many", 0, &format!("object-{number}")).await;
    }
    let seen = Seen::held();
    stage
        .fleet_seen(seen.clone(), async |bed| {
            bed.until("as many run as may", async || match seen.runs().len() {
                HELD => Ok(()),
                runs => Err(format!("{runs} run")),
            })
            .await;
            stage.add("few", 1).await;
            stage.create("few", 1, "object").await;
            let few = bed.name("few");
            bed.until("the other's one waits for its turn", async || {
                let lane = bed.running.controller("seen").lane(&few);
                match lane.map(|lane| (lane.ready, lane.paused)) {
                    Some((1, false)) => Ok(()),
                    other => Err(format!("ready, paused: {other:?}")),
                }
            })
            .await;
            seen.release();
            bed.filled("few", 1, "object").await;
            let runs = seen.runs();
            let turn = runs.iter().position(|run| run.cluster == few.as_str());
            let turn = turn.unwrap_or(usize::MAX);
            // It is among the next two.
            assert!(
                turn < HELD + 2,
                "its turn was the {turn}th, {HELD} ran when it came"
            );
            bed.filled("many", 0, &format!("object-{}", MANY - 1)).await;
        })
        .await;
}

pub(super) async fn a_controller_that_comes_late_sees_the_clusters_that_are_there<A: Adapter>(
    stage: &Stage<A>,
) {
    stage.add("one", 0).await;
    stage.create("one", 0, "object").await;
    stage
        .fleet(async |bed| {
            bed.filled("one", 0, "object").await;
            let epoch = bed.ready("one").await.epoch();
            let late = Seen::that_looks_only();
            let added = bed
                .running
                .manager()
                .add(late.controller("late", stage.site.id()));
            assert!(added.is_ok(), "{added:?}");
            let (cluster, object) = (bed.name("one"), stage.object("object"));
            bed.until("the late one sees it", async || {
                late.expect(cluster.as_str(), &object)
            })
            .await;
            assert!(bed.goes_on("one", epoch).is_ok());
        })
        .await;
}

pub(super) async fn a_merged_provider_under_a_prefix_works_the_same<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.create("one", 0, "early").await;
    let merged = Merge::new()
        .with("nothing", Clusters::new())
        .with("tested", Prefix::new("kc#", stage.adapter.provider()));
    stage
        .fleet_of(Arc::new(merged), "kc#", async |bed| {
            bed.filled("one", 0, "early").await;
            stage.add("two", 1).await;
            bed.works("two", 1, "red").await;
            bed.finds("red", &[("two", 1)]).await;
            stage.adapter.remove("one").await;
            bed.has_exactly(&["two"]).await;
            let plain = ClusterName::new(stage.adapter.cluster("two"));
            let known = plain
                .ok()
                .and_then(|plain| bed.running.manager().fleet().get(&plain));
            assert!(known.is_none(), "it has the prefixed name alone");
        })
        .await;
}
