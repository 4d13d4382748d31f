//! Random calls against the model: what holds for a key, a lane and the whole.
use std::time::Duration;

use proptest::prelude::*;

use super::rig::{BACKOFF, Key, Rig};
use crate::queue::core::{Outcome, Priority, QueueSettings};

#[derive(Clone, Debug)]
enum Call {
    Engage(u32),
    Pause(usize, bool),
    Purge(usize),
    Wake(usize),
    Add(Key, Priority, Option<u64>),
    Forget(Key),
    Pop,
    Finish(usize, Outcome),
    Pass(u64),
}

fn priority() -> impl Strategy<Value = Priority> {
    prop_oneof![Just(Priority::High), Just(Priority::Normal), Just(Priority::Low)]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Done),
        4 => Just(Outcome::Retry),
        1 => (0..90_000u64).prop_map(|us| Outcome::Requeue(Duration::from_micros(us))),
        1 => (0..90_000u64).prop_map(|us| Outcome::RetryAfter(Duration::from_micros(us))),
        1 => Just(Outcome::GiveUp),
        1 => Just(Outcome::Deferred),
    ]
}

fn key() -> impl Strategy<Value = Key> {
    // Mostly at home; fanned out from anywhere else.
    (0..6usize, 0..6usize, any::<bool>(), 0..8u8)
        .prop_map(|(home, target, same, object)| (if same { target } else { home }, target, object))
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        2 => (1..4u32).prop_map(Call::Engage),
        4 => (0..6usize, any::<bool>()).prop_map(|(lane, paused)| Call::Pause(lane, paused)),
        2 => (0..6usize).prop_map(Call::Purge),
        3 => (0..6usize).prop_map(Call::Wake),
        30 => (key(), priority(), prop_oneof![2 => Just(None), 1 => (0..300_000u64).prop_map(Some)])
            .prop_map(|(key, priority, delay)| Call::Add(key, priority, delay)),
        1 => key().prop_map(Call::Forget),
        25 => Just(Call::Pop),
        20 => (any::<usize>(), outcome()).prop_map(|(which, outcome)| Call::Finish(which, outcome)),
        8 => prop_oneof![0..3_000u64, 0..200_000u64].prop_map(Call::Pass),
    ]
}

/// The last six lanes are in use, so that some of them have ended.
fn apply(rig: &mut Rig, call: &Call) {
    let first = rig.lanes().saturating_sub(6);
    let key = |(home, target, object): Key| (first + home, first + target, object);
    match *call {
        Call::Engage(weight) => {
            rig.engage(weight);
            let lane = rig.lanes() - 1;
            rig.set_paused(lane, false);
        }
        Call::Pause(lane, paused) => rig.set_paused(first + lane, paused),
        Call::Purge(lane) => rig.purge(first + lane),
        Call::Wake(lane) => rig.wake(first + lane),
        Call::Add(wanted, priority, delay) => rig.add(key(wanted), priority, delay),
        Call::Forget(which) => rig.forget(key(which)),
        Call::Pop => drop(rig.pop()),
        Call::Finish(which, outcome) => rig.finish(which, outcome),
        Call::Pass(micros) => rig.now += micros,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_order_of_calls_agrees_with_the_model(
        calls in prop::collection::vec(call(), 1..400),
        permits in 1..7u32,
        per_lane in 1..4u32,
    ) {
        let per_lane = Some(per_lane.min(permits));
        let mut rig = Rig::new(QueueSettings { permits, per_lane, backoff: BACKOFF });
        for lane in 0..6 {
            rig.engage(1);
            rig.set_paused(lane, false);
        }
        for call in &calls {
            apply(&mut rig, call);
            rig.check();
        }
        rig.drain();
        rig.check();
    }
}
