//! The async door, with paused time.
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::queue::{Backoff, FairQueue, Item, Lane, Outcome, Priority, QueueSettings};

const SECOND: Duration = Duration::from_secs(1);

fn settings() -> QueueSettings {
    let backoff = Backoff {
        jitter: false,
        ..Backoff::default()
    };
    QueueSettings {
        backoff,
        ..QueueSettings::default()
    }
}

fn engage(queue: &FairQueue<u32>) -> Lane {
    let lane = queue.engage(NonZeroU32::MIN);
    queue.resume(lane);
    lane
}

fn with_lane(settings: QueueSettings) -> (FairQueue<u32>, Lane) {
    let queue = FairQueue::new(settings);
    let lane = engage(&queue);
    (queue, lane)
}

/// The next item; an hour of paused time is as good as never. The `pop` is in a task of its own: a timeout around it
/// would poll it when it ends, and so hide that nobody woke it.
async fn next(queue: &FairQueue<u32>) -> Item<u32> {
    let queue = queue.clone();
    let pop = tokio::spawn(async move { queue.pop().await });
    timeout(Duration::from_hours(1), pop)
        .await
        .expect("an item comes")
        .unwrap()
        .expect("the queue is open")
}

async fn nothing_comes(queue: &FairQueue<u32>) {
    assert!(
        timeout(Duration::from_hours(1), queue.pop()).await.is_err(),
        "nothing is to come"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lane_starts_paused_and_keeps_its_keys_once_each() {
    let queue = FairQueue::new(settings());
    let lane = queue.engage(NonZeroU32::MIN);
    for _ in 0..3 {
        queue.add(lane, lane, 1, Priority::Low);
    }
    nothing_comes(&queue).await;
    queue.resume(lane);
    let item = next(&queue).await;
    assert!(item.waited() >= Duration::from_hours(1));
    queue.pause(lane);
    queue.add(lane, lane, 1, Priority::High);
    item.done(Outcome::Done);
    nothing_comes(&queue).await;
    assert!(queue.lane_counters(lane).unwrap().paused);
    queue.resume(lane);
    next(&queue).await.done(Outcome::Done);
    nothing_comes(&queue).await;
    let counters = queue.counters();
    assert_eq!((counters.added, counters.merged, counters.dispatched), (1, 3, 2));
}

#[tokio::test(start_paused = true)]
async fn the_earliest_of_several_delays_wins() {
    let (queue, lane) = with_lane(settings());
    let start = Instant::now();
    for seconds in [30, 10, 20] {
        queue.add_after(lane, lane, 1, Priority::Normal, seconds * SECOND);
    }
    let item = next(&queue).await;
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(item.due(), start + 10 * SECOND);
    item.done(Outcome::Done);
    nothing_comes(&queue).await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_pop_wakes_up_for_a_delay_that_ends_before_the_one_it_sleeps_for() {
    let (queue, lane) = with_lane(settings());
    queue.add_after(lane, lane, 1, Priority::Normal, 100 * SECOND);
    let start = Instant::now();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { *next(&queue).await.object() }
    });
    tokio::task::yield_now().await;
    queue.add_after(lane, lane, 2, Priority::Normal, 5 * SECOND);
    assert_eq!(waiting.await.unwrap(), 2);
    assert_eq!(start.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn whoever_keeps_the_time_passes_it_on_when_dropped() {
    let (queue, lane) = with_lane(settings());
    queue.add_after(lane, lane, 1, Priority::Normal, 10 * SECOND);
    let keeper = tokio::spawn({
        let queue = queue.clone();
        async move { drop(queue.pop().await) }
    });
    tokio::task::yield_now().await;
    let other = tokio::spawn({
        let queue = queue.clone();
        async move { *next(&queue).await.object() }
    });
    tokio::task::yield_now().await;
    keeper.abort();
    assert!(keeper.await.unwrap_err().is_cancelled());
    let start = Instant::now();
    assert_eq!(other.await.unwrap(), 1);
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_failing_key_backs_off_and_success_resets_it() {
    let (queue, lane) = with_lane(settings());
    queue.add(lane, lane, 1, Priority::High);
    for (attempt, delay) in [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
        .into_iter()
        .enumerate()
    {
        let start = Instant::now();
        let item = next(&queue).await;
        assert_eq!(
            (start.elapsed().as_secs(), item.attempt() as usize),
            (delay, attempt)
        );
        assert_eq!(
            item.priority(),
            if attempt == 0 {
                Priority::High
            } else {
                Priority::Normal
            }
        );
        item.done(Outcome::Retry);
    }
    next(&queue).await.done(Outcome::Requeue(7 * SECOND));
    let start = Instant::now();
    let item = next(&queue).await;
    assert_eq!((start.elapsed().as_secs(), item.attempt()), (7, 0));
    item.done(Outcome::Done);
    assert_eq!(queue.counters().retries, 12);
}

#[tokio::test(start_paused = true)]
async fn an_event_runs_a_failing_key_at_once_and_keeps_its_failures() {
    let (queue, lane) = with_lane(settings());
    queue.add(lane, lane, 1, Priority::Low);
    next(&queue).await.done(Outcome::RetryAfter(60 * SECOND));
    queue.add(lane, lane, 1, Priority::High);
    let start = Instant::now();
    let item = next(&queue).await;
    assert_eq!((start.elapsed(), item.attempt()), (Duration::ZERO, 1));
    // An event while it runs and fails does so too.
    queue.add(lane, lane, 1, Priority::Low);
    item.done(Outcome::Retry);
    let item = next(&queue).await;
    assert_eq!(
        (start.elapsed(), item.attempt(), item.priority()),
        (Duration::ZERO, 2, Priority::Normal)
    );
    queue.forget(lane, lane, &1);
    item.done(Outcome::Retry);
    let item = next(&queue).await;
    assert_eq!(
        (start.elapsed().as_secs(), item.attempt()),
        (1, 1),
        "another object of that name starts anew"
    );
    item.done(Outcome::GiveUp);
    nothing_comes(&queue).await;
    queue.add(lane, lane, 1, Priority::Low);
    assert_eq!(next(&queue).await.attempt(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_given_up_after_its_retries() {
    let backoff = Backoff {
        retries: Some(2),
        ..settings().backoff
    };
    let (queue, lane) = with_lane(QueueSettings {
        backoff,
        ..settings()
    });
    queue.add(lane, lane, 1, Priority::High);
    for _ in 0..3 {
        next(&queue).await.done(Outcome::Retry);
    }
    nothing_comes(&queue).await;
    assert_eq!((queue.counters().retries, queue.counters().given_up), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_dropped_is_tried_again() {
    let (queue, lane) = with_lane(settings());
    queue.add(lane, lane, 1, Priority::High);
    let item = next(&queue).await;
    let task = tokio::spawn(async move {
        std::future::pending::<()>().await;
        drop(item);
    });
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert_eq!(next(&queue).await.attempt(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deferred_item_keeps_its_priority_and_its_failures() {
    let (queue, lane) = with_lane(settings());
    queue.add(lane, lane, 1, Priority::Low);
    next(&queue).await.done(Outcome::Deferred);
    let item = next(&queue).await;
    assert_eq!((item.priority(), item.attempt()), (Priority::Low, 0));
    item.done(Outcome::Retry);
    next(&queue).await.done(Outcome::Deferred);
    assert_eq!(next(&queue).await.attempt(), 1);
}

#[tokio::test(start_paused = true)]
async fn pop_waits_for_a_permit() {
    let (queue, lane) = with_lane(QueueSettings {
        permits: 1,
        ..settings()
    });
    queue.add(lane, lane, 1, Priority::High);
    queue.add(lane, lane, 2, Priority::High);
    let item = next(&queue).await;
    nothing_comes(&queue).await;
    item.done(Outcome::Done);
    assert_eq!(*next(&queue).await.object(), 2);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_pop_and_ignores_adds() {
    let (queue, lane) = with_lane(settings());
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.pop().await.is_none() })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.close();
    for waiter in waiting {
        assert!(waiter.await.unwrap());
    }
    queue.add(lane, lane, 1, Priority::High);
    assert!(queue.pop().await.is_none() && queue.try_pop().is_none());
    assert_eq!(queue.counters().ignored, 1);
}

#[tokio::test(start_paused = true)]
async fn idle_waits_for_items_of_the_lane_as_home_and_as_target() {
    let (queue, home) = with_lane(settings());
    let target = engage(&queue);
    queue.idle(home).await;
    queue.add(home, target, 1, Priority::High);
    let item = next(&queue).await;
    assert_eq!((item.home(), item.target()), (home, target));
    for lane in [home, target] {
        assert!(timeout(SECOND, queue.idle(lane)).await.is_err());
    }
    let purged = queue.purge(home);
    assert_eq!((purged.removed, purged.running), (0, 1));
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.idle(home).await }
    });
    tokio::task::yield_now().await;
    drop(item);
    timeout(SECOND, waiting).await.expect("the lane is idle").unwrap();
    nothing_comes(&queue).await;
    assert!(queue.lane_counters(home).is_none() && queue.lane_counters(target).is_some());
}

#[tokio::test(start_paused = true)]
async fn a_purge_of_either_cluster_removes_what_lies_between_them() {
    let (queue, host) = with_lane(settings());
    let (first, second) = (engage(&queue), engage(&queue));
    queue.add_all(
        (0..5000).flat_map(|n| [(host, first, n), (host, second, n)]),
        Priority::Low,
    );
    queue.add_after(first, first, 1, Priority::Low, SECOND);
    queue.add(second, second, 1, Priority::Low);
    assert_eq!(queue.purge(first).removed, 5001);
    assert_eq!(queue.purge(host).removed, 5000);
    let item = next(&queue).await;
    assert_eq!((item.home(), item.target()), (second, second));
    item.done(Outcome::Done);
    queue.add(host, second, 1, Priority::High);
    queue.add(second, first, 1, Priority::High);
    nothing_comes(&queue).await;
    let counters = queue.counters();
    assert_eq!(
        (counters.purged, counters.ignored, counters.lanes),
        (10_001, 2, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn what_lies_between_a_cluster_and_others_can_be_told_before_its_purge() {
    let (queue, host) = with_lane(settings());
    let (first, second) = (engage(&queue), engage(&queue));
    queue.add(host, first, 1, Priority::Low);
    let item = next(&queue).await;
    queue.add_after(first, second, 2, Priority::Low, SECOND);
    queue.add(first, first, 3, Priority::Low);
    queue.add(host, second, 4, Priority::Low);
    assert_eq!(queue.crossing(first), [(host, first, 1), (first, second, 2)]);
    queue.purge(first);
    item.done(Outcome::Done);
    assert_eq!(queue.crossing(first), []);
    assert_eq!(queue.crossing(host), [(host, second, 4)]);
}

#[tokio::test(start_paused = true)]
async fn an_item_knows_that_its_retries_end_until_its_failures_are_forgotten() {
    let backoff = Backoff {
        retries: Some(1),
        ..Backoff::default()
    };
    let (queue, lane) = with_lane(QueueSettings {
        backoff,
        ..settings()
    });
    queue.add(lane, lane, 1, Priority::High);
    let item = next(&queue).await;
    assert!(!item.is_last_try());
    item.done(Outcome::Retry);
    let item = next(&queue).await;
    assert!(item.is_last_try());
    queue.forget(lane, lane, &1);
    assert!(!item.is_last_try());
    item.done(Outcome::Done);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_returns_has_another_lane() {
    let (queue, first) = with_lane(settings());
    queue.add(first, first, 1, Priority::High);
    let item = next(&queue).await;
    queue.purge(first);
    let second = engage(&queue);
    assert_ne!(first, second);
    queue.add(second, second, 1, Priority::High);
    queue.add(first, first, 1, Priority::High);
    let other = next(&queue).await;
    assert_eq!(other.target(), second);
    item.done(Outcome::Retry);
    let third = engage(&queue);
    assert!(third != first && third != second);
    queue.purge(first);
    assert!(
        queue.lane_counters(third).is_some(),
        "an ended lane cannot end its successor"
    );
    other.done(Outcome::Done);
    nothing_comes(&queue).await;
}

#[tokio::test(start_paused = true)]
async fn many_keys_due_at_once_all_come() {
    let (queue, lane) = with_lane(settings());
    for object in 0..20_000 {
        queue.add_after(lane, lane, object, Priority::Low, 90 * SECOND);
    }
    for _ in 0..20_000 {
        next(&queue).await.done(Outcome::Done);
    }
    let counters = queue.counters();
    assert_eq!(
        (counters.succeeded, counters.ready, counters.delayed),
        (20_000, 0, 0)
    );
    assert!(
        counters.heap_bytes < 200_000,
        "{} bytes are held for no key",
        counters.heap_bytes
    );
}
