//! What a queue can be told: permits, caps, backoff and the priorities of its keys.
use std::time::Duration;

/// How urgent a key is; merging two adds of one key keeps the higher.
///
/// Lower priorities are delayed, never starved: while it has work, each is served at least once in nine dispatches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Initial lists, relists and resyncs.
    Low,
    /// Retries and requeues.
    Normal,
    /// Live events and urgent requests.
    High,
}

/// The number of priorities, and so of round-robin rings.
pub(super) const PRIORITIES: usize = 3;

impl Priority {
    /// The ring of this priority: most urgent first.
    pub(super) const fn ring(self) -> usize {
        match self {
            Self::High => 0,
            Self::Normal => 1,
            Self::Low => 2,
        }
    }
}

/// Limits of one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueSettings {
    /// Items that may run at once, over all lanes; at least one.
    pub permits: u32,
    /// Items of one lane that may run at once; a quarter of the permits when not set.
    ///
    /// Does not hold while one lane alone is engaged: nobody is there to be protected.
    pub per_lane: Option<u32>,
    /// How failing keys are delayed.
    pub backoff: Backoff,
}

impl QueueSettings {
    pub(super) fn permits(&self) -> u32 {
        self.permits.max(1)
    }

    pub(super) fn lane_cap(&self) -> u32 {
        self.per_lane.unwrap_or(self.permits / 4).clamp(1, self.permits())
    }
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self {
            permits: 256,
            per_lane: None,
            backoff: Backoff::default(),
        }
    }
}

/// The exponential backoff of a failing key; each key has its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub initial: Duration,
    /// The longest delay.
    pub max: Duration,
    /// What each further failure multiplies the delay by; less than one counts as one.
    pub factor: f64,
    /// Whether each delay is shortened by a random part of up to a quarter, so that keys which failed together
    /// do not return together.
    pub jitter: bool,
    /// How often a failing key is tried again before it is given up; without end when not set.
    pub retries: Option<u32>,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_mins(5),
            factor: 2.0,
            jitter: true,
            retries: None,
        }
    }
}

impl Backoff {
    /// The delay after `failures` failures in a row; `seed` decides the jitter.
    pub(super) fn delay(&self, failures: u32, seed: u64) -> Duration {
        let exponent = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        let grown = self.initial.as_secs_f64() * self.factor.max(1.0).powi(exponent);
        // Infinite or too large for a Duration: the longest delay.
        let delay = Duration::try_from_secs_f64(grown)
            .unwrap_or(self.max)
            .min(self.max);
        if self.jitter {
            delay.mul_f64(1.0 - fraction(seed) / 4.0)
        } else {
            delay
        }
    }

    /// Whether a key that has failed `failures` times is to be given up.
    pub(super) fn exhausted(&self, failures: u32) -> bool {
        self.retries.is_some_and(|retries| failures > retries)
    }
}

/// A number in [0, 1) from the well mixed bits of `seed` (splitmix64).
fn fraction(seed: u64) -> f64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let bits = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0);
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Backoff = Backoff {
        initial: Duration::from_secs(1),
        max: Duration::from_mins(5),
        factor: 2.0,
        jitter: false,
        retries: Some(3),
    };

    #[test]
    fn delays_double_up_to_the_longest_and_never_overflow() {
        let seconds = |n| PLAIN.delay(n, 7).as_secs();
        assert_eq!([seconds(1), seconds(2), seconds(3), seconds(9)], [1, 2, 4, 256]);
        assert_eq!([seconds(10), seconds(5000), seconds(u32::MAX)], [300, 300, 300]);
        let odd = Backoff {
            factor: f64::NAN,
            ..PLAIN
        };
        assert_eq!(odd.delay(40, 7).as_secs(), 1);
    }

    #[test]
    fn jitter_takes_off_at_most_a_quarter() {
        let shaken = Backoff {
            jitter: true,
            ..PLAIN
        };
        let delays: Vec<_> = (0..1000).map(|seed| shaken.delay(1, seed)).collect();
        assert!(delays.iter().all(|d| (750..=1000).contains(&d.as_millis())));
        assert!(
            delays
                .iter()
                .max()
                .unwrap()
                .abs_diff(*delays.iter().min().unwrap())
                .as_millis()
                > 200
        );
    }

    #[test]
    fn a_key_is_given_up_after_its_last_retry() {
        assert!(!PLAIN.exhausted(3));
        assert!(PLAIN.exhausted(4));
    }
}
