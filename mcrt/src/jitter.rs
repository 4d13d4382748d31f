//! Delays that differ by chance.
use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// A fifth more or less, so that what failed or began together does not go on in step.
pub(crate) fn around(delay: Duration) -> Duration {
    delay.mul_f64(0.8 + 0.4 * chance())
}

/// Somewhere between the two, the first one included.
pub(crate) fn between(least: Duration, most: Duration) -> Duration {
    least + most.saturating_sub(least).mul_f64(chance())
}

/// From 0 to 1, which it does not reach.
fn chance() -> f64 {
    let random = RandomState::new().hash_one(()) % 1000;
    f64::from(u32::try_from(random).unwrap_or_default()) / 1000.0
}
