//! A plan of faults, and how it decides: the same seed and the same requests give the same faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::faults::fault::{Fault, What};
use crate::faults::requests::Requests;
use crate::request::info::RequestInfo;

/// A list of rules: these requests, that fault.
///
/// Every rule counts all requests that it matches, whatever the others do. Delays add up, faults of the answer add
/// up, and the first fault that takes the answer's place wins.
///
/// ```
/// use std::time::Duration;
/// use mcrt_sim::{Fault, Faults, Requests, Server};
///
/// let server = Server::new("east");
/// server.faults(
///     Faults::seeded(7)
///         .on(Requests::lists().of("configmaps").nth(3), Fault::status(503))
///         .on(Requests::any().rate(0.2), Fault::delay(Duration::from_millis(200))),
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct Faults {
    seed: u64,
    rules: Vec<(Requests, Fault)>,
}

impl Faults {
    /// A plan without rules, whose chances and delays will be drawn by this seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed,
            rules: Vec::new(),
        }
    }

    /// A plan without rules, of seed zero.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a rule.
    #[must_use]
    pub fn on(mut self, requests: Requests, fault: Fault) -> Self {
        self.rules.push((requests, fault));
        self
    }
}

/// A plan at work on one server.
pub(crate) struct Plan {
    faults: Faults,
    /// How many requests each rule has matched.
    matched: Vec<AtomicU64>,
    began: Instant,
}

impl Plan {
    pub(crate) fn begin(mut faults: Faults, server: &str) -> Arc<Self> {
        // Servers of one fleet draw different numbers from one plan.
        faults.seed = server
            .bytes()
            .fold(faults.seed, |seed, byte| mix(seed ^ u64::from(byte)));
        Arc::new(Self {
            matched: faults.rules.iter().map(|_| AtomicU64::new(0)).collect(),
            faults,
            began: Instant::now(),
        })
    }

    /// What happens to a request. Counts it.
    pub(crate) fn decide(&self, info: &RequestInfo) -> Vec<Fault> {
        let since = self.began.elapsed();
        let mut faults = Vec::new();
        for (number, ((requests, fault), matched)) in self.faults.rules.iter().zip(&self.matched).enumerate()
        {
            if !requests.matches(info, since) {
                continue;
            }
            let count = matched.fetch_add(1, Ordering::Relaxed) + 1;
            let drawn = mix(mix(self.faults.seed ^ number as u64) ^ count);
            if requests.includes(count, unit(drawn)) {
                faults.push(settle(fault, unit(mix(drawn))));
            }
        }
        faults
    }
}

/// Replaces what is left to chance by what was drawn.
fn settle(fault: &Fault, drawn: f64) -> Fault {
    match fault.0 {
        What::DelayBetween(least, most) => {
            Fault::delay(least + most.saturating_sub(least).mul_f64(drawn).min(Duration::MAX))
        }
        _ => fault.clone(),
    }
}

/// `SplitMix64`: small, and as good as chance needs to be here.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number from 0 up to, but without, 1.
#[expect(clippy::cast_precision_loss, reason = "only 53 bits are left, which fit")]
fn unit(drawn: u64) -> f64 {
    (drawn >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_numbers_spread_evenly() {
        let hits = (0..10_000)
            .filter(|count| unit(mix(mix(7) ^ count)) < 0.2)
            .count();
        assert!((1_800..2_200).contains(&hits), "{hits}");
    }
}
