//! Random choices that can be repeated: the seed is printed when a test fails, and read from `MCRT_SEED`.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher as _},
    time::Duration,
};

/// A small generator (splitmix64) that says how to repeat it when its test panics.
#[derive(Debug)]
pub struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// A generator seeded by `MCRT_SEED`, or freshly.
    ///
    /// # Panics
    /// If `MCRT_SEED` is set and is no number.
    pub fn new() -> Self {
        let given = std::env::var("MCRT_SEED").ok();
        let seed = given.map(|seed| seed.parse().expect("MCRT_SEED is a number"));
        Self::seeded(seed.unwrap_or_else(|| RandomState::new().build_hasher().finish()))
    }

    /// A generator with this seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    /// One of these.
    ///
    /// # Panics
    /// If there are none.
    pub fn choose<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at =
            usize::try_from(self.number() % (from.len() as u64)).expect("an index of a slice is a usize");
        &from[at]
    }

    /// True `percent` times in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A duration of fewer than `bound` milliseconds.
    pub fn millis(&mut self, bound: u64) -> Duration {
        Duration::from_millis(self.below(bound))
    }
}

impl Default for Random {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat with MCRT_SEED={}", self.seed);
        }
    }
}
