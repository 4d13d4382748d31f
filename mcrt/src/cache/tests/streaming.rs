//! Lists that come as a stream, and servers that do not know them.
use super::{
    server::{starts_list, streams, watches},
    *,
};
use mcrt_sim::{Fault, Verdict};
use tokio::time::Instant;

fn streaming(server: &Server) -> Caches {
    let initial_list = InitialList::Streaming;
    with_settings(
        server,
        CacheSettings {
            initial_list,
            ..CacheSettings::default()
        },
    )
}

/// Ends every watch with a version that is gone, and waits for the list that follows.
async fn relist(server: &Server, recorder: &Recorder) {
    let before = recorder.relists();
    until("a watch", || server.open_watches() == 1).await;
    server.expire();
    until("another list", || recorder.relists() == before + 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_is_complete_diffed_and_watched_on_without_a_list_by_pages() {
    let server = Server::with(&["x/a", "x/b"]);
    let caches = streaming(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    assert_eq!(recorder.take_sorted(), ["(+x/a)", "(+x/b)", "synced"]);
    server.put("x/c", "1");
    until("the change", || recorder.len() == 1).await;
    assert_eq!(recorder.take(), ["+x/c"]);
    relist(&server, &recorder).await;
    assert!(recorder.take().is_empty());
    assert_eq!((server.lists(), server.count(streams)), (0, 2));
    assert_eq!(cache.stats().lists, 2);
    // Renewals go on from the version.
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(server.count(streams), 2);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_back_is_in_sync_when_its_stream_has_told_what_exists_and_not_before() {
    let server = Server::with(&["x/a", "x/b"]);
    let caches = streaming(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    recorder.take();
    server.unserve();
    reaches(&cache, WatchState::Absent).await;
    server.serve_again();
    server.put("x/b", "back");
    synced(&cache).await;
    until("the list", || recorder.len() == 2).await;
    assert_eq!(recorder.take(), ["(~x/b)", "synced"]);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_refuses_to_stream_is_listed_by_pages_at_once_and_for_the_rest_of_its_life() {
    for code in [400, 422] {
        let server = Server::with(&["x/a"]);
        server.rule(move |call| {
            if streams(call) {
                Verdict::fail(code)
            } else {
                Verdict::Pass
            }
        });
        let caches = streaming(&server);
        let begin = Instant::now();
        let (_cache, recorder, _subscription) = recorded(&caches).await;
        assert!(
            begin.elapsed() < Duration::from_millis(100),
            "{:?}",
            begin.elapsed()
        );
        assert_eq!(recorder.take(), ["(+x/a)", "synced"]);
        relist(&server, &recorder).await;
        let other = caches.open::<ConfigMap>(scope_number(1), ());
        other.start();
        synced(&other).await;
        assert_eq!((server.count(streams), server.lists()), (1, 3), "{code}");
        caches.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_forbids_streaming_once_may_stream_later() {
    let server = Server::with(&["x/a"]);
    server.rule(|call| {
        if streams(call) {
            Verdict::fail(403)
        } else {
            Verdict::Pass
        }
    });
    let caches = streaming(&server);
    let (cache, recorder, _subscription) = recorded(&caches).await;
    assert_eq!((server.count(streams), server.lists()), (1, 1));
    server.rule(|_| Verdict::Pass);
    relist(&server, &recorder).await;
    assert_eq!((server.count(streams), server.lists()), (2, 1));
    // Where pages are forbidden too, the kind is.
    server.rule(|_| Verdict::fail(403));
    server.expire();
    reaches(&cache, WatchState::Forbidden).await;
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_never_marks_the_end_is_listed_by_pages_after_ten_seconds_and_from_then_on() {
    let server = Server::with(&["x/a"]);
    server.rule(|call| {
        if streams(call) {
            Fault::without_bookmarks().into()
        } else {
            Verdict::Pass
        }
    });
    let caches = streaming(&server);
    let begin = Instant::now();
    let (_cache, recorder, _subscription) = recorded(&caches).await;
    let took = begin.elapsed().as_secs();
    assert!((10..=12).contains(&took), "{took} s");
    assert_eq!(recorder.take(), ["(+x/a)", "synced"]);
    relist(&server, &recorder).await;
    assert_eq!((server.count(streams), server.lists()), (1, 2));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_busy_cluster_that_never_marks_the_end_is_found_out_too() {
    let server = Server::with(&["x/a"]);
    server.rule(|call| {
        if streams(call) {
            Fault::without_bookmarks().into()
        } else {
            Verdict::Pass
        }
    });
    let caches = streaming(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    let begin = Instant::now();
    while !cache.store().is_synced() {
        server.put("x/a", &begin.elapsed().as_secs().to_string());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(begin.elapsed() < Duration::from_secs(130));
    }
    assert_eq!(server.lists(), 1);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_before_its_list_does_is_replaced_by_pages_this_once() {
    for end in [Fault::close_after(Duration::ZERO), Fault::cut()] {
        let server = Server::with(&["x/a", "x/b", "x/c"]);
        let first = AtomicUsize::new(0);
        server.rule(move |call| {
            if streams(call) && first.fetch_add(1, SeqCst) == 0 {
                end.clone().into()
            } else {
                Verdict::Pass
            }
        });
        let caches = streaming(&server);
        let (cache, recorder, _subscription) = recorded(&caches).await;
        assert_eq!(cache.store().len(), 3);
        assert_eq!(recorder.take_sorted(), ["(+x/a)", "(+x/b)", "(+x/c)", "synced"]);
        relist(&server, &recorder).await;
        assert!(server.count(streams) >= 2);
        caches.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_is_absent_when_streamed_too() {
    let server = Server::with(&["x/a"]);
    server.unserve();
    let caches = streaming(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    reaches(&cache, WatchState::Absent).await;
    server.serve_again();
    synced(&cache).await;
    assert_eq!((server.lists(), server.count(streams)), (0, 2));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn streams_of_a_dead_cluster_are_as_few_as_lists_and_hold_permits() {
    for dead in [
        Verdict::Reset,
        Verdict::fail(500),
        Verdict::Hang,
        Verdict::HangBody,
    ] {
        let server = Server::with(&["x/a"]);
        server.rule(move |_| dead.clone());
        let caches = streaming(&server);
        let cache = caches.open::<ConfigMap>(scope(), ());
        cache.start();
        tokio::time::sleep(Duration::from_mins(5)).await;
        let asked = server.count(|call| watches(call) || starts_list(call));
        assert!((1..=13).contains(&asked), "{asked} requests");
        caches.close().await;
    }
    let server = Server::with(&["x/a"]);
    server.rule(|_| Verdict::Delay(Duration::from_secs(1)));
    let limits = Arc::new(ListLimits::new(2, 2));
    let settings = CacheSettings {
        initial_list: InitialList::Streaming,
        ..CacheSettings::default()
    };
    let caches = made(&server, &breaker(), &limits, settings);
    let all: Vec<_> = (0..6)
        .map(|number| {
            let cache = caches.open::<ConfigMap>(scope_number(number), ());
            cache.start();
            cache
        })
        .collect();
    let mut most = 0;
    until("all are synced", || {
        most = most.max(limits.running());
        all.iter().all(|cache| cache.store().is_synced())
    })
    .await;
    assert_eq!((most, limits.running(), server.lists()), (2, 0, 0));
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_an_outage_cuts_starts_again() {
    let server = Server::with(&["x/a"]);
    server.rule(|_| Verdict::HangBody);
    let breaker = breaker();
    let settings = CacheSettings {
        initial_list: InitialList::Streaming,
        ..CacheSettings::default()
    };
    let caches = made(&server, &breaker, &Arc::default(), settings);
    let cache = caches.open::<ConfigMap>(scope(), ());
    cache.start();
    until("a stream", || server.count(streams) == 1).await;
    breaker.open();
    tokio::time::sleep(Duration::from_mins(1)).await;
    server.rule(|_| Verdict::Pass);
    breaker.close();
    synced(&cache).await;
    assert_eq!((server.count(streams), server.lists()), (2, 0));
    caches.close().await;
}
