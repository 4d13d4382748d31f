//! The real kind, where it and an engine are installed: what it lists, and nothing that reaches a cluster.
use crate::provider::{Change, providers::Kind, tests::Reader};
use std::{collections::BTreeSet, process::Command, sync::Arc};

/// The clusters that kind lists, if it and its engine work here.
fn listed() -> Option<BTreeSet<String>> {
    let listed = Command::new("kind").args(["get", "clusters"]).output().ok()?;
    let text = String::from_utf8(listed.stdout).ok()?;
    listed
        .status
        .success()
        .then(|| text.lines().map(str::to_owned).collect())
}

#[tokio::test]
async fn the_real_kind_and_the_provider_name_the_same_clusters() {
    let Some(listed) = listed() else {
        eprintln!("skipped: kind, or an engine that it could ask, is not here");
        return;
    };
    let mut reader = Reader::of(&Arc::new(Kind::new()));
    let mut named = BTreeSet::new();
    loop {
        match reader.change().await {
            Change::Upsert(spec) => named.insert(spec.name.to_string()),
            Change::Rejected { name, .. } => named.insert(name.to_string()),
            Change::Failed(reason) => panic!("{reason}"),
            Change::Synced => break,
            Change::Remove(name) => named.remove(name.as_str()),
        };
    }
    assert_eq!(named, listed);
}
