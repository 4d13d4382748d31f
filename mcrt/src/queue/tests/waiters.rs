//! Random waiting, dropping and waking: no item is ready while everybody sleeps.
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Wake, Waker};
use std::time::Duration;

use proptest::prelude::*;

use crate::queue::core::{Addition, Gate, Lane, Outcome, Popped, Priority, QueueSettings, Step, Ticket};

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// A future that waits: its ticket, whether it has been woken, and when its timer fires.
struct Sleeper {
    ticket: Ticket,
    woken: Arc<Flag>,
    timer: Option<u64>,
}

impl Sleeper {
    fn is_up(&self, now: u64) -> bool {
        self.woken.0.load(Relaxed) || self.timer.is_some_and(|timer| timer <= now)
    }
}

struct Hall {
    gate: Gate<u32>,
    lanes: Vec<Lane>,
    sleepers: Vec<Sleeper>,
    out: Vec<Popped<u32>>,
    now: u64,
}

impl Hall {
    fn new(permits: u32) -> Self {
        let per_lane = Some(2.min(permits));
        let mut hall = Self {
            gate: Gate::new(QueueSettings {
                permits,
                per_lane,
                ..QueueSettings::default()
            }),
            lanes: Vec::new(),
            sleepers: Vec::new(),
            out: Vec::new(),
            now: 0,
        };
        (0..3).for_each(|_| hall.engage());
        hall
    }

    fn engage(&mut self) {
        let (lane, wakes) = self.gate.engage(NonZeroU32::MIN);
        wakes.wake();
        self.gate.resume(lane).wake();
        self.lanes.push(lane);
    }

    fn add(&mut self, lane: usize, object: u32, delay: Option<u64>) {
        let lane = self.lanes[self.lanes.len() - 3 + lane];
        let mut addition = Addition {
            home: lane,
            target: lane,
            object: Some(object),
            hash: object.into(),
        };
        let delay = delay.map(Duration::from_micros);
        self.gate
            .add(self.now, [&mut addition], Priority::Normal, delay)
            .wake();
    }

    fn purge(&mut self, lane: usize) {
        let lane = self.lanes.remove(self.lanes.len() - 3 + lane);
        self.gate.end(lane).wake();
        while self.gate.purge_some(lane, 100, &mut Vec::new()) {}
        self.engage();
    }

    fn poll(&mut self, mut sleeper: Sleeper) {
        let woken = Arc::new(Flag::default());
        let own = Waker::from(Arc::clone(&woken));
        let (step, wakes) = self.gate.poll_pop(self.now, &mut sleeper.ticket, &own);
        wakes.wake();
        match step {
            Step::Item(popped) => self.out.push(popped),
            Step::Wait(timer) => self.sleepers.push(Sleeper {
                woken,
                timer,
                ..sleeper
            }),
            Step::Again | Step::Closed => unreachable!("few keys move at once, and nobody closed the queue"),
        }
    }

    fn come(&mut self) {
        self.poll(Sleeper {
            ticket: Ticket::default(),
            woken: Arc::default(),
            timer: None,
        });
    }

    /// Polls one sleeper, woken or not.
    fn stir(&mut self, which: usize) {
        if !self.sleepers.is_empty() {
            let sleeper = self.sleepers.swap_remove(which % self.sleepers.len());
            self.poll(sleeper);
        }
    }

    fn quit(&mut self, which: usize) {
        if !self.sleepers.is_empty() {
            let mut sleeper = self.sleepers.swap_remove(which % self.sleepers.len());
            self.gate.leave(&mut sleeper.ticket).wake();
        }
    }

    fn finish(&mut self, which: usize) {
        if !self.out.is_empty() {
            let popped = self.out.swap_remove(which % self.out.len());
            let (_, wakes) = self
                .gate
                .finish(self.now, popped.index, popped.priority, Outcome::Done);
            wakes.wake();
        }
    }

    /// Lets everybody who is up come, until all who are left sleep; then nothing may be ready for them.
    fn settle(&mut self) {
        while let Some(which) = self.sleepers.iter().position(|sleeper| sleeper.is_up(self.now)) {
            self.stir(which);
        }
        if !self.sleepers.is_empty() {
            assert!(
                matches!(self.gate.try_pop(self.now).0, Step::Wait(_)),
                "an item is ready and all sleep"
            );
        }
    }
}

#[derive(Clone, Debug)]
enum Call {
    Add(usize, u32, Option<u64>),
    Purge(usize),
    Come,
    Stir(usize),
    Quit(usize),
    Finish(usize),
    Pass(u64),
    Settle,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_item_is_ready_while_all_waiters_sleep(
        permits in 1..5u32,
        calls in prop::collection::vec(prop_oneof![
            8 => (0..3usize, 0..9u32, prop_oneof![Just(None), (0..9_000u64).prop_map(Some)])
                .prop_map(|(lane, object, delay)| Call::Add(lane, object, delay)),
            1 => (0..3usize).prop_map(Call::Purge),
            6 => Just(Call::Come),
            2 => any::<usize>().prop_map(Call::Stir),
            3 => any::<usize>().prop_map(Call::Quit),
            5 => any::<usize>().prop_map(Call::Finish),
            3 => (0..9_000u64).prop_map(Call::Pass),
            3 => Just(Call::Settle),
        ], 1..200),
    ) {
        let mut hall = Hall::new(permits);
        for call in calls {
            match call {
                Call::Add(lane, object, delay) => hall.add(lane, object, delay),
                Call::Purge(lane) => hall.purge(lane),
                Call::Come => hall.come(),
                Call::Stir(which) => hall.stir(which),
                Call::Quit(which) => hall.quit(which),
                Call::Finish(which) => hall.finish(which),
                Call::Pass(micros) => hall.now += micros,
                Call::Settle => hall.settle(),
            }
        }
        hall.settle();
    }
}
