//! Watches that end because nobody uses them, while their cluster stays.
use super::*;

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_its_last_lease_and_a_later_one_starts_anew() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, first) = caches.lease::<ConfigMap>(scope(), ());
    let (same, second) = caches.lease::<ConfigMap>(scope(), ());
    cache.start();
    synced(&same).await;
    until("a watch", || server.open_watches() == 1).await;
    drop(first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(server.open_watches(), 1, "the other lease keeps it");
    let running = metrics.num_alive_tasks();
    drop(second);
    until("no watch", || server.open_watches() == 0).await;
    until("its task has ended", || metrics.num_alive_tasks() < running).await;
    assert_eq!(cache.store().state(), WatchState::Closed);
    assert_eq!(cache.store().len(), 1, "what was read stays readable");
    assert!(caches.states().is_empty());

    server.put("x/b", "1");
    let (anew, _lease) = caches.lease::<ConfigMap>(scope(), ());
    anew.start();
    synced(&anew).await;
    assert_eq!((anew.store().len(), server.lists()), (2, 2));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_was_opened_for_good_outlives_every_lease() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (_, lease) = caches.lease::<ConfigMap>(scope(), ());
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    synced(&cache).await;
    drop(lease);
    drop(caches.lease::<ConfigMap>(scope(), ()));
    until("a watch", || server.open_watches() == 1).await;
    assert!(cache.store().is_synced());
    caches.close().await;
    drop(caches.lease::<ConfigMap>(scope(), ()));
}

#[tokio::test(start_paused = true)]
async fn an_index_that_was_removed_finds_nothing_and_leaves_the_others_as_they_are() {
    let server = Server::with(&["x/a", "y/b"]);
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let by_name = move |config: &ConfigMap| {
        counted.fetch_add(1, SeqCst);
        vec![config.name_any()]
    };
    let by_namespace = |config: &ConfigMap| config.namespace().into_iter().collect();
    let first = cache.index::<String>("by_name", Arc::new(by_name)).await;
    let second = cache
        .index::<String>("by_namespace", Arc::new(by_namespace))
        .await;
    cache.start();
    synced(&cache).await;
    let store = cache.store();
    let found = |index: &super::super::IndexRef<ConfigMap, String>, key: &str| {
        store.by_index(index, &key.to_owned()).len()
    };
    assert_eq!((found(&first, "a"), found(&second, "y")), (1, 1));
    store.unindex(&first);
    // Behind the removal.
    let third = cache
        .index::<String>("by_name", Arc::new(|config: &ConfigMap| vec![config.name_any()]))
        .await;
    let before = calls.load(SeqCst);
    server.put("y/c", "1");
    until("the object", || store.len() == 3).await;
    assert_eq!(calls.load(SeqCst), before, "its function is not called any more");
    assert_eq!((found(&first, "a"), found(&first, "c")), (0, 0));
    assert_eq!((found(&second, "y"), found(&third, "c")), (2, 1));
    store.unindex(&first);
    until("the object", || found(&third, "a") == 1).await;
    caches.close().await;
}
