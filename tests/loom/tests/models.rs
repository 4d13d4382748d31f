//! Every interleaving, with up to two preemptions, of a few threads at the queue: no wake is lost.
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use loom::future::block_on;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering::SeqCst};
use loom::thread;
use mcrt_loom::{Outcome, Queue, QueueSettings};

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 100_000;
    builder.check(model);
}

fn settings(permits: u32) -> QueueSettings {
    QueueSettings {
        permits,
        ..QueueSettings::default()
    }
}

/// Takes items until `wanted` have come or the queue is closed.
fn work(queue: &Queue, wanted: usize) -> Vec<u32> {
    let mut seen = Vec::new();
    while seen.len() < wanted {
        let Some(item) = block_on(queue.pop()) else { break };
        seen.push(item.object());
        item.done(Outcome::Done);
    }
    seen
}

#[test]
fn two_producers_are_both_heard_by_one_worker() {
    check(|| {
        let queue = Queue::new(settings(4));
        let lane = queue.engage();
        let producers: Vec<_> = (0..2)
            .map(|object| {
                let queue = queue.clone();
                thread::spawn(move || queue.add(lane, object))
            })
            .collect();
        let mut seen = work(&queue, 2);
        seen.sort_unstable();
        assert_eq!(seen, [0, 1]);
        for producer in producers {
            producer.join().unwrap();
        }
        assert_eq!(queue.counters().running, 0);
    });
}

#[test]
fn a_key_added_while_it_runs_runs_once_more() {
    check(|| {
        let queue = Queue::new(settings(4));
        let lane = queue.engage();
        queue.add(lane, 7);
        let has_begun = Arc::new(AtomicBool::new(false));
        let producer = {
            let (queue, has_begun) = (queue.clone(), has_begun.clone());
            thread::spawn(move || {
                let is_late = has_begun.load(SeqCst);
                queue.add(lane, 7);
                is_late
            })
        };
        let first = block_on(queue.pop()).unwrap();
        has_begun.store(true, SeqCst);
        first.done(Outcome::Done);
        let is_late = producer.join().unwrap();
        let ready = queue.counters().ready;
        assert!(
            ready == 1 || !is_late,
            "an add that came after the run began is lost"
        );
        assert_eq!(work(&queue, ready), vec![7; ready]);
    });
}

/// The first worker drops its `pop` after one poll, woken or not; the second must get what was meant for it.
#[test]
fn a_dropped_pop_passes_its_wake_on() {
    check(|| {
        let queue = Queue::new(settings(4));
        let lane = queue.engage();
        let quitter = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut pop = pin!(queue.pop());
                match pop.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(item) => {
                        item.unwrap().done(Outcome::Deferred);
                        true
                    }
                    Poll::Pending => false,
                }
            })
        };
        let worker = {
            let queue = queue.clone();
            thread::spawn(move || work(&queue, 1))
        };
        queue.add(lane, 1);
        assert_eq!(worker.join().unwrap(), [1]);
        quitter.join().unwrap();
    });
}

#[test]
fn one_permit_handed_back_wakes_who_waits_for_it() {
    check(|| {
        let queue = Queue::new(settings(1));
        let lane = queue.engage();
        queue.add(lane, 1);
        queue.add(lane, 2);
        let other = {
            let queue = queue.clone();
            thread::spawn(move || work(&queue, 1))
        };
        let mut seen = work(&queue, 1);
        seen.extend(other.join().unwrap());
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
    });
}

#[test]
fn nothing_of_a_purged_lane_comes_after_the_purge() {
    check(|| {
        let queue = Queue::new(settings(4));
        let (ending, staying) = (queue.engage(), queue.engage());
        let producer = {
            let queue = queue.clone();
            thread::spawn(move || {
                queue.add(ending, 1);
                queue.add(staying, 2);
            })
        };
        let purger = {
            let queue = queue.clone();
            thread::spawn(move || {
                queue.purge(ending);
                block_on(queue.idle(ending));
                let counters = queue.counters();
                assert!(counters.ready <= 1);
            })
        };
        // The key of the lane that stays comes in any case; the other only if it was first.
        let seen = work(&queue, 1);
        let rest = if seen == [1] { work(&queue, 1) } else { seen };
        assert_eq!(rest, [2]);
        producer.join().unwrap();
        purger.join().unwrap();
        let counters = queue.counters();
        assert_eq!((counters.ready, counters.running), (0, 0));
    });
}

#[test]
fn closing_lets_every_waiter_go() {
    check(|| {
        let queue = Queue::new(settings(4));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || work(&queue, 1))
            })
            .collect();
        queue.close();
        for worker in workers {
            assert!(worker.join().unwrap().is_empty());
        }
    });
}

#[test]
fn keys_that_back_off_come_to_a_worker_that_waits_when_they_are_woken() {
    check(|| {
        let queue = Queue::new(settings(4));
        let lane = queue.engage();
        for object in 0..2 {
            queue.add(lane, object);
            block_on(queue.pop()).unwrap().done(Outcome::Retry);
        }
        let waker = {
            let queue = queue.clone();
            thread::spawn(move || queue.wake(lane))
        };
        let producer = {
            let queue = queue.clone();
            thread::spawn(move || queue.add(lane, 0))
        };
        let mut seen = work(&queue, 2);
        waker.join().unwrap();
        producer.join().unwrap();
        // The add was merged into the key that backed off, or came after it was done.
        while queue.counters().ready > 0 {
            seen.extend(work(&queue, 1));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [0, 1]);
        assert_eq!((queue.counters().delayed, queue.counters().running), (0, 0));
    });
}
