//! Faults of other queues, each as the order of calls that shows it.
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::timeout;

use crate::queue::{FairQueue, Lane, Outcome, Priority, QueueSettings};

fn queue(permits: u32, per_lane: u32) -> FairQueue<u32> {
    FairQueue::new(QueueSettings {
        permits,
        per_lane: Some(per_lane),
        ..QueueSettings::default()
    })
}

fn engage(queue: &FairQueue<u32>) -> Lane {
    let lane = queue.engage(NonZeroU32::MIN);
    queue.resume(lane);
    lane
}

/// Takes the item that comes at once. The `pop` is in a task of its own: a timeout around it would poll it when it
/// ends, and so hide that nobody woke it.
async fn comes(queue: &FairQueue<u32>) -> u32 {
    let queue = queue.clone();
    let pop = tokio::spawn(async move { queue.pop().await });
    let item = timeout(Duration::from_millis(1), pop)
        .await
        .expect("it is woken")
        .unwrap()
        .unwrap();
    let object = *item.object();
    item.done(Outcome::Done);
    object
}

/// The fair queue of `VirtualCluster` forgets an idle group; a key of it that is dirty while it runs stayed marked
/// as queued without being so, and every later add of it was merged into nothing.
#[tokio::test(start_paused = true)]
async fn a_key_made_dirty_in_a_lane_that_has_become_idle_is_not_lost() {
    let queue = queue(8, 8);
    let (lane, other) = (engage(&queue), engage(&queue));
    queue.add(lane, lane, 1, Priority::Normal);
    let item = queue.pop().await.unwrap();
    queue.add(lane, lane, 1, Priority::Normal);
    // Turns pass in which the lane has nothing, until no ring holds it any more.
    for object in 0..100 {
        queue.add(other, other, object, Priority::Normal);
        comes(&queue).await;
    }
    item.done(Outcome::Done);
    assert_eq!(comes(&queue).await, 1);
    queue.add(lane, lane, 1, Priority::Normal);
    assert_eq!(comes(&queue).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_dropped_after_it_was_woken_passes_its_wake_on() {
    let queue = queue(8, 8);
    let lane = engage(&queue);
    let second = {
        let mut first = pin!(queue.pop());
        let polled = first.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Pending));
        let second = tokio::spawn({
            let queue = queue.clone();
            async move { comes(&queue).await }
        });
        tokio::task::yield_now().await;
        queue.add(lane, lane, 1, Priority::Normal);
        second
        // The first was woken for the key and is dropped here.
    };
    assert_eq!(second.await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_cap_freed_by_a_purge_lets_the_waiting_keys_run() {
    let queue = queue(8, 1);
    let (home, target, bystander) = (engage(&queue), engage(&queue), engage(&queue));
    queue.add(home, target, 1, Priority::Normal);
    let item = queue.pop().await.unwrap();
    queue.add(target, target, 2, Priority::Normal);
    assert!(
        timeout(Duration::from_secs(1), queue.pop()).await.is_err(),
        "its lane is at its cap"
    );
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { comes(&queue).await }
    });
    tokio::task::yield_now().await;
    queue.purge(home);
    item.done(Outcome::Retry);
    assert_eq!(waiting.await.unwrap(), 2);
    queue.purge(bystander);
}

#[tokio::test(start_paused = true)]
async fn a_purge_that_leaves_one_lane_alone_lifts_its_cap() {
    let queue = queue(8, 1);
    let (lane, other) = (engage(&queue), engage(&queue));
    queue.add(other, other, 10, Priority::Normal);
    queue.add(lane, lane, 1, Priority::Normal);
    queue.add(lane, lane, 2, Priority::Normal);
    assert_eq!(comes(&queue).await, 10);
    let item = queue.pop().await.unwrap();
    assert_eq!(*item.object(), 1);
    for object in [11, 12] {
        // At the second, the lane comes to its turn at its cap, and leaves the ring.
        queue.add(other, other, object, Priority::Normal);
        assert_eq!(comes(&queue).await, object);
    }
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { comes(&queue).await }
    });
    tokio::task::yield_now().await;
    queue.purge(other);
    assert_eq!(waiting.await.unwrap(), 2);
    item.done(Outcome::Done);
}

/// The workqueue's default limiter shares one bucket: after 100,000 failures elsewhere a first retry waits for hours.
#[tokio::test(start_paused = true)]
async fn a_first_retry_is_not_delayed_by_failures_of_another_cluster() {
    let queue = queue(8, 8);
    let (noisy, quiet) = (engage(&queue), engage(&queue));
    queue.add_all((0..10_000).map(|object| (noisy, noisy, object)), Priority::High);
    for _ in 0..10_000 {
        queue
            .pop()
            .await
            .unwrap()
            .done(Outcome::RetryAfter(Duration::from_hours(1)));
    }
    queue.add(quiet, quiet, 1, Priority::High);
    queue.pop().await.unwrap().done(Outcome::Retry);
    let item = timeout(Duration::from_secs(1), queue.pop())
        .await
        .expect("one base delay later")
        .unwrap();
    assert_eq!((item.target(), item.attempt()), (quiet, 1));
}
