//! What operators read.
use super::{server::watches, *};
use mcrt_sim::Verdict;
use std::{fmt::Write, sync::OnceLock};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber, field, span, subscriber::DefaultGuard};

/// Writes down what this crate logs at info and above, with all its fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

impl Log {
    /// With one subscriber alone, tracing asks whichever thread meets a log line first, here often one of another
    /// test that has none, and never asks again. A second one that stays makes it ask all of them.
    fn of_this_thread() -> (Self, DefaultGuard) {
        static STAYS: OnceLock<Dispatch> = OnceLock::new();
        STAYS.get_or_init(|| Dispatch::new(Self::default()));
        let log = Self::default();
        let guard = tracing::subscriber::set_default(log.clone());
        (log, guard)
    }

    fn take(&self) -> Vec<(Level, String)> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("mcrt::") && *metadata.level() <= Level::INFO
    }
    fn event(&self, event: &Event<'_>) {
        struct Text(String);
        impl field::Visit for Text {
            fn record_debug(&mut self, _: &field::Field, value: &dyn std::fmt::Debug) {
                write!(self.0, "{value:?}; ").unwrap();
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().push((*event.metadata().level(), text.0));
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

fn levels(told: &[(Level, String)]) -> Vec<Level> {
    told.iter().map(|(level, _)| *level).collect()
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_said_once_however_often_it_repeats_and_each_change_of_it_once() {
    let (log, _guard) = Log::of_this_thread();
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    server.rule(|_| Verdict::fail(500));
    cache.start();
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(levels(&log.take()), [Level::WARN]);
    server.rule(|_| Verdict::fail(403));
    tokio::time::sleep(Duration::from_mins(5)).await;
    let told = log.take();
    assert_eq!(levels(&told), [Level::WARN]);
    assert!(told[0].1.contains("refused by a hook with 403"), "{told:?}");
    server.rule(|_| Verdict::fail(404));
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(levels(&log.take()), [Level::INFO]);
    server.rule(|_| Verdict::Pass);
    synced(&cache).await;
    let told = log.take();
    assert!(told.len() == 1 && told[0].1.contains("recovered"), "{told:?}");
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_flaps_is_said_once() {
    let (log, _guard) = Log::of_this_thread();
    let server = Server::with(&["x/a"]);
    let caches = caches(&server);
    let (cache, ..) = recorded(&caches).await;
    let fail = Mutex::new(false);
    server.rule(move |call| {
        let mut fail = fail.lock();
        *fail ^= watches(call);
        if *fail && watches(call) {
            Verdict::fail(503)
        } else {
            Verdict::Pass
        }
    });
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(20)).await;
        server.disconnect();
    }
    assert_eq!(levels(&log.take()), [Level::WARN]);
    assert!(cache.store().is_synced());
    caches.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_said_with_its_cluster_kind_and_object() {
    let (log, _guard) = Log::of_this_thread();
    let server = Server::with(&["x/bad"]);
    let caches = caches(&server);
    let cache = caches.open::<ConfigMap>(scope(), ());
    let _index = cache
        .index(
            "picky",
            Arc::new(|_: &ConfigMap| -> Vec<u8> { panic!("scripted") }),
        )
        .await;
    cache.start();
    synced(&cache).await;
    let told = log.take();
    assert_eq!(levels(&told), [Level::ERROR]);
    for part in ["one", "ConfigMap", "x/bad", "picky"] {
        assert!(told[0].1.contains(part), "{told:?}");
    }
    caches.close().await;
}
