//! Clusters in memory: nothing is lost, however many change them.
use super::{Reader, name, spec};
use crate::provider::providers::{Clusters, NameTaken, None, Single};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

#[tokio::test]
async fn a_stream_begins_with_the_whole_set_then_synced_then_changes() {
    let clusters: Clusters = ["b", "a"].into_iter().map(|name| spec(name, name)).collect();
    let mut reader = Reader::of(&Arc::new(clusters.clone()));
    assert_eq!(reader.take(3).await, ["+a", "+b", "synced"]);
    clusters.add(spec("c", "c")).unwrap();
    assert_eq!(reader.next().await, "+c");
    clusters.remove(&name("a"));
    assert_eq!(reader.next().await, "-a");
    clusters.replace(spec("b", "other"));
    assert_eq!(reader.next().await, "+b");
    assert_eq!(reader.clusters["b"], "other");
}

#[tokio::test(start_paused = true)]
async fn a_taken_name_and_an_unknown_one_change_nothing() {
    let clusters = Clusters::new();
    clusters.add(spec("a", "first")).unwrap();
    assert_eq!(clusters.add(spec("a", "second")), Err(NameTaken(name("a"))));
    assert!(clusters.remove(&name("b")).is_none());
    let mut reader = Reader::of(&Arc::new(clusters));
    assert_eq!(reader.take(2).await, ["+a", "synced"]);
    assert_eq!(reader.clusters["a"], "first");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test]
async fn a_cluster_removed_and_added_again_between_two_looks_shows_as_both() {
    let clusters = Clusters::new();
    clusters.add(spec("a", "same")).unwrap();
    let mut reader = Reader::of(&Arc::new(clusters.clone()));
    reader.until("synced").await;
    clusters.remove(&name("a"));
    clusters.add(spec("a", "same")).unwrap();
    assert_eq!(reader.take(2).await, ["-a", "+a"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_came_and_went_between_two_looks_does_not_show() {
    let clusters = Clusters::new();
    let mut reader = Reader::of(&Arc::new(clusters.clone()));
    reader.until("synced").await;
    clusters.add(spec("a", "a")).unwrap();
    clusters.remove(&name("a"));
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_clusters_added_from_eight_tasks_reach_every_stream() {
    let clusters = Clusters::new();
    let provider = Arc::new(clusters.clone());
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let mut reader = Reader::of(&provider);
            tokio::spawn(async move {
                let mut seen = BTreeSet::new();
                while seen.len() < 1000 {
                    if let Some(name) = reader.next().await.strip_prefix('+') {
                        assert!(seen.insert(name.to_owned()), "`{name}` is named once");
                    }
                }
            })
        })
        .collect();
    let adders: Vec<_> = (0..8)
        .map(|task| {
            let clusters = clusters.clone();
            tokio::spawn(async move {
                for number in 0..125 {
                    let name = format!("{task}-{number}");
                    clusters.add(spec(&name, &name)).unwrap();
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for task in adders.into_iter().chain(readers) {
        tokio::time::timeout(super::SOON, task).await.unwrap().unwrap();
    }
    assert_eq!(clusters.names().len(), 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn streams_that_race_with_changes_end_up_with_the_same_set() {
    let clusters = Clusters::new();
    let provider = Arc::new(clusters.clone());
    let mut readers: Vec<_> = (0..3).map(|_| Reader::of(&provider)).collect();
    let changers: Vec<_> = (0..4u32)
        .map(|task| {
            let clusters = clusters.clone();
            tokio::spawn(async move {
                for step in 0..500u32 {
                    let name = format!("c{}", (step * 7 + task * 3) % 20);
                    if (step + task) % 3 == 0 {
                        clusters.remove(&super::name(&name));
                    } else {
                        clusters.replace(spec(&name, &format!("{task}-{step}")));
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for task in changers {
        task.await.unwrap();
    }
    clusters.add(spec("zz-last", "last")).unwrap();
    let names: Vec<_> = clusters.names().iter().map(ToString::to_string).collect();
    for reader in &mut readers {
        reader.until("+zz-last").await;
        assert_eq!(reader.clusters.keys().cloned().collect::<Vec<_>>(), names);
    }
    assert_eq!(readers[0].clusters, readers[1].clusters);
}

#[tokio::test(start_paused = true)]
async fn a_single_cluster_and_none_stay_as_they_are() {
    let mut single = Reader::of(&Arc::new(Single::new(name("one"), spec("x", "x").access)));
    assert_eq!(single.take(2).await, ["+one", "synced"]);
    assert!(single.is_quiet(Duration::from_mins(1)).await);
    let mut none = Reader::of(&Arc::new(None));
    assert_eq!(none.next().await, "synced");
    assert!(none.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_stream_outlives_every_handle() {
    let clusters: Clusters = [spec("a", "a")].into_iter().collect();
    let mut reader = Reader::of(&Arc::new(clusters));
    reader.until("synced").await;
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}
