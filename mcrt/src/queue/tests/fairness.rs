//! Who is served when: bounds between lanes and between priorities.
use std::num::NonZeroU32;

use proptest::prelude::*;

use crate::queue::{FairQueue, Item, Lane, Outcome, Priority, QueueSettings};

/// Without caps, so that the order alone decides.
fn queue_of(weights: &[u32]) -> (FairQueue<u32>, Vec<Lane>) {
    let queue = FairQueue::new(QueueSettings {
        per_lane: Some(256),
        ..QueueSettings::default()
    });
    let lanes: Vec<_> = weights
        .iter()
        .map(|w| queue.engage(NonZeroU32::new(*w).unwrap()))
        .collect();
    for lane in &lanes {
        queue.resume(*lane);
    }
    (queue, lanes)
}

fn fill(queue: &FairQueue<u32>, lane: Lane, objects: std::ops::Range<u32>, priority: Priority) {
    queue.add_all(objects.map(|object| (lane, lane, object)), priority);
}

fn serve(queue: &FairQueue<u32>) -> Item<u32> {
    queue.try_pop().expect("there is work")
}

#[derive(Clone, Debug)]
enum Step {
    Add(usize, u32),
    Pop,
    Finish(usize),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn two_backlogged_lanes_stay_within_two_dispatches_whatever_others_do(
        weights in (1..5u32, 1..5u32),
        steps in prop::collection::vec(prop_oneof![
            2 => (2..12usize, 0..9u32).prop_map(|(lane, object)| Step::Add(lane, object)),
            3 => Just(Step::Pop),
            3 => any::<usize>().prop_map(Step::Finish),
        ], 1..1500),
    ) {
        let mut all = vec![weights.0, weights.1];
        all.extend([1, 2, 3, 1, 1, 1, 1, 4, 1, 1]);
        let (queue, lanes) = queue_of(&all);
        fill(&queue, lanes[0], 0..2000, Priority::Normal);
        fill(&queue, lanes[1], 0..2000, Priority::Normal);
        let (mut served, mut low, mut high) = ([0.0; 2], 0f64, 0f64);
        let mut out = Vec::new();
        for step in steps {
            match step {
                Step::Add(lane, object) => queue.add(lanes[lane], lanes[lane], object, Priority::Normal),
                Step::Pop => {
                    let Some(item) = queue.try_pop() else { continue };
                    if let Some(lane) = lanes[..2].iter().position(|lane| *lane == item.target()) {
                        served[lane] += 1.0;
                    }
                    out.push(item);
                    let lead = served[0] / f64::from(all[0]) - served[1] / f64::from(all[1]);
                    (low, high) = (low.min(lead), high.max(lead));
                }
                Step::Finish(_) if out.is_empty() => {}
                Step::Finish(which) => out.swap_remove(which % out.len()).done(Outcome::Done),
            }
        }
        // Over any interval, not only from the start: the lead moves within a band of two.
        prop_assert!(high - low <= 2.0, "the lead went from {low} to {high}");
    }
}

#[test]
fn lanes_are_served_in_the_proportion_of_their_weights() {
    let (queue, lanes) = queue_of(&[1, 4]);
    fill(&queue, lanes[0], 0..8000, Priority::Normal);
    fill(&queue, lanes[1], 0..8000, Priority::Normal);
    let mut served = [0.0; 2];
    for _ in 0..8000 {
        let item = serve(&queue);
        served[usize::from(item.target() == lanes[1])] += 1.0;
        item.done(Outcome::Done);
        assert!((served[0] - served[1] / 4.0_f64).abs() <= 1.0);
    }
}

#[test]
fn low_work_gets_exactly_one_in_nine_beside_endless_high_work() {
    let (queue, lanes) = queue_of(&[1, 1]);
    fill(&queue, lanes[0], 0..1000, Priority::High);
    fill(&queue, lanes[1], 0..1000, Priority::Low);
    let served: Vec<_> = (0..900)
        .map(|_| serve(&queue))
        .map(|item| (item.priority(), item.done(Outcome::Done)).0)
        .collect();
    assert_eq!(served.iter().filter(|p| **p == Priority::Low).count(), 100);
    assert!(served.chunks(9).all(|nine| nine.contains(&Priority::Low)));
}

#[test]
fn normal_and_low_work_each_get_one_in_any_nine_beside_endless_high_work() {
    let (queue, lanes) = queue_of(&[1, 1, 1]);
    fill(&queue, lanes[0], 0..1000, Priority::High);
    fill(&queue, lanes[1], 0..1000, Priority::Normal);
    fill(&queue, lanes[2], 0..1000, Priority::Low);
    let served: Vec<_> = (0..900)
        .map(|_| serve(&queue))
        .map(|item| (item.priority(), item.done(Outcome::Done)).0)
        .collect();
    for priority in [Priority::Normal, Priority::Low] {
        assert!(
            served.windows(9).all(|nine| nine.contains(&priority)),
            "{priority:?} waited too long"
        );
        assert_eq!(served.iter().filter(|p| **p == priority).count(), 100);
    }
}

#[test]
fn all_low_items_are_served_under_steady_high_load() {
    let (queue, lanes) = queue_of(&[1, 1]);
    fill(&queue, lanes[1], 0..100, Priority::Low);
    let mut low = 0;
    for object in 0..900 {
        queue.add(lanes[0], lanes[0], object, Priority::High);
        queue.add(lanes[0], lanes[0], object + 1, Priority::High);
        let item = serve(&queue);
        low += u32::from(item.priority() == Priority::Low);
        item.done(Outcome::Done);
    }
    assert_eq!(low, 100);
}

#[test]
fn a_quiet_cluster_is_served_next_among_ten_thousand_backlogged_ones() {
    let (queue, lanes) = queue_of(&vec![1; 10_001]);
    let (quiet, busy) = lanes.split_last().unwrap();
    for lane in busy {
        fill(&queue, *lane, 0..3, Priority::Normal);
    }
    for _ in 0..busy.len() + 5 {
        serve(&queue).done(Outcome::Done);
    }
    queue.add(*quiet, *quiet, 0, Priority::Normal);
    let item = serve(&queue);
    assert_eq!(item.target(), *quiet);
    item.done(Outcome::Done);

    // Coming back at once gains nothing: it waits for its turn like the others.
    queue.add(*quiet, *quiet, 1, Priority::Normal);
    let mut others = 0;
    loop {
        let item = serve(&queue);
        let is_quiet = item.target() == *quiet;
        item.done(Outcome::Done);
        if is_quiet {
            break;
        }
        others += 1;
    }
    assert!(others >= busy.len() - 10, "served again after {others}");
}

#[test]
fn a_heavy_lane_that_runs_empty_on_purpose_gains_nothing() {
    let (queue, lanes) = queue_of(&[4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    for lane in &lanes[1..] {
        fill(&queue, *lane, 0..1000, Priority::Normal);
    }
    let (mut served, mut is_queued) = (0, false);
    for object in 0..1000 {
        // One key at a time, and two dispatches each time: mostly the second finds the lane empty.
        if !is_queued {
            queue.add(lanes[0], lanes[0], object, Priority::Normal);
            is_queued = true;
        }
        for item in [serve(&queue), serve(&queue)] {
            if item.target() == lanes[0] {
                served += 1;
                is_queued = false;
            }
            item.done(Outcome::Done);
        }
    }
    assert!(served <= 2000 * 4 / 14, "{served} of 2000 is more than its share");
}

#[test]
fn keys_of_one_lane_and_priority_come_in_the_order_they_were_added() {
    let (queue, lanes) = queue_of(&[1]);
    fill(&queue, lanes[0], 0..500, Priority::Normal);
    fill(&queue, lanes[0], 100..200, Priority::Normal);
    fill(&queue, lanes[0], 7..8, Priority::High);
    let order: Vec<u32> = (0..500).map(|_| *serve(&queue).object()).collect();
    let mut expected: Vec<u32> = (0..500).filter(|object| *object != 7).collect();
    expected.insert(0, 7);
    assert_eq!(order, expected);
}

#[test]
fn hung_lanes_leave_all_other_permits_to_the_rest() {
    let queue = FairQueue::new(QueueSettings {
        permits: 40,
        ..QueueSettings::default()
    });
    let lanes: Vec<_> = (0..4).map(|_| queue.engage(NonZeroU32::MIN)).collect();
    for lane in &lanes {
        queue.resume(*lane);
    }
    lanes[..3]
        .iter()
        .for_each(|lane| fill(&queue, *lane, 0..100, Priority::High));
    let hung: Vec<_> = std::iter::from_fn(|| queue.try_pop()).collect();
    assert_eq!(hung.len(), 30);
    fill(&queue, lanes[3], 0..100, Priority::Low);
    for _ in 0..100 {
        let item = serve(&queue);
        assert_eq!(item.target(), lanes[3]);
        item.done(Outcome::Done);
    }
}

#[test]
fn a_lane_alone_may_use_every_permit_until_another_is_engaged() {
    let (queue, lanes) = {
        let queue = FairQueue::new(QueueSettings {
            permits: 8,
            ..QueueSettings::default()
        });
        let lane = queue.engage(NonZeroU32::MIN);
        queue.resume(lane);
        (queue, lane)
    };
    fill(&queue, lanes, 0..100, Priority::Normal);
    let mut out: Vec<_> = std::iter::from_fn(|| queue.try_pop()).collect();
    assert_eq!(out.len(), 8);
    let other = queue.engage(NonZeroU32::MIN);
    for left in (2..8).rev() {
        out.pop().unwrap().done(Outcome::Done);
        assert!(queue.try_pop().is_none(), "{left} still run, the cap is two");
    }
    out.pop().unwrap().done(Outcome::Done);
    out.extend(queue.try_pop());
    assert_eq!(out.len(), 2);
    queue.purge(other);
    out.extend(std::iter::from_fn(|| queue.try_pop()));
    assert_eq!(out.len(), 8);
    drop(out);
}
