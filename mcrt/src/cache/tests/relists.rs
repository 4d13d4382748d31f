//! Lists, and lists again: nothing lost, nothing twice, nothing said that did not change.
use super::{server::watches, *};
use kube::core::{DynamicObject, ObjectMeta, PartialObjectMeta};
use mcrt_sim::{RequestInfo, Verdict};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[tokio::test(start_paused = true)]
async fn changes_arrive_as_deltas_with_the_last_known_object() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    assert_eq!(recorder.take(), ["(+x/a)", "synced"]);
    until("a watch", || server.open_watches() == 1).await;
    server.put("x/b", "1");
    server.put("x/a", "2");
    server.delete("x/b");
    until("three deltas", || recorder.len() == 3).await;
    assert_eq!(recorder.take(), ["+x/b", "~x/a", "-x/b"]);
    assert_eq!(cache.store().len(), 1);
    assert_eq!(
        cache.store().get(&key("x/a")).unwrap().data.as_ref().unwrap()["value"],
        "2"
    );
    assert!(cache.store().get(&key("x/b")).is_none());
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn objects_deleted_during_a_disconnect_are_told_and_unchanged_ones_are_not() {
    let server = Server::with(&["x/a", "x/b", "x/c"]);
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    recorder.take();
    server.rule(|call| {
        if watches(call) {
            Verdict::fail(503)
        } else {
            Verdict::Pass
        }
    });
    server.disconnect();
    server.delete("x/b");
    server.put("x/c", "2");
    server.put("x/d", "1");
    server.compact();
    server.rule(|_| Verdict::Pass);
    until("the relist", || recorder.len() == 3).await;
    assert_eq!(recorder.take_sorted(), ["(+x/d)", "(-x/b)", "(~x/c)"]);
    assert_eq!((server.lists(), recorder.relists()), (2, 1));
    assert!(cache.store().is_synced());
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_stays_synced_and_readable_while_it_lists_again() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    recorder.take();
    let before = cache.store().get(&key("x/a")).unwrap();
    server.rule(|call| {
        if watches(call) {
            Verdict::Pass
        } else {
            Verdict::Hang
        }
    });
    server.put("x/z", "1");
    server.compact();
    server.rule(|call| {
        if watches(call) {
            Verdict::fail(410)
        } else {
            Verdict::Hang
        }
    });
    server.disconnect();
    until("a list that hangs", || server.lists() == 2).await;
    assert!(cache.store().is_synced());
    assert_eq!(before, cache.store().get(&key("x/a")).unwrap());
    assert!(cache.store().stale_for().is_some());
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_gone_version_lists_again_when_the_watch_is_refused_with_it() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let refusals = Arc::new(AtomicUsize::new(1));
    server.rule(move |call| {
        let refuse = watches(call)
            && refusals
                .fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1))
                .is_ok();
        if refuse { Verdict::fail(410) } else { Verdict::Pass }
    });
    let (_cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    assert_eq!(server.lists(), 2);
    server.put("x/b", "1");
    until("the watch delivers", || recorder.len() == 3).await;
    assert_eq!(recorder.take(), ["(+x/a)", "synced", "+x/b"]);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_gone_version_lists_again_when_it_is_told_inside_the_watch() {
    let server = Server::with(&["x/a", "x/b"]);
    let caches = caches(&server);
    let (_cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    recorder.take();
    server.expire();
    until("the relist and another watch", || {
        server.lists() == 2 && server.open_watches() == 1
    })
    .await;
    assert!(recorder.take().is_empty());
    assert_eq!(recorder.relists(), 1);
    server.put("x/b", "2");
    until("the watch delivers", || recorder.len() == 1).await;
    assert_eq!(recorder.take(), ["~x/b"]);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_every_watch_as_gone_is_listed_ever_more_slowly() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    server.rule(|call| {
        if watches(call) {
            Verdict::fail(410)
        } else {
            Verdict::Pass
        }
    });
    let (_cache, recorder, _subscription) = recorded(&caches).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(server.lists() <= 20, "{} lists", server.lists());
    assert_eq!(recorder.take(), ["(+x/a)", "synced"]);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_of_many_pages_with_one_that_fails_is_complete_and_tells_each_object_once() {
    let server = Server::new();
    let keys: Vec<_> = (0..1203).map(|n| format!("x/o{n:04}")).collect();
    for key in &keys {
        server.put(key, "1");
    }
    let pages = AtomicUsize::new(0);
    server.rule(move |call| {
        let second_page = !watches(call) && pages.fetch_add(1, SeqCst) == 1;
        if second_page {
            Verdict::fail(500)
        } else {
            Verdict::Pass
        }
    });
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    assert_eq!(cache.store().len(), 1203);
    let mut expected: Vec<_> = keys.iter().map(|key| format!("(+{key})")).collect();
    expected.push("synced".into());
    assert_eq!(recorder.take_sorted(), expected);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn each_namespace_sweeps_its_own_objects_only() {
    let server = Server::with(&["x/a", "x/b", "y/a", "y/b", "z/a"]);
    let caches = caches(&server);
    let scope = WatchScope {
        namespaces: vec!["y".into(), "x".into(), "y".into()],
        ..scope()
    };
    let cache = caches.open::<ConfigMap>(scope, ());
    let recorder = Arc::new(Recorder::default());
    let _subscription = cache.subscribe(recorder.clone()).await;
    cache.start();
    synced(&cache).await;
    assert_eq!(
        recorder.take_sorted(),
        ["(+x/a)", "(+x/b)", "(+y/a)", "(+y/b)", "synced"]
    );
    until("two watches", || server.open_watches() == 2).await;
    server.rule(|call| match (watches(call), call.namespace()) {
        (_, Some("y")) => Verdict::Hang,
        _ => Verdict::Pass,
    });
    server.disconnect();
    server.delete("x/b");
    server.delete("y/b");
    server.compact();
    until("the sweep of x", || recorder.len() == 1).await;
    assert_eq!(recorder.take(), ["(-x/b)"]);
    assert_eq!(cache.store().len(), 3);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn managed_fields_are_never_stored() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    let metadata = WatchScope {
        metadata_only: true,
        ..scope()
    };
    let bare = caches.open::<PartialObjectMeta<ConfigMap>>(metadata, ());
    bare.start();
    synced(&bare).await;
    until("both watches", || server.open_watches() == 2).await;
    recorder.take();
    server.put("x/b", "1");
    until("the event", || recorder.len() == 1 && bare.store().len() == 2).await;
    assert!(
        cache
            .store()
            .list()
            .iter()
            .all(|object| object.metadata.managed_fields.is_none())
    );
    assert!(
        bare.store()
            .list()
            .iter()
            .all(|object| object.metadata.managed_fields.is_none())
    );
    assert_eq!(server.count(RequestInfo::metadata_only), 2);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_of_metadata_holds_no_data_in_the_annotation_of_kubectl() {
    let server = Server::new();
    server.put_by_kubectl("x/listed", "hunter2");
    let caches = caches(&server);
    let (whole, ..) = recorded(&caches).await;
    let bare = caches.open::<PartialObjectMeta<ConfigMap>>(scope(), ());
    bare.start();
    synced(&bare).await;
    until("both watches", || server.open_watches() == 2).await;
    server.put_by_kubectl("x/watched", "hunter2");
    let noted = |meta: &ObjectMeta| {
        meta.annotations
            .as_ref()
            .is_some_and(|all| all.contains_key("note"))
    };
    until("both objects", || {
        bare.store()
            .list()
            .iter()
            .filter(|object| noted(&object.metadata))
            .count()
            == 2
    })
    .await;
    for object in bare.store().list() {
        let annotations = object.metadata.annotations.as_ref().unwrap();
        assert_eq!(annotations.keys().collect::<Vec<_>>(), ["note"]);
    }
    // A whole object holds the data anyway, and may be written back.
    let listed = whole.store().get(&key("x/listed")).unwrap();
    assert_eq!(listed.metadata.annotations.as_ref().unwrap().len(), 2);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_known_at_run_time_only_is_cached_like_any_other() {
    let server = Server::with(&["x/a", "y/a"]);
    let caches = caches(&server);
    let scope = WatchScope {
        namespaces: vec!["x".into()],
        ..scope()
    };
    let kind = scope.resource.clone();
    let cache = caches.open::<DynamicObject>(scope, kind);
    cache.start();
    synced(&cache).await;
    until("a watch", || server.open_watches() == 1).await;
    server.put("x/b", "1");
    until("the event", || cache.store().len() == 2).await;
    let object = cache.store().get(&key("x/a")).unwrap();
    assert_eq!(object.data["data"]["value"], "1");
    assert_eq!(object.metadata.managed_fields, None);
    caches.close().await;
}
