//! The queue beside a naive model of it: every call goes to both, and they must agree.
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::queue::core::{Addition, Backoff, Gate, Lane, Outcome, Popped, Priority, QueueSettings, Step};

/// A lane by its number in order of engagement, ended ones included; home, target, object.
pub(super) type Key = (usize, usize, u8);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Ready(Priority),
    Waiting(Priority, u64),
    /// With the next run that has been asked for meanwhile.
    Running(Priority, Option<(Priority, u64)>),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    phase: Phase,
    failures: u32,
}

#[derive(Clone, Copy, Debug)]
struct ModelLane {
    lane: Lane,
    is_live: bool,
    is_paused: bool,
}

pub(super) struct Rig {
    gate: Gate<u8>,
    settings: QueueSettings,
    pub(super) now: u64,
    lanes: Vec<ModelLane>,
    entries: HashMap<Key, Entry>,
    out: Vec<(Key, Popped<u8>)>,
    /// Runs that have begun, by key.
    pub(super) begun: HashMap<Key, usize>,
}

pub(super) const BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(10),
    max: Duration::from_millis(70),
    factor: 2.0,
    jitter: false,
    retries: Some(4),
};

impl Rig {
    pub(super) fn new(settings: QueueSettings) -> Self {
        Self {
            gate: Gate::new(settings),
            settings,
            now: 0,
            lanes: Vec::new(),
            entries: HashMap::new(),
            out: Vec::new(),
            begun: HashMap::new(),
        }
    }

    pub(super) fn engage(&mut self, weight: u32) {
        let (lane, _) = self.gate.engage(NonZeroU32::new(weight).unwrap());
        assert!(
            self.lanes.iter().all(|known| known.lane != lane),
            "a lane is never used again"
        );
        self.lanes.push(ModelLane {
            lane,
            is_live: true,
            is_paused: true,
        });
    }

    pub(super) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn set_paused(&mut self, lane: usize, paused: bool) {
        if paused {
            self.gate.pause(self.lanes[lane].lane);
        } else {
            let _ = self.gate.resume(self.lanes[lane].lane);
        }
        self.lanes[lane].is_paused = paused;
    }

    /// Makes what backs off ready, two records in each hold of the lock.
    pub(super) fn wake(&mut self, lane: usize) {
        let handle = self.lanes[lane].lane;
        let mut left = self.gate.failing(handle);
        while left > 0 && self.gate.wake_some(self.now, handle, 2, &mut left).0 {}
        if !self.lanes[lane].is_live {
            return;
        }
        let of_lane = self
            .entries
            .iter_mut()
            .filter(|(key, _)| key.0 == lane || key.1 == lane);
        for (_, entry) in of_lane.filter(|(_, entry)| entry.failures > 0) {
            if let Phase::Waiting(priority, _) = entry.phase {
                entry.phase = Phase::Ready(priority);
            }
        }
        assert_eq!(self.gate.failing(handle), 0);
    }

    pub(super) fn add(&mut self, key: Key, priority: Priority, delay: Option<u64>) {
        let (home, target, object) = key;
        let (home_lane, target_lane) = (self.lanes[home].lane, self.lanes[target].lane);
        let mut addition = Addition {
            home: home_lane,
            target: target_lane,
            object: Some(object),
            hash: u64::from(object % 3),
        };
        let _ = self.gate.add(
            self.now,
            [&mut addition],
            priority,
            delay.map(Duration::from_micros),
        );
        if !self.lanes[home].is_live || !self.lanes[target].is_live {
            return;
        }
        let due = self.now + delay.unwrap_or(0);
        let now = self.now;
        let at = |priority, due| {
            if due <= now {
                Phase::Ready(priority)
            } else {
                Phase::Waiting(priority, due)
            }
        };
        let entry = self.entries.entry(key).or_insert(Entry {
            phase: at(priority, due),
            failures: 0,
        });
        entry.phase = match entry.phase {
            Phase::Ready(held) => Phase::Ready(held.max(priority)),
            Phase::Waiting(held, held_due) if held_due <= due => Phase::Waiting(held.max(priority), held_due),
            Phase::Waiting(held, _) => at(held.max(priority), due),
            Phase::Running(own, None) => Phase::Running(own, Some((priority, due))),
            Phase::Running(own, Some((held, held_due))) => {
                Phase::Running(own, Some((held.max(priority), held_due.min(due))))
            }
        };
    }

    pub(super) fn forget(&mut self, key: Key) {
        let (home, target, object) = key;
        let (home_lane, target_lane) = (self.lanes[home].lane, self.lanes[target].lane);
        self.gate
            .forget(home_lane, target_lane, &object, u64::from(object % 3));
        if self.lanes[home].is_live && self.lanes[target].is_live {
            self.entries.entry(key).and_modify(|entry| entry.failures = 0);
        }
    }

    /// Pops; whatever comes must be allowed, and nothing may come only if nothing is.
    pub(super) fn pop(&mut self) -> Option<Key> {
        for entry in self.entries.values_mut() {
            if let Phase::Waiting(priority, due) = entry.phase
                && due.div_ceil(1000) <= self.now / 1000
            {
                entry.phase = Phase::Ready(priority);
            }
        }
        let popped = match self.gate.try_pop(self.now).0 {
            Step::Item(popped) => popped,
            Step::Wait(due) => {
                assert!(
                    due.is_none_or(|due| due > self.now),
                    "no time to sleep until is past"
                );
                let missed = self.entries.keys().find(|key| self.may_run(**key));
                assert_eq!(missed, None, "work is left undone");
                return None;
            }
            Step::Again | Step::Closed => panic!("few keys move at once, and nobody closed the queue"),
        };
        let number = |lane| self.lanes.iter().position(|known| known.lane == lane).unwrap();
        let key = (number(popped.home), number(popped.target), popped.object);
        assert!(
            self.may_run(key),
            "{key:?} must not run: {:?}",
            self.entries.get(&key)
        );
        let entry = self.entries.get_mut(&key).unwrap();
        assert_eq!(entry.phase, Phase::Ready(popped.priority));
        assert_eq!(entry.failures, popped.failures);
        entry.phase = Phase::Running(popped.priority, None);
        self.out.push((key, popped));
        *self.begun.entry(key).or_default() += 1;
        Some(key)
    }

    pub(super) fn finish(&mut self, which: usize, outcome: Outcome) {
        if self.out.is_empty() {
            return;
        }
        let (key, popped) = self.out.swap_remove(which % self.out.len());
        let (freed, _) = self.gate.finish(self.now, popped.index, popped.priority, outcome);
        let Phase::Running(own, wanted) = self.entries[&key].phase else {
            panic!("{key:?} was out")
        };
        let next = if self.is_doomed(key) {
            None
        } else {
            self.next_run(key, own, wanted, outcome)
        };
        assert_eq!(freed.0.is_some(), next.is_none());
        match next {
            None => drop(self.entries.remove(&key)),
            Some((priority, due)) => {
                let phase = if due <= self.now {
                    Phase::Ready(priority)
                } else {
                    Phase::Waiting(priority, due)
                };
                self.entries.get_mut(&key).unwrap().phase = phase;
            }
        }
    }

    /// Ends a lane and pops while the purge is under way; then nothing of it is left but what runs.
    pub(super) fn purge(&mut self, lane: usize) {
        let (handle, was_live) = (self.lanes[lane].lane, self.lanes[lane].is_live);
        let _ = self.gate.end(handle);
        self.lanes[lane].is_live = false;
        let before = self.entries.len();
        let of_lane = |key: &Key| key.0 == lane || key.1 == lane;
        self.entries
            .retain(|key, entry| !of_lane(key) || matches!(entry.phase, Phase::Running(..)));
        for (_, entry) in self.entries.iter_mut().filter(|(key, _)| of_lane(key)) {
            if let Phase::Running(own, _) = entry.phase {
                entry.phase = Phase::Running(own, None);
            }
        }
        let gone = before - self.entries.len();
        let (mut removed, mut freed) = (0, Vec::new());
        loop {
            self.pop();
            let more = self.gate.purge_some(handle, 2, &mut freed);
            removed += freed.len();
            freed.clear();
            if !more {
                break;
            }
        }
        let purged = self.gate.purged(handle, removed);
        assert_eq!(purged.removed, if was_live { gone } else { 0 });
        assert_eq!(purged.running, self.running(|key| of_lane(key)));
    }

    /// The numbers the queue gives are those of the model.
    pub(super) fn check(&self) {
        let counters = self.gate.counters();
        let count = |wanted: fn(&Phase) -> bool| self.entries.values().filter(|e| wanted(&e.phase)).count();
        assert_eq!(counters.ready_high, count(|p| *p == Phase::Ready(Priority::High)));
        assert_eq!(
            counters.ready_normal,
            count(|p| *p == Phase::Ready(Priority::Normal))
        );
        assert_eq!(counters.ready_low, count(|p| *p == Phase::Ready(Priority::Low)));
        assert_eq!(counters.delayed, count(|p| matches!(p, Phase::Waiting(..))));
        assert_eq!(counters.running, self.out.len());
        assert_eq!(
            counters.lanes,
            self.lanes.iter().filter(|lane| lane.is_live).count()
        );
        for (number, lane) in self.lanes.iter().enumerate() {
            let of_lane = |wanted: fn(&Phase) -> bool| {
                self.entries
                    .iter()
                    .filter(|(key, e)| key.1 == number && wanted(&e.phase))
                    .count()
            };
            let busy = self.running(|key| key.0 == number || key.1 == number);
            let Some(own) = self.gate.lane_counters(lane.lane) else {
                assert!(!lane.is_live && busy == 0);
                continue;
            };
            assert!(
                lane.is_live || busy > 0,
                "an ended lane is kept for running items only"
            );
            assert_eq!(own.ready, of_lane(|p| matches!(p, Phase::Ready(_))));
            assert_eq!(own.delayed, of_lane(|p| matches!(p, Phase::Waiting(..))));
            assert_eq!(own.running, of_lane(|p| matches!(p, Phase::Running(..))));
        }
    }

    /// Resumes all lanes and works everything off; all that was wanted runs.
    pub(super) fn drain(&mut self) {
        for lane in 0..self.lanes.len() {
            self.set_paused(lane, false);
        }
        for _ in 0..10_000 {
            while self.pop().is_some() {}
            if self.out.is_empty() {
                if self.entries.is_empty() {
                    return;
                }
                self.now += 100_000;
            }
            self.finish(0, Outcome::Done);
        }
        panic!("{} keys never ran", self.entries.len());
    }

    fn next_run(
        &mut self,
        key: Key,
        own: Priority,
        wanted: Option<(Priority, u64)>,
        outcome: Outcome,
    ) -> Option<(Priority, u64)> {
        let micros = |delay: Duration| u64::try_from(delay.as_micros()).unwrap();
        let entry = self.entries.get_mut(&key).unwrap();
        let failures = entry.failures + 1;
        entry.failures = 0;
        let mut fail = |delay| {
            (failures <= 4).then(|| {
                entry.failures = failures;
                (Priority::Normal, self.now + delay)
            })
        };
        let asked = match outcome {
            Outcome::Done | Outcome::GiveUp => None,
            Outcome::Requeue(delay) => Some((Priority::Normal, self.now + micros(delay))),
            Outcome::Retry => fail([0, 10_000, 20_000, 40_000, 70_000, 70_000][failures.min(5) as usize]),
            Outcome::RetryAfter(delay) => fail(micros(delay)),
            Outcome::Deferred => {
                entry.failures = failures - 1;
                Some((own, self.now))
            }
        };
        match (asked, wanted) {
            (Some((p, t)), Some((q, u))) => Some((p.max(q), t.min(u))),
            (asked, wanted) => asked.or(wanted),
        }
    }

    fn may_run(&self, key: Key) -> bool {
        let live = self.lanes.iter().filter(|lane| lane.is_live).count();
        let cap = if live <= 1 {
            usize::MAX
        } else {
            self.settings.per_lane.unwrap() as usize
        };
        !self.is_doomed(key)
            && !self.lanes[key.1].is_paused
            && matches!(
                self.entries.get(&key),
                Some(Entry {
                    phase: Phase::Ready(_),
                    ..
                })
            )
            && self.running(|other| other.1 == key.1) < cap
            && self.out.len() < self.settings.permits as usize
    }

    fn is_doomed(&self, key: Key) -> bool {
        !self.lanes[key.0].is_live || !self.lanes[key.1].is_live
    }

    fn running(&self, wanted: impl Fn(&Key) -> bool) -> usize {
        self.out.iter().filter(|(key, _)| wanted(key)).count()
    }
}
