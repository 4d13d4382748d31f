//! The same test under many seeds: one that fails says which, and can be run alone.

use std::env;

use tokio::runtime::Builder;

/// Runs a test once for each seed, each in a runtime of its own with paused time.
///
/// `MCRT_SEED` runs that seed alone, `MCRT_SEEDS` another number of them than `count`.
///
/// # Panics
/// As the test does; if a variable is no number, or there is no runtime.
pub fn each(first: u64, count: u64, test: impl AsyncFn(u64)) {
    let seeds = match number("MCRT_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + number("MCRT_SEEDS").unwrap_or(count),
    };
    for seed in seeds {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build();
        runtime.expect("a runtime can be built").block_on(test(seed));
    }
}

fn number(variable: &str) -> Option<u64> {
    let given = env::var(variable).ok()?;
    Some(given.parse().expect("MCRT_SEED and MCRT_SEEDS are numbers"))
}
