//! From open to close, within limits.
use super::{server::watches, *};
use mcrt_sim::Verdict;

#[tokio::test(start_paused = true)]
async fn the_same_scope_is_the_same_cache_and_one_watch() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let two = |order: [&str; 2]| WatchScope {
        namespaces: order.map(Into::into).to_vec(),
        ..scope()
    };
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
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(
        (server.count(|_| true), cache.store().state()),
        (0, WatchState::Idle)
    );
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn closing_joins_every_task_and_leaves_the_stores_readable() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, recorder, subscription) = recorded(&caches).await;
    let waiting = caches.open::<ConfigMap>(
        WatchScope {
            namespaces: vec!["y".into()],
            ..scope()
        },
        (),
    );
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
    assert!(
        caches
            .open::<ConfigMap>(
                WatchScope {
                    labels: Some("a".into()),
                    ..scope()
                },
                ()
            )
            .store()
            .is_empty()
    );
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

/// The most lists that were open at once until all caches were synced.
async fn most_lists(servers: &[Server], all: &[Cache<ConfigMap>]) -> Vec<u64> {
    let mut most = vec![0; servers.len() + 1];
    until("all lists", || {
        let open: Vec<_> = servers.iter().map(Server::open_lists).collect();
        let total = open.iter().sum();
        for (most, now) in most.iter_mut().zip(open.into_iter().chain([total])) {
            *most = now.max(*most);
        }
        all.iter().all(|cache| cache.store().is_synced())
    })
    .await;
    most
}

fn started(caches: &Caches, scope: WatchScope) -> Cache<ConfigMap> {
    let cache = caches.open(scope, ());
    cache.start();
    cache
}

#[tokio::test(start_paused = true)]
async fn lists_of_many_caches_stay_within_the_limits_of_cluster_and_fleet() {
    let servers = [(); 2].map(|()| Server::with(&["x/a"]));
    let limits = Arc::new(ListLimits::new(4, 3));
    let mut all = Vec::new();
    let clusters = servers.each_ref().map(|server| {
        server.rule(|call| {
            if watches(call) {
                Verdict::Pass
            } else {
                Verdict::Delay(Duration::from_secs(1))
            }
        });
        let caches = made(server, &breaker(), &limits, CacheSettings::default());
        all.extend((0..20).map(|n| started(&caches, scope_number(n))));
        caches
    });
    assert_eq!(most_lists(&servers, &all).await, [3, 3, 4]);
    assert_eq!(limits.running(), 0);
    for caches in &clusters {
        caches.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn clusters_whose_lists_hang_do_not_keep_the_others_from_listing() {
    let limits = Arc::new(ListLimits::new(1, 2));
    let [dead, well] = [(); 2].map(|()| Server::with(&["x/a"]));
    dead.rule(|_| Verdict::Hang);
    let [dead_caches, well_caches] =
        [&dead, &well].map(|server| made(server, &breaker(), &limits, CacheSettings::default()));
    let _hanging: Vec<_> = (0..8).map(|n| started(&dead_caches, scope_number(n))).collect();
    until("a list that hangs", || dead.lists() == 1).await;
    let begin = tokio::time::Instant::now();
    synced(&started(&well_caches, scope())).await;
    assert!(begin.elapsed() < Duration::from_secs(11));
    assert_eq!(dead.lists(), 1);
    dead_caches.close().await;
    well_caches.close().await;
}
