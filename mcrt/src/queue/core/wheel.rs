//! The timing wheel: records that wait for a time, in six levels of sixty-four slots of one millisecond and up.
use super::slab::{Chain, List, NIL, Slab};

const LEVELS: usize = 6;
const SLOTS: usize = 64;
const BITS: u32 = 6;

/// Microseconds of one tick.
pub(super) const TICK: u64 = 1_000;

/// The longest delay, about a year: half a turn of the top level, so that a slot is never ambiguous.
pub(super) const LONGEST: u64 = (1 << 35) * TICK;

/// A level holds what shares the current slot of the level above with `now`; so the lowest occupied level
/// is the next to come, and entering a slot of a higher level moves its records down.
pub(super) struct Wheel {
    slots: Box<[[List; SLOTS]; LEVELS]>,
    occupied: [u64; LEVELS],
    /// In ticks; never goes back.
    now: u64,
}

impl Wheel {
    pub(super) fn new() -> Self {
        Self {
            slots: Box::new([[List::EMPTY; SLOTS]; LEVELS]),
            occupied: [0; LEVELS],
            now: 0,
        }
    }

    pub(super) const fn heap_bytes() -> usize {
        size_of::<[[List; SLOTS]; LEVELS]>()
    }

    /// Files the record under its `due`; a due in the past is found by the next call of [`Wheel::expire`].
    pub(super) fn insert<O>(&mut self, slab: &mut Slab<O>, i: u32) {
        // Rounded up: never early.
        let tick = slab[i].due.div_ceil(TICK).max(self.now);
        let highest_difference = ((tick ^ self.now) | 1).ilog2();
        let level = ((highest_difference / BITS) as usize).min(LEVELS - 1);
        let slot = slot_at(tick, level);
        slab[i].slot = u16::try_from(level * SLOTS + slot).expect("there are 384 slots");
        slab.push_back(&mut self.slots[level][slot], Chain::Queue, i);
        self.occupied[level] |= 1 << slot;
    }

    pub(super) fn remove<O>(&mut self, slab: &mut Slab<O>, i: u32) {
        let place = usize::from(slab[i].slot);
        self.take(slab, place / SLOTS, place % SLOTS, i);
    }

    /// The tick at which something is to be done next: a record is due or a slot moves down.
    pub(super) fn next(&self) -> Option<u64> {
        if (1..LEVELS).any(|level| self.occupied[level] >> slot_at(self.now, level) & 1 == 1) {
            return Some(self.now); // moving down is not finished
        }
        let level = (0..LEVELS).find(|&level| self.occupied[level] != 0)?;
        let current = slot_at(self.now, level);
        let turned =
            self.occupied[level].rotate_right(u32::try_from(current).expect("a slot is less than 64"));
        let shift = BITS * u32::try_from(level).expect("there are six levels");
        Some(((self.now >> shift) + u64::from(turned.trailing_zeros())) << shift)
    }

    /// Takes out one record that is due at tick `to`; each record moved costs one of `budget`.
    ///
    /// `None` with budget left: nothing more is due and the wheel stands at `to`.
    pub(super) fn expire<O>(&mut self, slab: &mut Slab<O>, to: u64, budget: &mut u32) -> Option<u32> {
        loop {
            let Some(tick) = self.next().filter(|&tick| tick <= to) else {
                self.now = self.now.max(to);
                return None;
            };
            self.now = tick;
            if *budget == 0 {
                return None;
            }
            *budget -= 1;
            let level = (0..LEVELS)
                .rev()
                .find(|&level| self.occupied[level] >> slot_at(tick, level) & 1 == 1);
            let level = level?;
            let slot = slot_at(tick, level);
            let i = self.slots[level][slot].head;
            self.take(slab, level, slot, i);
            if level == 0 {
                return Some(i);
            }
            self.insert(slab, i);
        }
    }

    fn take<O>(&mut self, slab: &mut Slab<O>, level: usize, slot: usize, i: u32) {
        let list = &mut self.slots[level][slot];
        slab.unlink(list, Chain::Queue, i);
        if list.head == NIL {
            self.occupied[level] &= !(1 << slot);
        }
    }
}

fn slot_at(tick: u64, level: usize) -> usize {
    // Six bits always fit.
    usize::try_from(tick >> (level * BITS as usize) & (SLOTS as u64 - 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::slab::Record;
    use super::*;

    fn fill(dues: &[u64]) -> (Slab<usize>, Wheel) {
        let (mut slab, mut wheel) = (Slab::new(), Wheel::new());
        for (n, due) in dues.iter().enumerate() {
            let i = slab.insert(Record::new(n, 0, 0, 0));
            slab[i].due = *due;
            wheel.insert(&mut slab, i);
        }
        (slab, wheel)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn records_come_out_when_due_and_not_before(
            dues in prop::collection::vec(prop_oneof![0..200_000u64, 0..LONGEST], 1..60),
            steps in prop::collection::vec(prop_oneof![1..90_000u64, 1..LONGEST / 4], 1..60),
            budget in 1..8u32,
        ) {
            let (mut slab, mut wheel) = fill(&dues);
            let (mut now, mut out) = (0, vec![false; dues.len()]);
            for step in steps {
                now += step;
                loop {
                    let mut left = budget;
                    while let Some(i) = wheel.expire(&mut slab, now / TICK, &mut left) {
                        let n = *slab[i].object();
                        prop_assert!(dues[n] <= now && !out[n]);
                        out[n] = true;
                    }
                    if left > 0 { break }
                }
                for (n, due) in dues.iter().enumerate() {
                    prop_assert!(out[n] || due.div_ceil(TICK) > now / TICK, "{due} is late at {now}");
                }
            }
        }

        #[test]
        fn sleeping_until_the_next_tick_misses_nothing(dues in prop::collection::vec(0..LONGEST, 1..40)) {
            let (mut slab, mut wheel) = fill(&dues);
            let (mut left, mut rounds) = (dues.len(), 0);
            while let Some(tick) = wheel.next() {
                rounds += 1;
                while wheel.expire(&mut slab, tick, &mut 1000).is_some() { left -= 1 }
            }
            prop_assert_eq!(left, 0);
            prop_assert!(rounds <= dues.len() * LEVELS);
        }
    }

    #[test]
    fn removal_empties_a_slot() {
        let (mut slab, mut wheel) = fill(&[5 * TICK, 5 * TICK, 70 * TICK]);
        wheel.remove(&mut slab, 1);
        wheel.remove(&mut slab, 0);
        assert_eq!(wheel.next(), Some(64));
        wheel.remove(&mut slab, 2);
        assert_eq!(wheel.next(), None);
    }
}
