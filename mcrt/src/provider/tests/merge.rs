//! Merge: claims, sources that fail, and sources that come and go.
use super::{
    Reader, SOON, name, rejected,
    script::{Script, Step::*},
    spec,
};
use crate::provider::{
    Change, Provider, ProviderContext,
    providers::{Clusters, Merge, Single, SourceTaken},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::Poll,
    time::{Duration, Instant},
};

fn up(name: &str) -> super::script::Step {
    Say(Change::Upsert(spec(name, name)))
}

fn synced() -> super::script::Step {
    Say(Change::Synced)
}

#[tokio::test(start_paused = true)]
async fn merged_sources_sync_once_when_the_last_has() {
    let fast = Script::of(vec![vec![up("a"), synced()]]);
    let slow = Script::of(vec![vec![up("b"), Wait(20), synced(), up("c")]]);
    let mut reader = Reader::of(&Arc::new(Merge::new().with("fast", fast).with("slow", slow)));
    let first = reader.until("synced").await;
    assert_eq!(first, ["+a", "+b", "synced"]);
    assert_eq!(reader.next().await, "+c");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_merge_of_nothing_is_synced_and_stays() {
    let mut reader = Reader::of(&Arc::new(Merge::new()));
    assert_eq!(reader.next().await, "synced");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn the_first_to_claim_a_name_keeps_it_and_the_next_gets_it_afterwards() {
    let (first, second) = (Clusters::new(), Clusters::new());
    first.add(spec("a", "first")).unwrap();
    let merge = Merge::new()
        .with("one", first.clone())
        .with("two", second.clone());
    let mut reader = Reader::of(&Arc::new(merge));
    reader.until("synced").await;
    second.add(spec("a", "second")).unwrap();
    assert_eq!(
        reader.next().await,
        "?a: provider `one` describes a cluster of this name, which provider `two` claims too and does not get: give \
         one of them a prefix"
    );
    second.replace(spec("a", "second, changed"));
    assert!(reader.is_quiet(Duration::from_mins(1)).await, "said once");
    assert_eq!(reader.clusters["a"], "first");
    first.remove(&name("a"));
    assert_eq!(reader.take(2).await, ["-a", "+a"]);
    assert_eq!(reader.clusters["a"], "second, changed");
    second.remove(&name("a"));
    assert_eq!(reader.next().await, "-a");
}

#[tokio::test(start_paused = true)]
async fn a_claim_given_up_before_its_turn_leaves_no_trace() {
    let (first, second) = (Clusters::new(), Clusters::new());
    first.add(spec("a", "first")).unwrap();
    let mut reader = Reader::of(&Arc::new(
        Merge::new()
            .with("one", first.clone())
            .with("two", second.clone()),
    ));
    reader.until("synced").await;
    second.add(spec("a", "second")).unwrap();
    assert!(reader.next().await.starts_with("?a: provider `one`"));
    second.remove(&name("a"));
    assert_eq!(reader.next().await, "+a", "which takes the rejection back");
    assert_eq!(reader.clusters["a"], "first");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
    first.remove(&name("a"));
    assert_eq!(reader.next().await, "-a");
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_ends_keeps_its_clusters_until_it_has_named_all_again() {
    let ending = Script::of(vec![
        vec![up("a"), up("b"), synced(), End],
        vec![up("b"), Wait(5), up("c"), synced()],
    ]);
    let other = Clusters::new();
    let mut reader = Reader::of(&Arc::new(
        Merge::new().with("ending", ending).with("other", other.clone()),
    ));
    reader
        .until("!provider `ending` ended: its clusters stay, it is started again")
        .await;
    assert_eq!(reader.clusters.len(), 2);
    other.add(spec("x", "x")).unwrap();
    assert_eq!(reader.next().await, "+x", "the other goes on at once");
    assert_eq!(reader.take(2).await, ["+c", "-a"], "`b` is as it was");
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["b", "c", "x"]);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_or_fails_does_not_touch_the_others() {
    let panicking = Script::of(vec![vec![up("a"), Panic], vec![up("a"), synced()]]);
    let failing = Script::of(vec![vec![Say(Change::Failed("no luck".into())), synced()]]);
    let other = Clusters::new();
    other.add(spec("x", "x")).unwrap();
    let merge = Merge::new()
        .with("p", panicking)
        .with("f", failing)
        .with("x", other);
    let mut reader = Reader::of(&Arc::new(merge));
    let all = reader.until("synced").await;
    assert!(
        all.contains(&"!provider `p` panicked: its clusters stay, it is started again".into()),
        "{all:?}"
    );
    assert!(all.contains(&"!provider `f`: no luck".into()), "{all:?}");
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["a", "x"]);
}

#[tokio::test(start_paused = true)]
async fn pauses_before_a_restart_double_up_to_half_a_minute() {
    let never = Script::of((0..8).map(|_| vec![End]).collect());
    let mut reader = Reader::of(&Arc::new(Merge::new().with("never", never)));
    let began = tokio::time::Instant::now();
    let mut at = Vec::new();
    for _ in 0..8 {
        reader.next().await;
        at.push(began.elapsed().as_secs());
    }
    assert_eq!(at, [0, 1, 3, 7, 15, 31, 61, 91]);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_cluster_owns_its_name_and_an_heir_is_rejected_as_its_source_says() {
    let one = Script::of(vec![vec![
        Say(rejected("a", "no server")),
        synced(),
        Wait(20),
        Say(Change::Remove(name("a"))),
    ]]);
    let two = Script::of(vec![vec![
        Wait(1),
        up("a"),
        Say(rejected("a", "no user")),
        Say(rejected("a", "no user")),
        synced(),
    ]]);
    let mut reader = Reader::of(&Arc::new(Merge::new().with("one", one).with("two", two)));
    let contested = "provider `one` describes a cluster of this name, which provider `two` claims too and does not \
                     get: give one of them a prefix";
    assert_eq!(
        reader.take(6).await,
        [
            "?a: no server".to_owned(),
            format!("?a: no server; {contested}"),
            "synced".to_owned(),
            "-a".to_owned(),
            "+a".to_owned(),
            "?a: no user".to_owned(),
        ]
    );
    assert_eq!(
        reader.clusters["a"], "a",
        "as it was described last in a way that can be used"
    );
}

#[tokio::test(start_paused = true)]
async fn a_source_may_come_and_go_and_takes_its_clusters_with_it() {
    let merge = Merge::new().with("one", Single::new(name("a"), spec("a", "first").access));
    let mut reader = Reader::of(&Arc::new(merge.clone()));
    assert_eq!(reader.take(2).await, ["+a", "synced"]);
    let two: Clusters = [spec("a", "second"), spec("b", "b")].into_iter().collect();
    merge.add("two", two.clone()).unwrap();
    assert!(reader.next().await.starts_with("?a: provider `one`"));
    assert_eq!(reader.next().await, "+b");
    assert!(
        reader.is_quiet(Duration::from_mins(1)).await,
        "synced is said once"
    );
    assert!(merge.remove("one").is_some());
    assert!(merge.remove("one").is_none());
    assert_eq!(reader.take(2).await, ["-a", "+a"]);
    assert_eq!(reader.clusters["a"], "second");
    assert_eq!(merge.names(), ["two"]);
    merge.remove("two");
    assert_eq!(reader.take(2).await, ["-a", "-b"]);
    two.add(spec("c", "c")).unwrap();
    assert!(reader.is_quiet(Duration::from_mins(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_source_replaced_under_its_name_ends_its_clusters_before_the_new_ones_begin() {
    let merge = Merge::new().with("it", Single::new(name("a"), spec("a", "first").access));
    let mut reader = Reader::of(&Arc::new(merge.clone()));
    reader.until("synced").await;
    let old = merge.remove("it").unwrap();
    merge
        .add("it", Single::new(name("a"), spec("a", "second").access))
        .unwrap();
    assert_eq!(reader.take(2).await, ["-a", "+a"]);
    assert_eq!(reader.clusters["a"], "second");
    assert!(reader.rejected.is_empty());
    merge.add("old", old).unwrap();
    assert!(reader.next().await.starts_with("?a: provider `it`"));
}

#[tokio::test(start_paused = true)]
async fn a_name_may_be_any_text_and_is_there_once() {
    let merge = Merge::new()
        .with("a#b/+: %\n", Clusters::new())
        .with("", Clusters::new());
    let taken = merge.add("", Clusters::new()).unwrap_err();
    assert_eq!(taken, SourceTaken(String::new()));
    assert_eq!(merge.names(), ["a#b/+: %\n", ""]);
    let merge = merge.with("", Single::new(name("a"), spec("a", "a").access));
    let mut reader = Reader::of(&Arc::new(merge));
    assert_eq!(
        reader.until("synced").await,
        [
            "!a provider named `` is merged already: remove it first, or give one of them another name",
            "synced"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_source_that_never_syncs_holds_back_synced_and_no_cluster_until_it_is_removed() {
    let merge = Merge::new().with("never", Script::of(vec![vec![up("a")]])).with(
        "fast",
        Script::of(vec![vec![up("b"), synced(), Wait(30), up("c")]]),
    );
    let mut reader = Reader::of(&Arc::new(merge.clone()));
    assert_eq!(reader.take(3).await, ["+a", "+b", "+c"]);
    merge.add("later", Script::of(vec![vec![up("d")]])).unwrap();
    assert_eq!(reader.next().await, "+d");
    merge.remove("never");
    assert_eq!(
        reader.take(2).await,
        ["-a", "synced"],
        "whoever comes later is not waited for"
    );
}

#[tokio::test(start_paused = true)]
async fn sources_that_may_read_the_host_make_the_merge_need_one() {
    struct OfHost;
    impl Provider for OfHost {
        fn name(&self) -> &'static str {
            "of-host"
        }
        fn needs_host(&self) -> bool {
            true
        }
        fn changes(self: Arc<Self>, cx: ProviderContext) -> BoxStream<'static, Change> {
            let said = cx.host_client(&crate::connect::Life::new()).err().unwrap();
            stream::iter([Change::Failed(said)])
                .chain(stream::pending())
                .boxed()
        }
    }
    let merge = Merge::new();
    assert!(!merge.needs_host());
    assert!(Merge::new().reading_host().needs_host());
    let mut reader = Reader::of(&Arc::new(merge.clone()));
    reader.until("synced").await;
    merge.add("it", OfHost).unwrap();
    assert!(merge.needs_host());
    assert_eq!(reader.next().await, "!provider `it`: there is no host to read");
}

/// Counts how often its stream is polled.
struct Silent(Arc<AtomicUsize>);

impl Provider for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        let polls = stream::poll_fn(move |_| {
            self.0.fetch_add(1, Relaxed);
            Poll::Pending
        });
        stream::iter([Change::Synced]).chain(polls).boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_costs_nothing_of_the_sources_that_are_silent() {
    const SILENT: usize = 3000;
    let polls = Arc::new(AtomicUsize::new(0));
    let busy = Clusters::new();
    let merge = Merge::new();
    for source in 0..SILENT {
        merge.add(source.to_string(), Silent(Arc::clone(&polls))).unwrap();
    }
    let mut reader = Reader::of(&Arc::new(merge.clone()));
    reader.until("synced").await;
    merge.add("busy", busy.clone()).unwrap();
    let before = polls.load(Relaxed);
    for round in 0..1000 {
        busy.replace(spec("a", &round.to_string()));
        assert_eq!(reader.next().await, "+a");
    }
    let polled = polls.load(Relaxed) - before;
    assert!(
        polled <= SILENT,
        "{polled} polls of {SILENT} silent sources for 1,000 events"
    );
}

/// In the multicluster-runtime, adding at run time got stuck in every round.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_sources_added_and_removed_from_eight_tasks_block_nobody() {
    const EACH: usize = 125;
    let merge = Merge::new();
    let mut reader = Reader::of(&Arc::new(merge.clone()));
    let reading = tokio::spawn(async move {
        reader.until("+last").await;
        while reader.clusters.len() > 1 {
            reader.next().await;
        }
        reader
    });
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let merge = merge.clone();
            tokio::spawn(async move {
                let mut longest = Duration::ZERO;
                for number in 0..EACH {
                    let source = format!("{task}-{number}");
                    let began = Instant::now();
                    merge
                        .add(&source, Single::new(name(&source), spec(&source, &source).access))
                        .unwrap();
                    longest = longest.max(began.elapsed());
                    tokio::task::yield_now().await;
                }
                for number in 0..EACH {
                    let began = Instant::now();
                    assert!(merge.remove(&format!("{task}-{number}")).is_some());
                    longest = longest.max(began.elapsed());
                    tokio::task::yield_now().await;
                }
                longest
            })
        })
        .collect();
    for task in tasks {
        let longest = tokio::time::timeout(SOON, task).await.unwrap().unwrap();
        assert!(longest < Duration::from_secs(1), "a call took {longest:?}");
    }
    merge
        .add("last", Single::new(name("last"), spec("last", "last").access))
        .unwrap();
    let reader = tokio::time::timeout(SOON, reading).await.unwrap().unwrap();
    assert_eq!(reader.clusters.keys().collect::<Vec<_>>(), ["last"]);
}
