//! Many keys at once: added and purged in pieces, freed outside of the lock.
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use tokio::time::timeout;

use crate::queue::{ADDED, FairQueue, Lane, Outcome, PURGED, Priority, QueueSettings, Shared};

fn with_lane<O: Clone + Eq + Hash + Send + Sync + 'static>() -> (FairQueue<O>, Lane) {
    let queue = FairQueue::new(QueueSettings::default());
    let lane = queue.engage(NonZeroU32::MIN);
    queue.resume(lane);
    (queue, lane)
}

fn keys(lane: Lane, objects: std::ops::Range<u32>) -> impl Iterator<Item = (Lane, Lane, u32)> {
    objects.map(move |object| (lane, lane, object))
}

/// What can be had now, in its order.
fn take_all(queue: &FairQueue<u32>) -> Vec<u32> {
    let mut taken = Vec::new();
    while let Some(item) = queue.try_pop() {
        taken.push(*item.object());
        item.done(Outcome::Done);
    }
    taken
}

#[test]
fn keys_added_together_come_once_each_and_in_their_order_however_many_they_are() {
    let batch = u32::try_from(ADDED).unwrap();
    for count in [0, 1, batch - 1, batch, batch + 1, 2 * batch, 5 * batch + 3] {
        let (queue, lane) = with_lane();
        queue.add_all(keys(lane, 0..count).chain(keys(lane, 0..count)), Priority::Low);
        let counters = queue.counters();
        assert_eq!(counters.added, u64::from(count));
        assert_eq!(counters.merged, u64::from(count));
        assert_eq!(take_all(&queue), (0..count).collect::<Vec<_>>());
    }
}

#[test]
fn the_first_keys_of_many_are_served_while_the_next_are_made() {
    let (queue, lane) = with_lane();
    let mut taken = Vec::new();
    let made = keys(lane, 0..100).inspect(|_| taken.extend(take_all(&queue)));
    queue.add_all(made, Priority::Low);
    assert!(taken.len() > 100 - 2 * ADDED, "{}", taken.len());
    taken.extend(take_all(&queue));
    assert_eq!(taken, (0..100).collect::<Vec<_>>());
}

#[test]
fn keys_for_a_lane_that_ends_or_a_queue_that_closes_between_two_pieces_are_ignored() {
    let ends: [fn(&FairQueue<u32>, Lane); 2] =
        [|queue, lane| _ = queue.purge(lane), |queue, _| queue.close()];
    for end in ends {
        let (queue, lane) = with_lane();
        let made = keys(lane, 0..100).inspect(|(_, _, object)| {
            if *object == 50 {
                end(&queue, lane);
            }
        });
        queue.add_all(made, Priority::Low);
        let counters = queue.counters();
        let added = usize::try_from(counters.added).unwrap();
        assert!(added <= 50 && added.is_multiple_of(ADDED), "{added}");
        assert_eq!(counters.ignored, 100 - counters.added);
        assert_eq!(take_all(&queue), [0; 0]);
    }
}

/// On threads, in real time: what could be lost here is a wake.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_waiters_get_all_that_many_adders_add() {
    const ADDERS: u32 = 4;
    const EACH: u32 = 2_000;
    let (queue, lane) = with_lane();
    let seen: Arc<Vec<AtomicUsize>> = Arc::new((0..ADDERS * EACH).map(|_| AtomicUsize::new(0)).collect());
    let left = Arc::new(AtomicUsize::new(seen.len()));
    let waiters: Vec<_> = (0..32)
        .map(|_| {
            let (queue, seen, left) = (queue.clone(), seen.clone(), left.clone());
            tokio::spawn(async move {
                while let Some(item) = queue.pop().await {
                    seen[*item.object() as usize].fetch_add(1, Relaxed);
                    item.done(Outcome::Done);
                    if left.fetch_sub(1, Relaxed) == 1 {
                        queue.close();
                    }
                }
            })
        })
        .collect();
    let adders: Vec<_> = (0..ADDERS)
        .map(|adder| {
            let queue = queue.clone();
            let priority = [Priority::Low, Priority::High][adder as usize % 2];
            thread::spawn(move || queue.add_all(keys(lane, adder * EACH..(adder + 1) * EACH), priority))
        })
        .collect();
    for waiter in waiters {
        timeout(Duration::from_mins(1), waiter)
            .await
            .expect("nobody waits for ever")
            .unwrap();
    }
    for adder in adders {
        adder.join().unwrap();
    }
    assert!(seen.iter().all(|times| times.load(Relaxed) == 1));
}

/// An object that notes whether its queue was locked when it was dropped. Two of one number are equal.
#[derive(Clone)]
struct Watchful {
    number: u32,
    /// The queue, and how many were dropped outside and under its lock.
    watch: Arc<Watch>,
}

#[derive(Default)]
struct Watch {
    queue: OnceLock<std::sync::Weak<Shared<Watchful>>>,
    outside: AtomicUsize,
    under: AtomicUsize,
}

impl Drop for Watchful {
    fn drop(&mut self) {
        let Some(queue) = self.watch.queue.get().and_then(std::sync::Weak::upgrade) else {
            return;
        };
        let locked = queue.gate.is_locked() || queue.adders.is_locked();
        let count = if locked {
            &self.watch.under
        } else {
            &self.watch.outside
        };
        count.fetch_add(1, Relaxed);
    }
}

impl PartialEq for Watchful {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Watchful {}

impl Hash for Watchful {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.number.hash(hasher);
    }
}

#[test]
fn objects_are_dropped_outside_of_the_lock() {
    let (queue, lane) = with_lane();
    let watch = Arc::new(Watch::default());
    watch.queue.set(Arc::downgrade(&queue.shared)).unwrap();
    let dropped = || (watch.outside.load(Relaxed), watch.under.load(Relaxed));
    let all = || {
        (0..20).map(|number| {
            let watch = watch.clone();
            (lane, lane, Watchful { number, watch })
        })
    };
    queue.add_all(all(), Priority::Low);
    assert_eq!(dropped(), (0, 0));
    queue.add_all(all(), Priority::Low);
    assert_eq!(dropped(), (20, 0), "what was there already");
    let item = queue.try_pop().unwrap();
    item.done(Outcome::Done);
    assert_eq!(dropped(), (22, 0), "the one that is done, and its copy");
    queue.purge(lane);
    assert_eq!(dropped(), (41, 0), "what was purged");
    queue.add_all(all(), Priority::Low);
    assert_eq!(dropped(), (61, 0), "what came too late");
}

#[test]
fn a_purge_takes_all_of_a_lane_whatever_the_size_of_its_pieces() {
    let piece = u32::try_from(PURGED).unwrap();
    for count in [0, 1, piece - 1, piece, piece + 1, 2 * piece] {
        let (queue, lane) = with_lane();
        queue.add_all(keys(lane, 0..count), Priority::Low);
        let purged = queue.purge(lane);
        assert_eq!((purged.removed, purged.running), (count as usize, 0));
        assert_eq!(queue.counters().ready, 0);
    }
}

#[test]
fn the_memory_of_a_huge_list_is_given_back_when_the_last_key_is_worked_off_or_purged() {
    let (queue, lane) = with_lane();
    queue.add_all(keys(lane, 0..100), Priority::Low);
    let small = queue.counters().heap_bytes;
    for purge in [false, true] {
        queue.add_all(keys(lane, 0..50_000), Priority::Low);
        assert!(queue.counters().heap_bytes > 10 * small);
        let last = queue.try_pop().unwrap();
        if purge {
            queue.purge(lane);
        } else {
            take_all(&queue);
        }
        assert!(queue.counters().heap_bytes > 10 * small, "one key still runs");
        last.done(Outcome::Done);
        assert!(queue.counters().heap_bytes <= small, "purged: {purge}");
        assert!(
            queue.shared.gate.lock().take_spent().is_none(),
            "nothing waits to be dropped"
        );
    }
    let lane = queue.engage(NonZeroU32::MIN);
    queue.add_all(keys(lane, 0..50_000), Priority::Low);
    queue.purge(lane);
    assert!(queue.counters().heap_bytes <= small);
    assert!(queue.shared.gate.lock().take_spent().is_none());
}
