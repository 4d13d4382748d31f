//! Names: claimed twice, and uncommon ones.
use super::super::{Adapter, bed::Stage, stream::Reader};

pub(super) async fn a_second_claim_of_a_name_waits_and_is_said<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage
        .fleet(async |bed| {
            bed.works("one", 0, "object").await;
            let epoch = bed.ready("one").await.epoch();
            let other = stage.member(1).reach().await;
            stage.adapter.claim("one", &other).await;
            bed.throughout("the first has the name", async || bed.goes_on("one", epoch))
                .await;
            bed.works("one", 0, "another").await;
            let mut reader = Reader::of(stage);
            reader
                .until("the second claim is said", |reader| !reader.complaints.is_empty())
                .await;
            drop(reader);
            stage.adapter.remove("one").await;
            bed.ready_anew("one", epoch).await;
            bed.works("one", 1, "object").await;
        })
        .await;
}

pub(super) async fn uncommon_names_work<A: Adapter>(stage: &Stage<A>) {
    let keys = stage.adapter.odd_keys();
    assert!(
        !keys.is_empty(),
        "an adapter that does not lack odd names has some"
    );
    for (at, key) in keys.iter().enumerate() {
        stage.add(key, at % 3).await;
    }
    stage
        .fleet(async |bed| {
            let names: Vec<_> = keys.iter().map(String::as_str).collect();
            bed.has_exactly(&names).await;
            for (at, key) in keys.iter().enumerate() {
                bed.works(key, at % 3, &format!("object-{at}")).await;
            }
            stage.adapter.remove(&keys[0]).await;
            bed.gone(&keys[0]).await;
        })
        .await;
    let mut reader = Reader::of(stage);
    reader.synced().await;
    assert_eq!(reader.clusters.len(), keys.len() - 1);
}
