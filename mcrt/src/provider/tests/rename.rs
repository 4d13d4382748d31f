//! Prefix and Rename: names, and two that become one.
use super::{
    Reader, name, rejected,
    script::{Script, Step::Say},
    spec,
};
use crate::{
    cluster::ClusterName,
    provider::{
        ProviderExt,
        providers::{Clusters, Prefix},
    },
};
use std::{sync::Arc, time::Duration};

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
    let said = reader.next().await;
    assert!(said.starts_with("!cluster `xxx"), "{said}");
    assert!(
        said.contains("cannot be renamed, and is left out: with prefix `eu/`"),
        "{said}"
    );
    assert_eq!(reader.next().await, "synced");
    clusters.remove(&name(&long));
    clusters.add(spec("b", "b")).unwrap();
    assert_eq!(reader.next().await, "+eu/b");
}

/// What remains of a name after its last slash.
fn short(name: &ClusterName) -> Result<ClusterName, String> {
    let short = name.as_str().rsplit('/').next().unwrap_or_default();
    assert!(short != "panic", "as the test says");
    ClusterName::new(short).map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn of_two_that_get_one_name_the_second_waits_for_it() {
    let clusters = Clusters::new();
    clusters.add(spec("x/a", "first")).unwrap();
    clusters.add(spec("y/a", "second")).unwrap();
    let mut reader = Reader::of(&Arc::new(clusters.clone().rename(short)));
    let conflict = "`x/a` (its name before) describes a cluster of this name, which `y/a` (its name before) claims too \
                    and does not get: rename them to different names";
    assert_eq!(
        reader.take(3).await,
        ["+a".to_owned(), format!("?a: {conflict}"), "synced".to_owned()]
    );
    assert_eq!(reader.clusters["a"], "first");
    clusters.remove(&name("x/a"));
    assert_eq!(reader.take(2).await, ["-a", "+a"]);
    assert_eq!(reader.clusters["a"], "second");
    assert!(reader.rejected.is_empty());
    clusters.remove(&name("y/a"));
    assert_eq!(reader.next().await, "-a");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_function_that_refuses_or_panics_leaves_out_one_cluster_and_says_so_once() {
    let clusters: Clusters = ["x/a", "x/panic", "x/"]
        .into_iter()
        .map(|name| spec(name, name))
        .collect();
    let mut reader = Reader::of(&Arc::new(clusters.clone().rename(short)));
    assert_eq!(
        reader.until("synced").await,
        [
            "!cluster `x/` cannot be renamed, and is left out: the name of a cluster is empty: give it at least one \
             character",
            "+a",
            "!cluster `x/panic` cannot be renamed, and is left out: the function panicked: as the test says",
            "synced"
        ]
    );
    clusters.replace(spec("x/panic", "other"));
    clusters.remove(&name("x/"));
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
    clusters.add(spec("x/", "again")).unwrap();
    assert!(reader.next().await.starts_with("!cluster `x/`"));
}

#[tokio::test(start_paused = true)]
async fn a_rejection_is_told_of_under_the_new_name() {
    let script = Script::of(vec![vec![Say(rejected("x/a", "no server"))]]);
    let mut reader = Reader::of(&Arc::new(script.rename(short)));
    assert_eq!(reader.next().await, "?a: no server");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}
