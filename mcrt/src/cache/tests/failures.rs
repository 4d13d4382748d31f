//! Servers that fail, refuse, or do not know the kind.
use super::{server::watches, *};
use mcrt_sim::{Fault, Verb, Verdict};
use std::collections::HashSet;
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn failing_lists_are_spaced_out() {
    let server = Server::new();
    server.rule(|_| Verdict::fail(500));
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!((10..=12).contains(&server.lists()), "{} lists", server.lists());
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
    // One list tells what the watch could not: from then on discovery alone is asked.
    assert_eq!(server.lists(), 2);
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
async fn a_watch_that_falls_silent_is_noticed_five_seconds_after_its_time_and_its_age_shows_it_meanwhile() {
    let server = Server::new();
    server.rule(|call| {
        if watches(call) {
            Fault::silence_after(Duration::from_secs(1)).into()
        } else {
            Verdict::Pass
        }
    });
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    let begin = Instant::now();
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.put("x/a", "1");
    server.rule(|_| Verdict::Pass);
    tokio::time::sleep(Duration::from_secs(50)).await;
    let age = cache.store().age().unwrap();
    assert!(age >= Duration::from_secs(50), "{age:?}");
    assert_eq!(cache.stats().last_message.unwrap().elapsed(), age);
    until("the change", || recorder.len() == 2).await;
    assert_eq!(recorder.take(), ["synced", "+x/a"]);
    assert!(
        begin.elapsed() < Duration::from_secs(127),
        "{:?}",
        begin.elapsed()
    );
    assert!(cache.store().age().unwrap() < Duration::from_secs(1));
    assert_eq!(server.lists(), 1);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn each_watch_asks_for_a_time_of_its_own_between_one_and_two_minutes() {
    let server = Server::new();
    let caches = caches(&server);
    let all: Vec<_> = (0..20)
        .map(|n| {
            let cache = caches.open::<ConfigMap>(scope_number(n), ());
            cache.start();
            cache
        })
        .collect();
    for cache in &all {
        synced(cache).await;
    }
    until("every watch", || server.open_watches() == 20).await;
    let asked = Mutex::new(HashSet::new());
    server.count(|call| {
        let timeout = call.query("timeoutSeconds").filter(|_| watches(call));
        let timeout: Option<u64> = timeout.and_then(|seconds| seconds.parse().ok());
        timeout.is_some_and(|seconds| asked.lock().insert(seconds))
    });
    let asked = asked.into_inner();
    assert!(asked.len() > 5, "{asked:?}");
    assert!(
        asked.iter().all(|seconds| (60..=120).contains(seconds)),
        "{asked:?}"
    );
    // Every one of them is renewed in time and nothing is listed again.
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(server.lists(), 20);
    let renewals: u64 = all.iter().map(|cache| cache.stats().watch_restarts).sum();
    assert!((80..=200).contains(&renewals), "{renewals} renewals");
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_given_the_time_that_it_asks_for_and_not_more_than_a_minute() {
    for (asked, waits) in [(20, 20..=25), (86_400, 60..=61)] {
        let server = Server::with(&["x/a"]);
        let first = AtomicUsize::new(0);
        server.rule(move |call| match (call.verb(), first.fetch_add(1, SeqCst)) {
            (Verb::List, 0) => Fault::status(503).retry_after(Duration::from_secs(asked)).into(),
            _ => Verdict::Pass,
        });
        let caches = caches(&server);
        let cache = caches.open::<ConfigMap>(scope(), ());
        let begin = Instant::now();
        cache.start();
        synced(&cache).await;
        let waited = begin.elapsed().as_secs();
        assert!(waits.contains(&waited), "{waited} s for {asked}");
        caches.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_next_page_is_gone_begins_again_and_is_whole() {
    let server = Server::new();
    for n in 0..1203 {
        server.put(&format!("x/o{n:04}"), "1");
    }
    let gone = AtomicUsize::new(0);
    server.rule(move |call| {
        let second_page = call.query("continue").is_some() && gone.fetch_add(1, SeqCst) == 0;
        if second_page {
            Verdict::gone()
        } else {
            Verdict::Pass
        }
    });
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    assert_eq!((cache.store().len(), server.lists()), (1203, 2));
    assert_eq!(recorder.len(), 1204);
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
