//! Clusters, descriptions and hosts that fail, and what they may not do to others.
use super::super::{Adapter, bed::Stage, stream::Reader};

pub(super) async fn a_cluster_that_never_answers_delays_no_other<A: Adapter>(stage: &Stage<A>) {
    let silent = stage.site.silent().reach().await;
    // First in any order of names.
    stage.adapter.add("a-silent", &silent).await;
    stage.add("one", 0).await;
    stage.create("one", 0, "early").await;
    let mut reader = Reader::of(stage);
    reader.synced().await;
    assert_eq!(reader.clusters.len(), 2, "{:?}", reader.names());
    drop(reader);
    stage
        .fleet(async |bed| {
            bed.filled("one", 0, "early").await;
            let silent = bed.get("a-silent").map(|cluster| cluster.health());
            assert!(silent.is_some_and(|health| !health.is_ready()), "{silent:?}");
            // Once everything is under way as well.
            stage.add("two", 1).await;
            bed.works("two", 1, "object").await;
            stage.adapter.remove("a-silent").await;
            bed.has_exactly(&["one", "two"]).await;
            stage.adapter.add("silent-too", &silent_again(stage).await).await;
            bed.works("one", 0, "later").await;
            stage.adapter.remove("one").await;
            bed.gone("one").await;
        })
        .await;
}

async fn silent_again<A: Adapter>(stage: &Stage<A>) -> super::super::Reach {
    stage.site.silent().reach().await
}

pub(super) async fn a_new_cluster_that_cannot_be_used_hurts_no_other<A: Adapter>(stage: &Stage<A>) {
    stage.adapter.add_spoilt("bad").await;
    stage.add("one", 0).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "object").await;
            let epoch = bed.ready("one").await.epoch();
            stage.adapter.add_spoilt("worse").await;
            stage.add("two", 1).await;
            bed.works("two", 1, "object").await;
            bed.has_exactly(&["one", "two"]).await;
            assert!(bed.goes_on("one", epoch).is_ok());
        })
        .await;
}

pub(super) async fn a_host_that_does_not_answer_ends_no_cluster<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "before").await;
            let epoch = bed.ready("one").await.epoch();
            stage.site.set_host_out(true);
            bed.throughout("its life goes on", async || bed.goes_on("one", epoch))
                .await;
            stage.site.set_host_out(false);
            stage.add("two", 1).await;
            bed.works("two", 1, "object").await;
            bed.works("one", 0, "after").await;
        })
        .await;
}
