//! Clusters that do not answer, and what an open breaker changes.
use super::{
    server::{starts_list, watches},
    *,
};
use mcrt_sim::Verdict;
use tokio::time::Instant;

const MINUTES: Duration = Duration::from_mins(5);

fn started(caches: &Caches, number: usize) -> Cache<ConfigMap> {
    let cache = caches.open(scope_number(number), ());
    cache.start();
    cache
}

fn broken(server: &Server, breaker: &Breaker) -> Caches {
    made(server, breaker, &Arc::default(), CacheSettings::default())
}

#[tokio::test(start_paused = true)]
async fn a_dead_cluster_gets_at_most_twelve_lists_per_watch_in_five_minutes_however_it_is_dead() {
    let stall = || Verdict::from(mcrt_sim::Fault::stall());
    for dead in [
        Verdict::Reset,
        Verdict::fail(500),
        Verdict::Hang,
        Verdict::HangBody,
        stall(),
    ] {
        let server = Server::with(&["x/a"]);
        server.rule(move |_| dead.clone());
        let caches = caches(&server);
        let all: Vec<_> = (0..10).map(|number| started(&caches, number)).collect();
        tokio::time::sleep(MINUTES).await;
        for cache in &all {
            assert!(cache.stats().lists <= 12, "{:?}", cache.stats());
        }
        let lists = server.lists();
        assert!((1..=120).contains(&lists), "{lists} lists");
        caches.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_lets_nothing_out_and_every_watch_begins_at_once_when_it_closes() {
    let server = Server::with(&["x/a"]);
    server.rule(|_| Verdict::Reset);
    let breaker = breaker();
    let caches = broken(&server, &breaker);
    let all: Vec<_> = (0..4).map(|number| started(&caches, number)).collect();
    tokio::time::sleep(Duration::from_secs(100)).await;
    breaker.open();
    let before = server.count(|_| true);
    tokio::time::sleep(MINUTES).await;
    assert_eq!(server.count(|_| true), before);
    server.rule(|_| Verdict::Pass);
    let begin = Instant::now();
    breaker.close();
    for cache in &all {
        synced(cache).await;
    }
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_an_outage_broke_goes_on_from_its_version_and_reads_stale_meanwhile() {
    let server = Server::with(&["x/a"]);
    let breaker = breaker();
    let caches = broken(&server, &breaker);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    recorder.take();
    for round in 0..5 {
        breaker.open();
        until("it shows", || cache.store().stale_for().is_some()).await;
        server.put(&format!("x/{round}"), "1");
        server.delete(&format!("x/{round}"));
        server.put("x/a", &round.to_string());
        tokio::time::sleep(MINUTES).await;
        assert!(cache.store().stale_for().unwrap() >= MINUTES);
        assert!(recorder.take().is_empty());
        assert_eq!(cache.store().state(), WatchState::Synced);
        let begin = Instant::now();
        breaker.close();
        until("what changed", || recorder.len() == 3).await;
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        let told = [format!("+x/{round}"), format!("-x/{round}"), "~x/a".to_owned()];
        assert_eq!(recorder.take(), told);
        assert_eq!(cache.store().stale_for(), None);
    }
    assert_eq!((server.lists(), server.open_watches()), (1, 1));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_an_outage_cuts_gives_its_permit_back_and_starts_again() {
    for hang in [Verdict::Hang, Verdict::HangBody, mcrt_sim::Fault::stall().into()] {
        let server = Server::with(&["x/a"]);
        server.rule(move |_| hang.clone());
        let (breaker, limits) = (breaker(), Arc::new(ListLimits::new(1, 1)));
        let caches = made(&server, &breaker, &limits, CacheSettings::default());
        let cache = started(&caches, 0);
        until("a list", || server.lists() == 1).await;
        breaker.open();
        until("its permit", || limits.running() == 0).await;
        until("its socket", || server.open_lists() == 0).await;
        server.rule(|_| Verdict::Pass);
        breaker.close();
        let begin = Instant::now();
        synced(&cache).await;
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        assert_eq!(server.lists(), 2);
        caches.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_hangs_at_its_start_is_begun_again_after_the_outage() {
    let server = Server::new();
    server.rule(|call| {
        if watches(call) {
            Verdict::Hang
        } else {
            Verdict::Pass
        }
    });
    let breaker = breaker();
    let caches = broken(&server, &breaker);
    let (_cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch that hangs", || server.count(watches) == 1).await;
    breaker.open();
    tokio::time::sleep(MINUTES).await;
    server.put("x/a", "1");
    server.rule(|_| Verdict::Pass);
    let begin = Instant::now();
    breaker.close();
    until("the delta", || recorder.len() == 2).await;
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!((server.lists(), server.count(watches)), (1, 2));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_only_pretends_to_be_back_is_listed_no_more_often_than_a_dead_one() {
    let server = Server::with(&["x/a"]);
    server.rule(|_| Verdict::Reset);
    let breaker = breaker();
    let caches = broken(&server, &breaker);
    let cache = started(&caches, 0);
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        breaker.open();
        tokio::time::sleep(Duration::from_secs(3)).await;
        breaker.close();
    }
    assert!(server.lists() <= 12, "{} lists", server.lists());
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn fifty_clusters_that_drop_everything_at_once_list_again_within_the_cap() {
    let limits = Arc::new(ListLimits::default());
    let clusters: Vec<_> = (0..50)
        .map(|_| {
            let server = Server::with(&["x/a", "y/b"]);
            let breaker = breaker();
            let caches = made(&server, &breaker, &limits, CacheSettings::default());
            let all: Vec<_> = (0..4).map(|number| started(&caches, number)).collect();
            (server, breaker, caches, all)
        })
        .collect();
    let synced = || {
        let mut all = clusters.iter().flat_map(|(.., all)| all);
        all.all(|cache| cache.store().is_synced() && cache.store().stale_for().is_none())
    };
    until("all are synced", synced).await;
    until("all are watched", || {
        clusters.iter().all(|(server, ..)| server.open_watches() == 4)
    })
    .await;
    for (server, breaker, ..) in &clusters {
        server.rule(|call| {
            if starts_list(call) {
                Verdict::Delay(Duration::from_millis(200))
            } else {
                Verdict::Pass
            }
        });
        breaker.open();
        server.put("x/a", "2");
        server.compact();
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    for (_, breaker, ..) in &clusters {
        breaker.close();
    }
    let mut most = 0;
    until("all are listed again", || {
        let open: Vec<_> = clusters.iter().map(|(server, ..)| server.open_lists()).collect();
        most = most.max(open.iter().sum());
        assert!(open.iter().all(|open| *open <= 8), "{open:?}");
        clusters.iter().all(|(server, ..)| server.lists() == 8) && synced()
    })
    .await;
    // A watch that starts is no list, but has not been accepted either: few of them overlap with the lists.
    assert!((8..=24).contains(&most), "{most} at once");
    assert_eq!(limits.running(), 0);
    for (_, _, caches, _) in &clusters {
        caches.close().await;
    }
}
