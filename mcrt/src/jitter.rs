//! Delays that differ by chance.
use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// Thirty years: a longer delay means never, and clocks do not count much further.
pub(crate) const NEVER: Duration = Duration::from_hours(24 * 365 * 30);

/// A fifth more or less, so that what failed or began together does not go on in step.
pub(crate) fn around(delay: Duration) -> Duration {
    delay.min(NEVER).mul_f64(0.8 + 0.4 * chance())
}

/// Somewhere between the two, the first one included.
pub(crate) fn between(least: Duration, most: Duration) -> Duration {
    let (least, most) = (least.min(NEVER), most.min(NEVER));
    least + most.saturating_sub(least).mul_f64(chance())
}

/// From 0 to 1, which it does not reach.
fn chance() -> f64 {
    let random = RandomState::new().hash_one(()) % 1000;
    f64::from(u32::try_from(random).unwrap_or_default()) / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[test]
    fn a_delay_that_means_never_is_one_that_clocks_can_count() {
        for delay in [
            around(Duration::MAX),
            between(Duration::ZERO, Duration::MAX),
            between(Duration::MAX, Duration::MAX),
        ] {
            assert!(Instant::now().checked_add(delay).is_some(), "{delay:?}");
        }
    }
}
