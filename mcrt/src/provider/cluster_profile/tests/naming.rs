//! Several profiles of one cluster, and clusters that are called by their id.
use super::{QUIET, called, delete, healthy, host, profile, provider, put, read, with};
use crate::provider::{cluster_profile::SameCluster, tests::Reader};
use mcrt_sim::Server;
use serde_json::{Value, json};

fn displayed(key: &str, name: &str) -> Value {
    with(
        profile(key, &format!("https://{}", key.replace('/', "."))),
        "/spec/displayName",
        json!(name),
    )
}

async fn started(host: &Server, provider: super::ClusterProfiles) -> (Reader, Vec<String>) {
    let mut reader = read(host, provider);
    let all = reader.until("synced").await;
    (reader, all)
}

#[tokio::test(start_paused = true)]
async fn of_several_profiles_of_one_cluster_one_stands_for_it_as_long_as_it_is_there() {
    let host = host();
    put(
        &host,
        with(
            displayed("a/x", "X"),
            "/status/conditions",
            json!([healthy("False")]),
        ),
    );
    put(&host, displayed("b/x", "X"));
    put(&host, displayed("b/y", "Y"));
    put(
        &host,
        with(displayed("b/z", "X"), "/spec/clusterManager/name", json!("other")),
    );
    let (mut reader, all) = started(&host, provider().same_cluster_by(SameCluster::DisplayName)).await;
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        ["+b/x", "+b/y", "+b/z", "synced"],
        "the first that can be used"
    );
    put(&host, displayed("a/x", "X"));
    assert!(reader.is_quiet(QUIET).await, "it has one already");
    delete(&host, "b/x");
    let mut changes = reader.take(2).await;
    changes.sort();
    assert_eq!(changes, ["+a/x", "-b/x"]);
    assert_eq!(reader.clusters["a/x"], "https://a.x/");
    put(&host, displayed("a/x", "Y"));
    assert_eq!(
        reader.next().await,
        "-a/x",
        "it is one of those now, and they have one"
    );
}

#[tokio::test(start_paused = true)]
async fn profiles_with_one_id_can_be_one_cluster() {
    let host = host();
    put(&host, called(profile("a/x", "https://x"), "id"));
    put(&host, called(profile("b/x", "https://y"), "id"));
    put(&host, profile("b/y", "https://y"));
    let (_, all) = started(&host, provider().same_cluster_by(SameCluster::ClusterId)).await;
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(
        all.contains(&"+a/x".to_owned()) && all.contains(&"+b/y".to_owned()),
        "{all:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_is_called_by_its_id_and_keeps_its_name() {
    let host = host();
    put(&host, called(profile("a/x", "https://x"), "one"));
    put(&host, called(profile("a/y", "https://y"), "two"));
    put(&host, profile("a/z", "https://z"));
    let (mut reader, all) = started(&host, provider().named_by_cluster_id()).await;
    let no_id = "?a/z: ClusterProfile `a/z`: not ready: it has no property `cluster.clusterset.k8s.io`";
    assert_eq!(all, ["+one", "+two", no_id, "synced"]);
    // It renames itself to another's name.
    put(&host, called(profile("a/y", "https://evil"), "one"));
    let said = reader.next().await;
    assert!(
        said.starts_with("?two: ClusterProfile `a/y`: its property `cluster.clusterset.k8s.io` has changed"),
        "{said}"
    );
    assert_eq!(reader.clusters["one"], "https://x/");
    assert_eq!(reader.clusters["two"], "https://y/");
    put(&host, called(profile("a/y", "https://y2"), "two"));
    assert_eq!(reader.next().await, "+two");
    put(&host, profile("a/y", "https://y2"));
    assert!(
        reader.next().await.starts_with("?two: "),
        "an id that vanishes has changed too"
    );
    assert!(reader.is_quiet(QUIET).await);
}

#[tokio::test(start_paused = true)]
async fn an_id_that_another_has_is_not_given_and_is_when_it_is_free() {
    let host = host();
    put(&host, called(profile("b/x", "https://x"), "one"));
    let (mut reader, _) = started(&host, provider().named_by_cluster_id()).await;
    // First in the order of names, which counts for nothing.
    put(&host, called(profile("a/evil", "https://evil"), "one"));
    let said = reader.next().await;
    assert!(
        said.starts_with("?a/evil: ClusterProfile `a/evil`: its property")
            && said.contains("`b/x` describes"),
        "{said}"
    );
    // The holder says another id now: it keeps its name all the same.
    put(&host, called(profile("b/x", "https://x"), "two"));
    assert!(reader.next().await.starts_with("?one: "));
    assert_eq!(reader.clusters["one"], "https://x/");
    delete(&host, "b/x");
    let mut changes = Vec::new();
    while reader.clusters.get("one").map(String::as_str) != Some("https://evil/") {
        changes.push(reader.next().await);
    }
    assert!(changes.contains(&"-one".to_owned()), "{changes:?}");
}

#[tokio::test(start_paused = true)]
async fn of_two_that_come_with_one_id_neither_gets_it_until_one_gives_it_up() {
    let host = host();
    put(&host, called(profile("a/x", "https://x"), "one"));
    put(&host, called(profile("b/y", "https://y"), "one"));
    let (mut reader, all) = started(&host, provider().named_by_cluster_id()).await;
    assert_eq!(all.len(), 3);
    assert!(
        all[0].starts_with("?a/x: ") && all[0].contains("`b/y` too"),
        "{all:?}"
    );
    assert!(
        all[1].starts_with("?b/y: ") && all[1].contains("`a/x` too"),
        "{all:?}"
    );
    put(&host, called(profile("b/y", "https://y"), "two"));
    let mut changes = Vec::new();
    while reader.clusters.len() < 2 {
        changes.push(reader.next().await);
    }
    assert_eq!(reader.clusters["one"], "https://x/");
    assert_eq!(reader.clusters["two"], "https://y/");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_id_is_no_name() {
    let host = host();
    for (name, id) in [
        ("upper", "Upper"),
        ("slash", "a/x"),
        ("dots", "a..b"),
        ("long", &*"x".repeat(300)),
    ] {
        put(&host, called(profile(&format!("a/{name}"), "https://s"), id));
    }
    put(&host, called(profile("a/good", "https://s"), "0.a-b"));
    let (reader, all) = started(&host, provider().named_by_cluster_id()).await;
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["0.a-b"]);
    let refused = all
        .iter()
        .filter(|said| said.contains("is not the name of a subdomain"));
    assert_eq!(refused.count(), 4, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn profiles_of_one_cluster_can_be_called_by_the_id_together() {
    let host = host();
    put(&host, called(displayed("a/x", "X"), "one"));
    put(&host, called(displayed("b/x", "X"), "one"));
    let provider = provider()
        .same_cluster_by(SameCluster::DisplayName)
        .named_by_cluster_id();
    let (mut reader, all) = started(&host, provider).await;
    assert_eq!(all, ["+one", "synced"]);
    delete(&host, "a/x");
    let mut changes = Vec::new();
    while reader.clusters.get("one").map(String::as_str) != Some("https://b.x/") {
        changes.push(reader.next().await);
    }
}
