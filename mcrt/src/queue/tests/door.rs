//! The async door, with paused time.
use std::num::NonZeroU32;
use std::time::Duration;

use crate::queue::{FairQueue, Outcome, Priority, QueueSettings};

#[tokio::test(start_paused = true)]
async fn an_added_key_is_handed_out() {
    let queue = FairQueue::new(QueueSettings::default());
    let lane = queue.engage(NonZeroU32::MIN);
    queue.add(lane, lane, 1u32, Priority::High);
    assert!(queue.try_pop().is_none());
    queue.resume(lane);
    let item = queue.pop().await.unwrap();
    assert_eq!(*item.object(), 1);
    item.done(Outcome::Requeue(Duration::from_secs(5)));
    let item = queue.pop().await.unwrap();
    assert_eq!(item.priority(), Priority::Normal);
    item.done(Outcome::Done);
    assert_eq!(queue.counters().dispatched, 2);
}
