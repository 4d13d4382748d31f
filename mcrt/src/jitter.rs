//! Delays that differ by chance.
use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

/// A fifth more or less, so that what failed or began together does not go on in step.
pub(crate) fn around(delay: Duration) -> Duration {
    let random = RandomState::new().hash_one(()) % 1000;
    delay.mul_f64(0.8 + 0.0004 * f64::from(u32::try_from(random).unwrap_or_default()))
}
