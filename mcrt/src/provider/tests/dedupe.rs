//! Dedupe: one cluster under several names.
use super::{
    Reader, name, rejected,
    script::{Script, Step::Say},
    spec,
};
use crate::provider::{Change, ProviderExt, providers::Clusters};
use std::{sync::Arc, time::Duration};

const SAME_AS_A: &str = "it is the same cluster as `a`, and goes by that name alone";

#[tokio::test(start_paused = true)]
async fn a_cluster_goes_by_its_first_name_and_by_the_next_when_that_is_gone() {
    let clusters: Clusters = ["a", "b", "c"]
        .into_iter()
        .map(|name| spec(name, "same"))
        .collect();
    let mut reader = Reader::of(&Arc::new(clusters.clone().dedupe()));
    assert_eq!(
        reader.until("synced").await,
        [
            "+a".to_owned(),
            format!("?b: {SAME_AS_A}"),
            format!("?c: {SAME_AS_A}"),
            "synced".to_owned()
        ]
    );
    clusters.replace(spec("b", "same"));
    assert!(reader.is_quiet(Duration::from_mins(1)).await, "said once");
    clusters.remove(&name("a"));
    assert_eq!(
        reader.take(3).await,
        [
            "-a",
            "+b",
            "?c: it is the same cluster as `b`, and goes by that name alone"
        ]
    );
    clusters.remove(&name("c"));
    assert_eq!(reader.next().await, "-c");
    clusters.remove(&name("b"));
    assert_eq!(reader.next().await, "-b");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_comes_to_lead_elsewhere_hands_its_cluster_on() {
    let clusters: Clusters = [spec("a", "one"), spec("b", "one"), spec("c", "two")]
        .into_iter()
        .collect();
    let mut reader = Reader::of(&Arc::new(clusters.clone().dedupe()));
    reader.until("synced").await;
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["a", "c"]);
    clusters.replace(spec("a", "three"));
    assert_eq!(reader.take(2).await, ["+a", "+b"]);
    clusters.replace(spec("a", "two"));
    assert_eq!(
        reader.take(2).await,
        [
            "-a",
            "?a: it is the same cluster as `c`, and goes by that name alone"
        ]
    );
    clusters.replace(spec("a", "four"));
    assert_eq!(reader.next().await, "+a");
    assert!(reader.rejected.is_empty());
    assert_eq!(reader.clusters.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_rejection_is_told_whichever_name_it_is_of() {
    let script = Script::of(vec![vec![
        Say(rejected("x", "no server")),
        Say(Change::Upsert(spec("a", "one"))),
        Say(Change::Upsert(spec("b", "one"))),
        Say(rejected("b", "no user")),
        Say(Change::Upsert(spec("b", "one"))),
        Say(rejected("a", "no user")),
        Say(Change::Remove(name("a"))),
        Say(Change::Remove(name("x"))),
    ]]);
    let mut reader = Reader::of(&Arc::new(script.dedupe()));
    assert_eq!(
        reader.drain().await,
        [
            "?x: no server".to_owned(),
            "+a".to_owned(),
            format!("?b: {SAME_AS_A}"),
            format!("?b: no user; {SAME_AS_A}"),
            format!("?b: {SAME_AS_A}"),
            "?a: no user".to_owned(),
            "-a".to_owned(),
            "+b".to_owned(),
            "-x".to_owned(),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_keeps_its_name_when_the_stream_begins_anew_and_names_another_first() {
    let stream = |names: &[&str]| {
        let named = names.iter().map(|name| Say(Change::Upsert(spec(name, "same"))));
        named.chain([Say(Change::Synced)]).collect()
    };
    let script = Script::of(vec![stream(&["a", "b"]), stream(&["b", "a"]), stream(&["b"])]);
    let deduped = Arc::new(script.dedupe());
    let double = format!("?b: {SAME_AS_A}");
    assert_eq!(
        Reader::of(&deduped).until("synced").await,
        ["+a", &*double, "synced"]
    );
    assert_eq!(
        Reader::of(&deduped).until("synced").await,
        [&*double, "+a", "synced"]
    );
    // It is known to be gone when all has been named.
    assert_eq!(
        Reader::of(&deduped).until("synced").await,
        [&*double, "+b", "synced"]
    );
}
