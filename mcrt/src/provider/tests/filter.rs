//! Filter: descriptions that pass, and that no longer do.
use super::{
    Reader, name, rejected,
    script::{Script, Step::Say},
    spec,
};
use crate::provider::{Change, ClusterSpec, ProviderExt, providers::Clusters};
use std::{sync::Arc, time::Duration};

/// Those that lead to somewhere good.
fn is_good(spec: &ClusterSpec) -> bool {
    assert!(spec.uid != "panic", "as the test says");
    spec.uid.starts_with("good")
}

#[tokio::test(start_paused = true)]
async fn a_cluster_comes_and_goes_as_its_description_passes() {
    let clusters: Clusters = [spec("a", "good"), spec("b", "bad")].into_iter().collect();
    let mut reader = Reader::of(&Arc::new(clusters.clone().filter(is_good)));
    assert_eq!(reader.take(2).await, ["+a", "synced"]);
    clusters.replace(spec("b", "good"));
    assert_eq!(reader.next().await, "+b");
    clusters.replace(spec("a", "bad"));
    assert_eq!(reader.next().await, "-a");
    clusters.remove(&name("a"));
    clusters.add(spec("c", "bad")).unwrap();
    clusters.remove(&name("c"));
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
    clusters.remove(&name("b"));
    assert_eq!(reader.next().await, "-b");
}

#[tokio::test(start_paused = true)]
async fn of_what_does_not_pass_no_rejection_is_told_and_of_all_else_it_is() {
    let script = Script::of(vec![vec![
        Say(Change::Upsert(spec("a", "good"))),
        Say(Change::Upsert(spec("b", "bad"))),
        Say(rejected("a", "no server")),
        Say(rejected("b", "no server")),
        Say(rejected("c", "no server")),
        Say(Change::Upsert(spec("c", "bad"))),
        Say(Change::Remove(name("c"))),
    ]]);
    let mut reader = Reader::of(&Arc::new(script.filter(is_good)));
    assert_eq!(
        reader.take(4).await,
        ["+a", "?a: no server", "?c: no server", "-c"]
    );
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_predicate_that_panics_rejects_one_cluster_which_stays_as_it_was() {
    let clusters: Clusters = [spec("a", "good"), spec("b", "bad"), spec("c", "good")]
        .into_iter()
        .collect();
    let mut reader = Reader::of(&Arc::new(clusters.clone().filter(is_good)));
    reader.until("synced").await;
    clusters.replace(spec("a", "panic"));
    assert_eq!(
        reader.next().await,
        "?a: it cannot be filtered: the function panicked: as the test says"
    );
    clusters.replace(spec("b", "panic"));
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
    assert_eq!(reader.clusters["a"], "good");
    clusters.replace(spec("a", "good again"));
    assert_eq!(reader.next().await, "+a");
    assert!(reader.rejected.is_empty());
}
