//! Lists and watches as kube's client and watcher see them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{client, config_map, config_map_json, config_maps, follow, watching, within};
use futures::{FutureExt, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{Config, watcher};
use kube::{Api, ResourceExt};
use mcrt_sim::{Server, Verb, Verdict};
use serde_json::json;

fn fill(server: &Server, count: usize) {
    for index in 0..count {
        server
            .create(config_map_json(&format!("c-{index:04}"), &json!({})))
            .unwrap();
    }
}

/// The root CA's `ConfigMap` is in every namespace.
const OWN: usize = 1;

#[tokio::test]
async fn an_object_is_created_read_patched_watched_and_deleted() {
    let server = Server::new("one");
    let api = config_maps(&server);
    let created = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    assert!(created.uid().is_some());
    let listed = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(listed.items.len(), OWN + 1);
    let version = listed.metadata.resource_version.unwrap();
    let mut events = api
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap()
        .boxed();
    let patch = json!({"data": {"key": "2"}});
    api.patch("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let Some(WatchEvent::Modified(seen)) = events.try_next().await.unwrap() else {
        panic!("no change")
    };
    assert_eq!(seen.data.unwrap()["key"], "2");
    let Some(WatchEvent::Deleted(gone)) = events.try_next().await.unwrap() else {
        panic!("no deletion")
    };
    assert!(gone.metadata.resource_version > seen.metadata.resource_version);
}

#[tokio::test]
async fn pages_are_complete_when_the_second_one_fails_once() {
    let server = Server::new("one");
    fill(&server, 1_203);
    let failed = Arc::new(AtomicBool::new(false));
    let once = Arc::clone(&failed);
    server.hook(move |request| {
        let second = request.verb() == Verb::List && request.continue_token().is_some();
        if second && !once.swap(true, Ordering::SeqCst) {
            Verdict::fail(500)
        } else {
            Verdict::Pass
        }
    });
    let mut stream = pin!(watcher(config_maps(&server), Config::default().page_size(500)));
    let mut store = BTreeMap::new();
    let seen = follow(&mut stream, &mut store, |_, seen| seen.synced == 1).await;
    assert_eq!((store.len(), seen.errors), (1_203 + OWN, 1));
    assert!(failed.load(Ordering::SeqCst));
}

#[tokio::test]
async fn pages_show_one_moment_whatever_happens_between_them() {
    let server = Server::new("one");
    fill(&server, 9);
    let api = config_maps(&server);
    let first = api.list(&ListParams::default().limit(4)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(6));
    server.delete("v1", "ConfigMap", None, "c-0007").unwrap();
    server.create(config_map_json("c-0005a", &json!({}))).unwrap();
    server
        .merge(config_map_json("c-0006", &json!({"new": "1"})))
        .unwrap();
    server
        .merge(config_map_json("c-0006", &json!({"new": "2"})))
        .unwrap();
    let rest = ListParams::default().continue_token(&first.metadata.continue_.unwrap());
    let rest = api.list(&rest).await.unwrap();
    let names: Vec<_> = rest.iter().map(ResourceExt::name_any).collect();
    assert_eq!(
        names,
        [
            "c-0004",
            "c-0005",
            "c-0006",
            "c-0007",
            "c-0008",
            "kube-root-ca.crt"
        ]
    );
    assert!(rest.items[2].labels().is_empty());
    assert_eq!(rest.metadata.resource_version, first.metadata.resource_version);
}

#[tokio::test]
async fn a_page_of_a_compacted_version_answers_410() {
    let server = Server::new("one");
    fill(&server, 9);
    let api = config_maps(&server);
    let first = api.list(&ListParams::default().limit(4)).await.unwrap();
    fill_more(&server);
    server.compact();
    let token = first.metadata.continue_.unwrap();
    let error = api
        .list(&ListParams::default().continue_token(&token))
        .await
        .unwrap_err();
    let kube::Error::Api(status) = error else {
        panic!("{error}")
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
}

fn fill_more(server: &Server) {
    server.create(config_map_json("more", &json!({}))).unwrap();
}

#[tokio::test]
async fn deletions_during_a_disconnect_are_seen_after_both_forms_of_410() {
    for strategy in [Config::default(), Config::default().streaming_lists()] {
        let server = Server::new("one");
        fill(&server, 3);
        let mut stream = pin!(watcher(config_maps(&server), strategy));
        let mut store = BTreeMap::new();
        follow(&mut stream, &mut store, |_, seen| seen.synced == 1).await;
        assert_eq!(store.len(), 3 + OWN);

        watching(&server, &mut stream).await;
        // Down, something goes, and the log forgets it: the watch cannot resume.
        server.disconnect_watches();
        server.delete("v1", "ConfigMap", None, "c-0001").unwrap();
        server.compact();
        let seen = follow(&mut stream, &mut store, |_, seen| seen.synced == 1).await;
        assert!(!store.contains_key("c-0001") && store.len() == 2 + OWN);
        assert_eq!(seen.errors, 1, "the 410 inside the stream");

        // The error inside a running stream.
        watching(&server, &mut stream).await;
        server.expire_watches();
        let seen = follow(&mut stream, &mut store, |_, seen| seen.synced == 1).await;
        assert_eq!(seen.errors, 1);
        assert_eq!(store.len(), 2 + OWN);
    }
}

#[tokio::test]
async fn a_watch_resumes_after_a_disconnect_without_a_list() {
    let server = Server::new("one");
    let mut stream = pin!(watcher(config_maps(&server), Config::default()));
    let mut store = BTreeMap::new();
    follow(&mut stream, &mut store, |_, seen| seen.synced == 1).await;
    server.disconnect_watches();
    fill(&server, 2);
    let seen = follow(&mut stream, &mut store, |store, _| store.len() == 2 + OWN).await;
    assert_eq!((seen.synced, server.counters().lists), (0, 1));
    server.delete("v1", "ConfigMap", None, "c-0000").unwrap();
    let seen = follow(&mut stream, &mut store, |_, seen| seen.deleted == 1).await;
    assert_eq!(seen.errors, 0);
}

#[tokio::test]
async fn a_watch_that_was_current_survives_a_compaction() {
    let server = Server::new("one");
    let mut stream = pin!(watcher(config_maps(&server), Config::default()));
    let mut store = BTreeMap::new();
    follow(&mut stream, &mut store, |_, seen| seen.synced == 1).await;
    let second = config_maps(&server);
    let version = server.resource_version().to_string();
    let mut live = second
        .watch(&WatchParams::default(), &version)
        .await
        .unwrap()
        .boxed();
    fill_more(&server);
    server.compact();
    assert!(matches!(
        within(live.try_next()).await.unwrap(),
        Some(WatchEvent::Added(_))
    ));
}

#[tokio::test]
async fn a_start_that_is_too_old_is_told_inside_the_stream() {
    let server = Server::new("one");
    fill(&server, 2);
    server.compact();
    let mut events = config_maps(&server)
        .watch(&WatchParams::default(), "2")
        .await
        .unwrap()
        .boxed();
    let Some(WatchEvent::Error(status)) = within(events.try_next()).await.unwrap() else {
        panic!("no error")
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
    assert!(within(events.try_next()).await.unwrap().is_none());

    // The bound is exact: the version of the compaction is still good, the one before it is not.
    let current = server.resource_version();
    for (version, refused) in [(current - 1, true), (current, false)] {
        let params = WatchParams::default();
        let events = config_maps(&server)
            .watch(&params, &version.to_string())
            .await
            .unwrap();
        let mut events = events.boxed();
        server
            .create(config_map_json(&format!("next-{version}"), &json!({})))
            .unwrap();
        let first = within(events.try_next()).await.unwrap();
        assert_eq!(
            matches!(first, Some(WatchEvent::Error(_))),
            refused,
            "{version} of {current}"
        );
    }
}

#[tokio::test]
async fn an_object_that_stops_matching_is_deleted_for_the_selector() {
    let server = Server::new("one");
    let api = config_maps(&server);
    let params = WatchParams::default().labels("team in (a, b),!hidden");
    let mut events = api.watch(&params, "0").await.unwrap().boxed();
    server
        .create(config_map_json("one", &json!({"team": "c"})))
        .unwrap();
    server
        .merge(config_map_json("one", &json!({"team": "a"})))
        .unwrap();
    server
        .merge(config_map_json("one", &json!({"team": "b"})))
        .unwrap();
    server
        .merge(config_map_json("one", &json!({"hidden": "yes"})))
        .unwrap();
    server.delete("v1", "ConfigMap", None, "one").unwrap();
    server
        .create(config_map_json("two", &json!({"team": "b"})))
        .unwrap();
    let mut kinds = Vec::new();
    while kinds.len() < 4 {
        kinds.push(match within(events.try_next()).await.unwrap().unwrap() {
            // The end of what was there: nothing.
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Added(object) => format!("+{}", object.name_any()),
            WatchEvent::Modified(object) => format!("~{}", object.name_any()),
            WatchEvent::Deleted(object) => {
                assert_eq!(object.labels()["team"], "b", "the last state that matched");
                format!("-{}", object.name_any())
            }
            other @ WatchEvent::Error(_) => format!("{other:?}"),
        });
    }
    assert_eq!(kinds, ["+one", "~one", "-one", "+two"]);
}

#[tokio::test]
async fn selectors_follow_the_full_grammar() {
    let server = Server::new("one");
    server
        .create(config_map_json("a", &json!({"team": "x", "n": "3"})))
        .unwrap();
    server
        .create(config_map_json("b", &json!({"team": "y"})))
        .unwrap();
    server.create(config_map_json("c", &json!({"team": ""}))).unwrap();
    let api = config_maps(&server);
    let cases = [
        ("team=x", "a"),
        ("team == x", "a"),
        ("team!=x", "bck"),
        ("team in (x,y)", "ab"),
        ("team notin (x,y)", "ck"),
        ("team", "abc"),
        ("!team", "k"),
        ("team=", "c"),
        ("team in ()", "c"),
        ("n>2", "a"),
        ("n<2", ""),
        ("team,n notin (4),team!=", "ab"),
    ];
    for (selector, expected) in cases {
        let found = api.list(&ListParams::default().labels(selector)).await.unwrap();
        let found: String = found.iter().map(|object| object.name_any().remove(0)).collect();
        assert_eq!(found, expected, "{selector}");
    }
    for broken in ["team in", "team in (", "=x", "a b", "team=x,,", "!", "-a", "a>b"] {
        let error = api.list(&ListParams::default().labels(broken)).await.unwrap_err();
        assert!(
            matches!(error, kube::Error::Api(status) if status.code == 400),
            "{broken}"
        );
    }
    let named = api
        .list(&ListParams::default().fields("metadata.name=b,metadata.namespace!=x"))
        .await
        .unwrap();
    assert_eq!(named.items.len(), 1);
    assert!(
        api.list(&ListParams::default().fields("data.key=1"))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn metadata_is_served_alone_where_it_is_asked_for() {
    let server = Server::new("one");
    fill(&server, 2);
    let api: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client(&server));
    let list = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 2 + OWN);
    assert_eq!(
        list.items[0].types.as_ref().unwrap().kind,
        "PartialObjectMetadata"
    );
    let mut stream = pin!(watcher(api, Config::default().streaming_lists()));
    let mut names = Vec::new();
    while names.len() < 2 + OWN {
        if let kube::runtime::watcher::Event::InitApply(object) =
            within(stream.next()).await.unwrap().unwrap()
        {
            names.push(object.name_any());
        }
    }
    assert_eq!(names[0], "c-0000");
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_at_its_timeout_and_gets_bookmarks_until_then() {
    let server = Server::new("one");
    let start = tokio::time::Instant::now();
    let params = WatchParams::default().timeout(150);
    let mut events = config_maps(&server).watch(&params, "0").await.unwrap().boxed();
    assert!(matches!(
        events.try_next().await.unwrap(),
        Some(WatchEvent::Added(_))
    ));
    assert!(matches!(
        events.try_next().await.unwrap(),
        Some(WatchEvent::Bookmark(_))
    ));
    server
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "noise"}}))
        .unwrap();
    let mut marks = Vec::new();
    while let Some(event) = events.try_next().await.unwrap() {
        let WatchEvent::Bookmark(mark) = event else {
            panic!("{event:?}")
        };
        assert_eq!(
            mark.metadata.resource_version,
            server.resource_version().to_string()
        );
        marks.push(start.elapsed().as_secs());
    }
    assert_eq!(marks, [60, 120, 148]);
    assert_eq!(start.elapsed(), Duration::from_secs(150));
}

#[tokio::test]
async fn a_list_from_the_future_is_told_to_wait() {
    let server = Server::new("one");
    let error = config_maps(&server)
        .list(&ListParams::default().at("99999"))
        .await
        .unwrap_err();
    let kube::Error::Api(status) = error else {
        panic!("{error}")
    };
    assert_eq!((status.code, status.reason.as_str()), (504, "Timeout"));
}

#[tokio::test]
async fn a_watch_of_a_kind_that_is_no_longer_served_ends() {
    let server = Server::new("one");
    let api = config_maps(&server);
    let mut events = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    within(events.try_next()).await.unwrap();
    server.unserve("", "configmaps");
    assert!(within(events.try_next()).await.unwrap().is_none());
    let error = api.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 404));
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_behind_until_its_client_has_read_what_there_is() {
    let server = Server::new("a");
    let mut events = config_maps(&server)
        .watch(&WatchParams::default(), "0")
        .await
        .unwrap()
        .boxed();
    assert_eq!(server.watches_behind(), 1);
    while events.next().now_or_never().is_some() {}
    assert_eq!(server.watches_behind(), 0);
    server.create(config_map_json("one", &json!({}))).unwrap();
    assert_eq!(server.watches_behind(), 1);
    while events.next().now_or_never().is_some() {}
    assert_eq!(server.watches_behind(), 0);
    drop(events);
    assert_eq!(server.watches_behind(), 0);
}
