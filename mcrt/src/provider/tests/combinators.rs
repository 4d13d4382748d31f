//! Prefix and Merge: names, claims, and sources that fail.
use super::{
    Reader, name,
    script::{Script, Step::*},
    spec,
};
use crate::provider::{
    Change, ClusterSpec,
    providers::{Clusters, Merge, Prefix},
};
use std::{sync::Arc, time::Duration};

fn up(name: &str) -> super::script::Step {
    Say(Change::Upsert(spec(name, name)))
}

fn synced() -> super::script::Step {
    Say(Change::Synced)
}

#[tokio::test]
async fn a_prefix_goes_before_every_name_and_only_there() {
    let clusters = Clusters::new();
    clusters.add(spec("a", "a")).unwrap();
    let mut reader = Reader::of(&Arc::new(Prefix::new("eu/", clusters.clone())));
    assert_eq!(reader.take(2).await, ["+eu/a", "synced"]);
    assert_eq!(reader.clusters["eu/a"], "a");
    clusters.remove(&name("a"));
    assert_eq!(reader.next().await, "-eu/a");
}

#[tokio::test]
async fn a_name_that_gets_too_long_is_said_and_its_removal_is_not() {
    let clusters = Clusters::new();
    let long = "x".repeat(253);
    clusters.add(spec(&long, "a")).unwrap();
    let mut reader = Reader::of(&Arc::new(Prefix::new("eu/", clusters.clone())));
    assert!(reader.next().await.starts_with("!cluster `xxx"));
    assert_eq!(reader.next().await, "synced");
    clusters.remove(&name(&long));
    clusters.add(spec("b", "b")).unwrap();
    assert_eq!(reader.next().await, "+eu/b");
}

#[tokio::test(start_paused = true)]
async fn merged_sources_sync_once_when_the_last_has() {
    let fast = Script::of(vec![vec![up("a"), synced()]]);
    let slow = Script::of(vec![vec![up("b"), Wait(20), synced(), up("c")]]);
    let mut reader = Reader::of(&Arc::new(Merge::new().with("fast", fast).with("slow", slow)));
    let first = reader.until("synced").await;
    assert_eq!(first, ["+a", "+b", "synced"]);
    assert_eq!(reader.next().await, "+c");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_merge_of_nothing_is_synced_and_stays() {
    let mut reader = Reader::of(&Arc::new(Merge::new()));
    assert_eq!(reader.next().await, "synced");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn the_first_to_claim_a_name_keeps_it_and_the_next_gets_it_afterwards() {
    let (first, second) = (Clusters::new(), Clusters::new());
    first.add(spec("a", "first")).unwrap();
    let merge = Merge::new()
        .with("one", first.clone())
        .with("two", second.clone());
    let mut reader = Reader::of(&Arc::new(merge));
    reader.until("synced").await;
    second.add(spec("a", "second")).unwrap();
    assert_eq!(
        reader.next().await,
        "!cluster `a` of provider `two` is left out: provider `one` has one of that name; give one of them a prefix"
    );
    second.replace(spec("a", "second, changed"));
    assert!(reader.is_quiet(Duration::from_mins(1)).await, "said once");
    assert_eq!(reader.clusters["a"], "first");
    first.remove(&name("a"));
    assert_eq!(reader.take(2).await, ["-a", "+a"]);
    assert_eq!(reader.clusters["a"], "second, changed");
    second.remove(&name("a"));
    assert_eq!(reader.next().await, "-a");
}

#[tokio::test(start_paused = true)]
async fn a_claim_given_up_before_its_turn_leaves_no_trace() {
    let (first, second) = (Clusters::new(), Clusters::new());
    first.add(spec("a", "first")).unwrap();
    let mut reader = Reader::of(&Arc::new(
        Merge::new()
            .with("one", first.clone())
            .with("two", second.clone()),
    ));
    reader.until("synced").await;
    second.add(spec("a", "second")).unwrap();
    assert!(reader.next().await.starts_with("!cluster `a`"));
    second.remove(&name("a"));
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
    first.remove(&name("a"));
    assert_eq!(reader.next().await, "-a");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_ends_keeps_its_clusters_until_it_has_named_all_again() {
    let ending = Script::of(vec![
        vec![up("a"), up("b"), synced(), End],
        vec![up("b"), Wait(5), up("c"), synced()],
    ]);
    let other = Clusters::new();
    let mut reader = Reader::of(&Arc::new(
        Merge::new().with("ending", ending).with("other", other.clone()),
    ));
    reader
        .until("!provider `ending` ended: its clusters stay, it is started again")
        .await;
    assert_eq!(reader.clusters.len(), 2);
    other.add(spec("x", "x")).unwrap();
    assert_eq!(reader.next().await, "+x", "the other goes on at once");
    assert_eq!(reader.take(3).await, ["+b", "+c", "-a"]);
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["b", "c", "x"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_or_fails_does_not_touch_the_others() {
    let panicking = Script::of(vec![vec![up("a"), Panic], vec![up("a"), synced()]]);
    let failing = Script::of(vec![vec![Say(Change::Failed("no luck".into())), synced()]]);
    let other = Clusters::new();
    other.add(spec("x", "x")).unwrap();
    let merge = Merge::new()
        .with("p", panicking)
        .with("f", failing)
        .with("x", other);
    let mut reader = Reader::of(&Arc::new(merge));
    let all = reader.until("synced").await;
    assert!(
        all.contains(&"!provider `p` panicked: its clusters stay, it is started again".into()),
        "{all:?}"
    );
    assert!(all.contains(&"!provider `f`: no luck".into()), "{all:?}");
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["a", "x"]);
}

#[tokio::test(start_paused = true)]
async fn pauses_before_a_restart_double_up_to_half_a_minute() {
    let never = Script::of((0..8).map(|_| vec![End]).collect());
    let mut reader = Reader::of(&Arc::new(Merge::new().with("never", never)));
    let began = tokio::time::Instant::now();
    let mut at = Vec::new();
    for _ in 0..8 {
        reader.next().await;
        at.push(began.elapsed().as_secs());
    }
    assert_eq!(at, [0, 1, 3, 7, 15, 31, 61, 91]);
}

#[test]
fn descriptions_are_the_same_if_all_that_counts_is() {
    let one = spec("a", "a");
    assert!(one.says_the_same(&spec("a", "a")));
    assert!(!one.says_the_same(&spec("b", "a")));
    assert!(!one.says_the_same(&spec("a", "b")));
    let other_uid = ClusterSpec {
        uid: "z".into(),
        ..spec("a", "a")
    };
    assert!(!one.says_the_same(&other_uid));
}
