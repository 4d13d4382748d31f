//! Clusters that come, go, stop and are made anew.
use super::machine::{Machine, stopped, up};
use crate::provider::{Change, tests::Reader};
use std::sync::Arc;

#[tokio::test]
async fn the_clusters_that_exist_come_first_then_those_that_are_made_and_deleted() {
    let machine = Machine::new();
    machine.runs(&[("a", "1"), ("b", "2")]);
    let mut reader = machine.follow();
    let mut first = reader.until("synced").await;
    first.sort();
    assert_eq!(first, ["+a", "+b", "synced"]);
    machine.runs(&[("b", "2"), ("c", "3")]);
    let mut changes = reader.take(2).await;
    changes.sort();
    assert_eq!(changes, ["+c", "-a"]);
    machine.runs(&[]);
    let mut changes = reader.take(2).await;
    changes.sort();
    assert_eq!(changes, ["-b", "-c"]);
}

#[tokio::test]
async fn without_clusters_it_syncs_at_once() {
    let machine = Machine::new();
    machine.write("noise", "No kind clusters found.\n");
    let mut reader = machine.follow();
    assert_eq!(reader.next().await, "synced");
    machine.runs(&[("a", "1")]);
    assert_eq!(reader.next().await, "+a");
}

#[tokio::test]
async fn where_nothing_changes_nothing_is_said_and_kind_is_not_asked_again() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let mut reader = machine.follow();
    reader.until("synced").await;
    machine.lists(&[&up("a", "1").replace("2 hours", "3 hours")]);
    let before = machine.asked().matches("docker ps").count();
    machine
        .quiet_until_asked(&mut reader, "docker ps", before + 3)
        .await;
    let asked = machine.asked();
    assert_eq!(asked.matches("kind get kubeconfig").count(), 1, "{asked}");
}

#[tokio::test]
async fn a_cluster_that_stops_is_rejected_and_one_that_starts_again_is_the_same() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    machine.lists(&[&up("a", "1"), &stopped("b", "2")]);
    machine.gives("b", 40001);
    let mut reader = machine.follow();
    let mut first = reader.until("synced").await;
    first.sort();
    assert_eq!(first, ["+a", "?b: it is stopped: start its containers", "synced"]);
    assert!(!machine.asked().contains("--name=b"), "it could not answer");
    machine.lists(&[&stopped("a", "1"), &up("b", "2")]);
    let mut changes = reader.take(2).await;
    changes.sort();
    assert_eq!(changes, ["+b", "?a: it is stopped: start its containers"]);
    assert!(reader.clusters.contains_key("a"), "it stays");
    machine.lists(&[&up("a", "1"), &up("b", "2")]);
    assert_eq!(reader.next().await, "+a", "which takes the rejection back");
}

#[tokio::test]
async fn a_cluster_made_anew_between_two_looks_is_another_with_an_equal_kubeconfig_too() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let mut reader = machine.follow();
    let Change::Upsert(before) = reader.change().await else {
        panic!("it comes first");
    };
    reader.until("synced").await;
    machine.runs(&[("a", "2")]);
    assert_eq!(reader.next().await, "-a", "what bore the name is gone");
    let Change::Upsert(after) = reader.change().await else {
        panic!("it comes again");
    };
    assert_eq!((before.uid.as_str(), after.uid.as_str()), ("1", "2"));
    assert_eq!(before.access.fingerprint(), after.access.fingerprint());
}

#[tokio::test]
async fn a_cluster_made_anew_that_is_not_ready_yet_leaves_nothing_of_the_one_before() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let mut reader = machine.follow();
    reader.until("synced").await;
    machine.remove("kubeconfigs/a");
    machine.lists(&[&up("a", "2")]);
    assert_eq!(reader.next().await, "-a");
    assert!(reader.next().await.starts_with("?a: "));
    machine.gives("a", 40007);
    assert_eq!(reader.next().await, "+a");
    assert_eq!(reader.clusters["a"], "https://127.0.0.1:40007/");
}

#[tokio::test]
async fn a_port_that_has_changed_with_a_restart_is_asked_for() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let mut reader = machine.follow();
    reader.until("synced").await;
    machine.gives("a", 40009);
    machine.lists(&[&up("a", "1").replace("40000", "40009")]);
    assert_eq!(reader.next().await, "+a");
    assert_eq!(reader.clusters["a"], "https://127.0.0.1:40009/");
}

#[tokio::test]
async fn a_prefix_goes_before_names_and_the_label_keeps_the_name_that_kind_gave() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let kind = Arc::new(machine.kind().prefix("kind/").internal(true));
    let mut reader = Reader::of(&kind);
    let Change::Upsert(spec) = reader.change().await else {
        panic!("it comes first");
    };
    assert_eq!(spec.name.as_str(), "kind/a");
    assert_eq!(spec.properties.labels["io.x-k8s.kind.cluster"], "a");
    assert!(
        machine
            .asked()
            .contains("kind get kubeconfig --name=a --internal by docker")
    );
}

#[tokio::test]
async fn every_stream_begins_with_all() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let kind = Arc::new(machine.kind());
    for _ in 0..2 {
        assert_eq!(Reader::of(&kind).until("synced").await, ["+a", "synced"]);
    }
}
