//! Who is told what, from when to when.
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[tokio::test(start_paused = true)]
async fn a_late_subscriber_sees_what_exists_exactly_once_while_events_arrive() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, ..) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    let writer = tokio::spawn({
        let server = server.clone();
        async move {
            for n in 0..200 {
                server.put(&format!("x/n{n:03}"), "1");
                tokio::task::yield_now().await;
            }
        }
    });
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    let recorder = Arc::new(Recorder::default());
    let _subscription = cache.subscribe(recorder.clone()).await;
    writer.await.unwrap();
    until("all of them", || recorder.len() == 202).await;
    let told = recorder.take();
    let replayed = told.iter().position(|text| text == "synced").unwrap();
    assert!((2..200).contains(&replayed), "{replayed} replayed");
    assert!(told[..replayed].iter().all(|text| text.starts_with("(+")));
    assert!(told[replayed + 1..].iter().all(|text| text.starts_with('+')));
    let mut names: Vec<_> = told.iter().map(|text| text.trim_matches(['(', ')'])).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 202);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_subscription_is_told_nothing_more_and_leaves_nothing_behind() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, first, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    let second = Arc::new(Recorder::default());
    let subscription = cache.subscribe(second.clone()).await;
    assert_eq!(second.take(), ["(+x/a)", "synced"]);
    server.put("x/b", "1");
    drop(subscription);
    until("the delta", || first.len() == 3).await;
    assert!(second.take().is_empty());
    until("the sink is let go", || Arc::strong_count(&second) == 1).await;
    caches.close().await;
}

struct Panics(AtomicUsize);

impl DeltaSink<ConfigMap> for Panics {
    fn on_delta(&self, delta: Delta<'_, ConfigMap>, _: Origin) {
        self.0.fetch_add(1, SeqCst);
        assert!(
            delta.object().is_none_or(|object| &*object.key().name != "bad"),
            "scripted"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_panics_loses_that_delta_and_nobody_else_does() {
    let server = Server::with(&["x/bad", "x/good"]);
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    let (panics, recorder) = (
        Arc::new(Panics(AtomicUsize::new(0))),
        Arc::new(Recorder::default()),
    );
    let _first = cache.subscribe(panics.clone()).await;
    let _second = cache.subscribe(recorder.clone()).await;
    cache.start();
    synced(&cache).await;
    assert_eq!(recorder.take_sorted(), ["(+x/bad)", "(+x/good)", "synced"]);
    assert_eq!(panics.0.load(SeqCst), 3);
    assert_eq!(cache.stats().panics, 1);
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_thousand_subscribers_that_come_and_go_leave_nothing_behind() {
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, first, _subscription) = recorded(&caches).await;
    until("a watch", || server.open_watches() == 1).await;
    let crowd = Arc::new(Recorder::default());
    for _ in 0..1000 {
        drop(cache.subscribe(crowd.clone()).await);
    }
    until("the sinks are let go", || Arc::strong_count(&crowd) == 1).await;
    crowd.take();
    server.put("x/b", "1");
    until("the delta", || first.len() == 3).await;
    assert!(crowd.take().is_empty());
    caches.close().await;
}
