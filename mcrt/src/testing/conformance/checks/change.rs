//! Descriptions that change.
use super::super::{
    Adapter,
    bed::{Bed, Stage},
};
use crate::Health;

/// How often the objects of a member were listed, if somebody counts.
fn lists<A: Adapter>(stage: &Stage<A>, at: usize) -> Option<u64> {
    let server = stage.member(at).server()?;
    Some(server.counters().kind("configmaps").lists)
}

pub(super) async fn a_change_that_does_not_matter_changes_nothing<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "before").await;
            let epoch = bed.ready("one").await.epoch();
            let before = lists(stage, 0);
            stage.adapter.touch("one").await;
            bed.throughout("its life goes on", async || bed.goes_on("one", epoch))
                .await;
            bed.works("one", 0, "after").await;
            assert_eq!(lists(stage, 0), before, "nothing was listed again");
        })
        .await;
}

pub(super) async fn a_description_that_leads_elsewhere_is_another_life_of_the_name<A: Adapter>(
    stage: &Stage<A>,
) {
    stage.add("one", 0).await;
    stage.create("one", 1, "there").await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "here").await;
            let epoch = bed.ready("one").await.epoch();
            let elsewhere = stage.member(1).reach().await;
            stage.adapter.point_elsewhere("one", &elsewhere).await;
            bed.ready_anew("one", epoch).await;
            bed.filled("one", 1, "there").await;
            bed.has_exactly(&["one"]).await;
            // The server it has left is left alone.
            let runs = bed.seen.runs().len();
            stage.create("one", 0, "late").await;
            bed.throughout("the first server is left alone", async || {
                let runs = bed.seen.runs().split_off(runs);
                let late = runs.iter().find(|run| run.object == stage.object("late"));
                late.map_or(Ok(()), |run| Err(format!("{run:?}")))
            })
            .await;
        })
        .await;
}

impl<A: Adapter> Bed<'_, A> {
    async fn is(&self, key: &str, what: &str, is: impl Fn(Health) -> bool) {
        self.until(what, async || {
            match self.get(key).map(|cluster| cluster.health()) {
                Some(health) if is(health) => Ok(()),
                other => Err(format!("it is {other:?}")),
            }
        })
        .await;
    }
}

pub(super) async fn other_credentials_go_on_with_the_same_life<A: Adapter>(stage: &Stage<A>) {
    let first = stage.member(0).reach().await;
    stage.adapter.add("one", &first).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "before").await;
            let epoch = bed.ready("one").await.epoch();
            let before = lists(stage, 0);
            let second = stage.member(0).reach().await;
            stage.adapter.rotate("one", &second).await;
            // Both are good until the new ones have arrived, as whoever rotates has to see to.
            bed.throughout("its life goes on", async || bed.goes_on("one", epoch))
                .await;
            stage.member(0).revoke(&first).await;
            bed.works("one", 0, "after").await;
            assert!(bed.goes_on("one", epoch).is_ok());
            assert_eq!(lists(stage, 0), before, "nothing was listed again");
        })
        .await;
}

pub(super) async fn credentials_that_are_refused_stop_one_cluster_until_there_are_others<A: Adapter>(
    stage: &Stage<A>,
) {
    let first = stage.member(0).reach().await;
    stage.adapter.add("one", &first).await;
    stage.add("two", 1).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "before").await;
            bed.works("two", 1, "before").await;
            let epoch = bed.ready("one").await.epoch();
            stage.member(0).revoke(&first).await;
            let refused = |health| matches!(health, Health::Unauthorized { .. });
            bed.is("one", "the refusal is noticed", refused).await;
            bed.works("two", 1, "meanwhile").await;
            let second = stage.member(0).reach().await;
            stage.adapter.rotate("one", &second).await;
            bed.ready("one").await;
            bed.works("one", 0, "after").await;
            assert!(bed.goes_on("one", epoch).is_ok(), "it is the life it was");
        })
        .await;
}

pub(super) async fn an_unreadable_description_keeps_the_last_good<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.add("two", 1).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "before").await;
            let epoch = bed.ready("one").await.epoch();
            stage.adapter.spoil("one").await;
            bed.throughout("its life goes on", async || bed.goes_on("one", epoch))
                .await;
            bed.works("one", 0, "meanwhile").await;
            bed.works("two", 1, "meanwhile").await;
            // One that is spoilt can go all the same.
            stage.adapter.remove("one").await;
            bed.has_exactly(&["two"]).await;
        })
        .await;
}
