//! Servers that fail, refuse, or do not know the kind.
use super::{server::watches, *};
use mcrt_sim::Verdict;

#[tokio::test(start_paused = true)]
async fn failing_lists_are_spaced_out() {
    let server = Server::new();
    server.rule(|_| Verdict::fail(500));
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    tokio::time::sleep(Duration::from_mins(5)).await;
    // 0.8 s doubled up to 30 s gives 15 attempts at most; jitter makes them fewer.
    assert!((5..=15).contains(&server.lists()), "{} lists", server.lists());
    assert_eq!(cache.store().state(), WatchState::Syncing);
    assert!(!cache.store().is_synced());
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_spaced_out() {
    let server = Server::new();
    let caches = caches(&server);
    let ending = server.clone();
    server.rule(move |call| {
        if watches(call) {
            let ending = ending.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                ending.disconnect();
            });
        }
        Verdict::Pass
    });
    let (cache, ..) = recorded(&caches).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    let started = server.count(watches);
    assert!((8..=20).contains(&started), "{started} watches");
    assert_eq!(cache.stats().watch_restarts, started as u64 - 1);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_is_absent_until_it_is() {
    let server = Server::with(&["x/a"]);
    server.rule(|_| Verdict::fail(404));
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    let recorder = Arc::new(Recorder::default());
    let _subscription = cache.subscribe(recorder.clone()).await;
    cache.start();
    reaches(&cache, WatchState::Absent).await;
    tokio::time::sleep(Duration::from_secs(290)).await;
    assert!((8..=13).contains(&server.lists()), "{} lists", server.lists());
    assert!(recorder.take().is_empty());
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    assert_eq!(recorder.take(), ["(+x/a)", "synced"]);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_goes_is_absent_and_its_objects_stay_readable() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    server.rule(|_| Verdict::fail(404));
    server.disconnect();
    reaches(&cache, WatchState::Absent).await;
    assert_eq!(cache.store().len(), 1);
    assert_eq!(recorder.take(), ["(+x/a)", "synced"]);
    server.delete("x/a");
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    assert_eq!(recorder.take(), ["(-x/a)", "synced"]);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_kind_is_forbidden_until_it_is_allowed() {
    let server = Server::with(&["x/a"]);
    server.rule(|_| Verdict::fail(403));
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    reaches(&cache, WatchState::Forbidden).await;
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_alone_is_refused_is_forbidden_and_synced_once_it_is_allowed() {
    let server = Server::with(&["x/a"]);
    server.rule(|call| {
        if watches(call) {
            Verdict::fail(403)
        } else {
            Verdict::Pass
        }
    });
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    reaches(&cache, WatchState::Forbidden).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert_eq!(
        (server.lists(), cache.store().state()),
        (1, WatchState::Forbidden)
    );
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    assert_eq!(server.lists(), 1);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn one_kind_that_fails_leaves_the_others_alone() {
    let server = Server::with(&["x/a", "y/a"]);
    server.rule(|call| match call.namespace() {
        Some("y") => Verdict::fail(403),
        _ => Verdict::Pass,
    });
    let caches = caches(&server);
    let [x, y] = ["x", "y"].map(|namespace| {
        let cache = caches.open::<ConfigMap>(
            WatchScope {
                namespaces: vec![namespace.into()],
                ..scope()
            },
            (),
        );
        cache.start();
        cache
    });
    synced(&x).await;
    reaches(&y, WatchState::Forbidden).await;
    let states: Vec<_> = caches
        .states()
        .into_iter()
        .map(|(scope, state)| (scope.namespaces, state))
        .collect();
    assert!(states.contains(&(vec!["x".into()], WatchState::Synced)));
    assert!(states.contains(&(vec!["y".into()], WatchState::Forbidden)));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn bookmarks_keep_a_quiet_store_fresh_and_silence_shows_in_its_age() {
    let server = Server::new();
    let caches = caches(&server);
    let (cache, ..) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert!(cache.store().age().unwrap() >= Duration::from_secs(49));
    assert_eq!(cache.store().stale_for(), None);
    server.change_elsewhere();
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(cache.store().age().unwrap() < Duration::from_secs(5));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_hangs_before_or_inside_its_body_is_begun_again() {
    for hang in [Verdict::Hang, Verdict::HangBody] {
        let server = Server::with(&["x/a"]);
        server.rule(move |_| hang.clone());
        let caches = caches(&server);
        let cache = caches.open::<ConfigMap>(scope(), ());
        cache.start();
        until("a list", || server.lists() == 1).await;
        server.rule(|_| Verdict::Pass);
        synced(&cache).await;
        assert_eq!(server.lists(), 2);
        caches.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_hangs_before_its_first_byte_is_begun_again() {
    let server = Server::new();
    server.rule(|call| {
        if watches(call) {
            Verdict::Hang
        } else {
            Verdict::Pass
        }
    });
    let caches = caches(&server);
    let (_cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch that hangs", || server.count(watches) == 1).await;
    server.put("x/a", "1");
    server.rule(|_| Verdict::Pass);
    until("the delta", || recorder.len() == 2).await;
    assert_eq!(recorder.take(), ["synced", "+x/a"]);
    caches.close().await;
}
