//! Clusters that do not serve the kind, or do not let it be seen.
use super::{
    server::{discovers, watches},
    *,
};
use mcrt_sim::Verdict;
use tokio::time::Instant;

const HOUR: Duration = Duration::from_hours(1);

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_is_listed_once_and_then_looked_for_by_one_slow_question() {
    let server = Server::with(&["x/a"]);
    server.unserve();
    let caches = caches(&server);
    let all: Vec<_> = (0..6)
        .map(|number| {
            let cache = caches.open::<ConfigMap>(scope_number(number), ());
            cache.start();
            cache
        })
        .collect();
    for cache in &all {
        reaches(cache, WatchState::Absent).await;
    }
    assert_eq!(server.lists(), 6);
    tokio::time::sleep(HOUR).await;
    assert_eq!((server.lists(), server.count(watches)), (6, 0));
    let asked = server.count(discovers);
    // Each 18 s to 30 s, whoever waits.
    assert!((110..=210).contains(&asked), "{asked} questions");
    server.serve_again();
    let begin = Instant::now();
    for cache in &all {
        synced(cache).await;
    }
    assert!(
        begin.elapsed() <= Duration::from_secs(31),
        "{:?}",
        begin.elapsed()
    );
    let asked = server.count(discovers);
    tokio::time::sleep(HOUR).await;
    assert_eq!(server.count(discovers), asked);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_goes_stops_its_watch_and_comes_back_with_what_changed() {
    let server = Server::with(&["x/a", "x/b"]);
    let caches = caches(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    recorder.take();
    for round in 1..4 {
        server.unserve();
        reaches(&cache, WatchState::Absent).await;
        let before = (server.lists(), server.count(watches));
        tokio::time::sleep(HOUR).await;
        assert_eq!((server.lists(), server.count(watches)), before);
        assert_eq!((cache.store().len(), server.open_watches()), (2, 0));
        assert!(recorder.take().is_empty());
        server.serve_again();
        server.put("x/b", &format!("back{round}"));
        let begin = Instant::now();
        synced(&cache).await;
        assert!(
            begin.elapsed() <= Duration::from_secs(31),
            "{:?}",
            begin.elapsed()
        );
        assert_eq!(recorder.take(), ["(~x/b)", "synced"]);
        until("a watch", || server.open_watches() == 1).await;
    }
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_aggregated_api_that_is_down_is_not_absent() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    server.rule(|_| Verdict::fail(503));
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(cache.store().state(), WatchState::Syncing);
    assert_eq!(server.count(discovers), 0);
    // Missed once, it is not missed any more because nobody can say so.
    server.rule(|call| Verdict::fail(if discovers(call) { 503 } else { 404 }));
    reaches(&cache, WatchState::Absent).await;
    let lists = server.lists();
    tokio::time::sleep(HOUR).await;
    assert_eq!(
        (server.lists(), cache.store().state()),
        (lists, WatchState::Absent)
    );
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn where_discovery_is_forbidden_the_kind_itself_is_tried_slowly() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    server.rule(|call| Verdict::fail(if discovers(call) { 403 } else { 404 }));
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    reaches(&cache, WatchState::Absent).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!((10..=18).contains(&server.lists()), "{} lists", server.lists());
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_asks_for_kinds_during_an_outage_and_soon_after_it_somebody_does() {
    let server = Server::with(&["x/a"]);
    server.unserve();
    let breaker = breaker();
    let caches = made(&server, &breaker, &Arc::default(), CacheSettings::default());
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    reaches(&cache, WatchState::Absent).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    breaker.open();
    let before = server.count(|_| true);
    tokio::time::sleep(HOUR).await;
    assert_eq!(server.count(|_| true), before);
    server.serve_again();
    let begin = Instant::now();
    breaker.close();
    synced(&cache).await;
    assert!(begin.elapsed() < Duration::from_secs(4), "{:?}", begin.elapsed());
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn looking_for_a_kind_ends_with_the_caches() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    for close in [true, false] {
        let server = Server::new();
        server.unserve();
        let caches = caches(&server);
        let cache = caches.open::<ConfigMap>(scope(), ());
        cache.start();
        reaches(&cache, WatchState::Absent).await;
        server.rule(|_| Verdict::Hang);
        until("a question that hangs", || server.count(discovers) == 1).await;
        if close {
            caches.close().await;
        }
        drop(caches);
        until("every task has ended", || metrics.num_alive_tasks() == before).await;
    }
}
