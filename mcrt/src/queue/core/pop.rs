//! Handing out: which priority, which lane, which key.
use super::slab::State;
use super::{Core, Lane, Priority};

/// A lower priority that could be served is passed over this often at most: it gets one dispatch in nine.
const PASSED_OVER: u32 = 8;

/// A key as it is handed out.
pub(in super::super) struct Popped<O> {
    pub(in super::super) index: u32,
    pub(in super::super) home: Lane,
    pub(in super::super) target: Lane,
    pub(in super::super) object: O,
    pub(in super::super) priority: Priority,
    pub(in super::super) failures: u32,
    /// When it was due, and when it was handed out.
    pub(in super::super) due: u64,
    pub(in super::super) at: u64,
}

impl<O: Clone> Core<O> {
    /// Hands out the next key; its permit is held until [`finish`](Core::finish).
    pub(in super::super) fn pop(&mut self, now: u64) -> Option<Popped<O>> {
        let at = self.tell(now);
        if self.available() == 0 {
            return None;
        }
        let i = self.choose()?;
        self.slab[i].state = State::Running;
        let record = &self.slab[i];
        let (home, target) = (record.home, record.target);
        let popped = Popped {
            index: i,
            home: self.lanes.lane(home),
            target: self.lanes.lane(target),
            object: record.object().clone(),
            priority: record.priority,
            failures: u32::from(record.failures),
            due: record.due.min(at),
            at,
        };
        self.running += 1;
        self.totals.dispatched += 1;
        self.lanes.at_mut(target).busy += 1;
        if home != target {
            self.lanes.at_mut(home).busy += 1;
        }
        Some(popped)
    }
}

impl<O> Core<O> {
    /// The most urgent ring with something to serve, unless a lower one has been passed over long enough.
    fn choose(&mut self) -> Option<u32> {
        if let Some(ring) = self.owed() {
            if let Some(i) = self.choose_in(ring) {
                return Some(i);
            }
            self.skipped[ring] = 0;
        }
        (0..self.skipped.len()).find_map(|ring| self.choose_in(ring))
    }

    /// The lower ring whose share is due. When both will be due at once, one goes a dispatch early:
    /// else the other would be passed over once too often.
    fn owed(&self) -> Option<usize> {
        let [_, normal, low] = self.skipped;
        if normal >= PASSED_OVER || (normal + 1 >= PASSED_OVER && low + 1 >= PASSED_OVER && normal >= low) {
            Some(1)
        } else if low >= PASSED_OVER || (normal + 1 >= PASSED_OVER && low + 1 >= PASSED_OVER) {
            Some(2)
        } else {
            None
        }
    }

    fn choose_in(&mut self, ring: usize) -> Option<u32> {
        loop {
            let slot = self.lanes.turn(ring)?;
            let i = self.lanes.at(slot).fifos[ring].keys.head;
            if self.is_doomed(i) {
                // Its home ended and the purge has not come to it yet.
                self.lanes.dequeue(&mut self.slab, i);
                self.slab[i].state = State::Condemned;
                continue;
            }
            self.lanes.start(&mut self.slab, i);
            self.lanes.charge(slot, ring);
            self.count_passed_over(ring);
            return Some(i);
        }
    }

    fn count_passed_over(&mut self, served: usize) {
        for ring in 1..self.skipped.len() {
            let passed_over = ring != served && self.lanes.backlogged(ring);
            self.skipped[ring] = if passed_over { self.skipped[ring] + 1 } else { 0 };
        }
    }
}
