//! From open to close, within limits.
use super::{server::Verdict, *};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[tokio::test(start_paused = true)]
async fn the_same_scope_is_the_same_cache_and_one_watch() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let two = |order: [&str; 2]| WatchScope { namespaces: order.map(Into::into).to_vec(), ..scope() };
    let first = caches.open::<ConfigMap>(two(["x", "y"]), ());
    let second = caches.open::<ConfigMap>(two(["y", "x"]), ());
    first.start();
    second.start();
    synced(&second).await;
    until("two watches", || server.open_watches() == 2).await;
    assert_eq!(server.lists(), 2);
    assert_eq!(caches.states().len(), 1);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_cache_asks_the_server_nothing() {
    let server = Server::new();
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((server.count(|_| true), cache.store().state()), (0, WatchState::Idle));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn closing_joins_every_task_and_leaves_the_stores_readable() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, recorder, subscription) = recorded(&caches).await;
    let waiting = caches.open::<ConfigMap>(WatchScope { namespaces: vec!["y".into()], ..scope() }, ());
    server.rule(|_| Verdict::Hang);
    waiting.start();
    until("a list that hangs", || server.lists() == 2).await;
    until("a watch", || server.open_watches() == 1).await;
    caches.close().await;
    caches.close().await;
    assert_eq!(server.open_watches(), 0);
    assert_eq!(cache.store().state(), WatchState::Closed);
    assert_eq!(cache.store().len(), 1);
    assert_eq!(Arc::strong_count(&recorder), 1);
    let late = cache.subscribe(recorder.clone()).await;
    assert!(caches.open::<ConfigMap>(WatchScope { labels: Some("a".into()), ..scope() }, ()).store().is_empty());
    drop((late, subscription, caches));
    until("every task has ended", || metrics.num_alive_tasks() == before).await;
}

#[tokio::test(start_paused = true)]
async fn dropped_caches_stop_too() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let held = recorded(&caches).await;
    drop(caches);
    until("every task has ended", || metrics.num_alive_tasks() == before).await;
    assert_eq!(held.0.store().state(), WatchState::Closed);
}

#[tokio::test(start_paused = true)]
async fn lists_of_many_caches_stay_within_the_limits() {
    let server = Server::with(&["n0/a"]);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let release = Arc::new(AtomicUsize::new(0));
    let slow = server.slow(Duration::from_secs(1), {
        let (running, most) = (running.clone(), most.clone());
        move |begins| {
            let now = if begins { running.fetch_add(1, SeqCst) + 1 } else { running.fetch_sub(1, SeqCst) - 1 };
            most.fetch_max(now, SeqCst);
        }
    });
    let _ = release;
    let caches = with_limits(&slow, ListLimits::new(6, 3));
    let all: Vec<_> = (0..20).map(|n| open(&caches, n)).collect();
    for cache in &all {
        synced(cache).await;
    }
    assert_eq!(most.load(SeqCst), 3);
    caches.close().await;
}
