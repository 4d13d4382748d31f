//! What a provider's stream says, before any fleet listens.
use super::super::{
    Adapter,
    bed::Stage,
    stream::{Reader, ends_its_tasks},
};
use crate::{ClusterName, testing::alive_tasks};

fn cluster<A: Adapter>(stage: &Stage<A>, key: &str) -> ClusterName {
    let name = stage.adapter.cluster(key);
    match ClusterName::new(&name) {
        Ok(name) => name,
        Err(error) => panic!("`{name}` is no name of a cluster: {error}"),
    }
}

fn names<A: Adapter>(stage: &Stage<A>, keys: &[&str]) -> Vec<String> {
    let mut names: Vec<_> = keys.iter().map(|key| stage.adapter.cluster(key)).collect();
    names.sort();
    names
}

pub(super) async fn a_stream_names_the_whole_set_and_then_says_synced<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.add("two", 1).await;
    let mut reader = Reader::of(stage);
    reader.synced().await;
    assert_eq!(
        reader.names(),
        names(stage, &["one", "two"]),
        "named before `Synced`"
    );
    assert!(reader.complaints.is_empty(), "{:?}", reader.complaints);
}

pub(super) async fn every_stream_sees_all_that_is_there<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    let mut first = Reader::of(stage);
    first.synced().await;
    stage.add("two", 1).await;
    let both = |reader: &Reader| reader.clusters.len() == 2;
    first.until("two clusters", both).await;
    let mut second = Reader::of(stage);
    second.synced().await;
    assert_eq!(second.names(), names(stage, &["one", "two"]));
    stage.adapter.remove("one").await;
    let one = |reader: &Reader| reader.clusters.len() == 1;
    first.until("the first stream sees the removal", one).await;
    second.until("so does the second", one).await;
    for (name, spec) in &first.clusters {
        assert!(
            spec.says_the_same(&second.clusters[name]),
            "`{name}` is described in two ways"
        );
    }
}

pub(super) async fn a_stream_follows_what_comes_and_goes<A: Adapter>(stage: &Stage<A>) {
    let mut reader = Reader::of(stage);
    reader.synced().await;
    for round in 0..3 {
        let what = format!("round {round}");
        stage.add("one", 0).await;
        reader.until(&what, |reader| reader.clusters.len() == 1).await;
        stage.adapter.remove("one").await;
        reader.until(&what, |reader| reader.clusters.is_empty()).await;
    }
}

pub(super) async fn a_stream_that_is_dropped_leaves_nothing_running<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    let provider = stage.adapter.provider();
    stage.site.rest().await;
    let before = alive_tasks();
    for _ in 0..2 {
        // Never read; read in part; read until it waits.
        drop(provider.clone().changes(stage.context()));
        let mut reader = Reader::of(stage);
        reader
            .until("one cluster", |reader| !reader.clusters.is_empty())
            .await;
        drop(reader);
        let mut reader = Reader::of(stage);
        reader.synced().await;
        drop(reader);
    }
    ends_its_tasks(before).await;
}

pub(super) async fn without_clusters_synced_is_said_all_the_same<A: Adapter>(stage: &Stage<A>) {
    let mut reader = Reader::of(stage);
    reader.synced().await;
    assert!(reader.clusters.is_empty(), "{:?}", reader.names());
}

pub(super) async fn a_description_written_again_says_the_same<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    let mut reader = Reader::of(stage);
    reader.synced().await;
    let name = cluster(stage, "one");
    let (before, complaints) = (reader.clusters[&name].clone(), reader.complaints.clone());
    stage.adapter.touch("one").await;
    reader.listen(stage.site.quiet()).await;
    let after = &reader.clusters[&name];
    assert_eq!(after.uid, before.uid);
    assert_eq!(after.access.fingerprint(), before.access.fingerprint());
    assert_eq!((reader.removed, reader.complaints), (Vec::new(), complaints));
}

pub(super) async fn what_cannot_be_used_is_said_and_others_are_named<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.adapter.add_spoilt("bad").await;
    stage.add("two", 1).await;
    let mut reader = Reader::of(stage);
    reader.synced().await;
    let good = names(stage, &["one", "two"]);
    reader
        .until("the good ones are named", |reader| reader.names() == good)
        .await;
    reader
        .until("the bad one is said", |reader| !reader.complaints.is_empty())
        .await;
}

pub(super) async fn what_is_spoilt_is_said_and_not_removed<A: Adapter>(stage: &Stage<A>) {
    stage.add("one", 0).await;
    stage.add("two", 1).await;
    let mut reader = Reader::of(stage);
    reader.synced().await;
    let name = cluster(stage, "one");
    let before = reader.clusters[&name].clone();
    stage.adapter.spoil("one").await;
    reader
        .until("the spoilt one is said", |reader| !reader.complaints.is_empty())
        .await;
    reader.listen(stage.site.quiet()).await;
    assert!(
        reader.clusters[&name].says_the_same(&before),
        "the last good stays"
    );
    assert!(reader.removed.is_empty(), "{:?}", reader.removed);
    stage.adapter.remove("two").await;
    reader
        .until("others go on", |reader| reader.clusters.len() == 1)
        .await;
}
