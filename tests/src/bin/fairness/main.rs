//! Measures, through the whole runtime on simulated servers, that no cluster and no priority starves another.
//!
//! Prints a line per promise with its numbers, and fails if one of them is not kept.

mod rig;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use rig::{Noise, Rig};

/// Reconciles that may run at once.
const PERMITS: u32 = 10;
const QUIET_CLUSTERS: usize = 9;

/// Measures quiet clusters beside a noisy one, and low priority beside high.
#[derive(Debug, Parser)]
struct Arguments {
    /// Objects of the noisy cluster
    #[arg(long, default_value_t = 100_000)]
    noisy: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Objects of low priority
    #[arg(long, default_value_t = 1_000)]
    low: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let window = Duration::from_secs(arguments.seconds);

    let alone = quiet(None, None, window).await;
    println!("      quiet clusters alone: {alone}");
    let mut kept = true;
    let (working, hanging) = (Noise::Working(arguments.noisy), Noise::Hanging(arguments.noisy));
    // Without a cap, what is left is the order in which lanes take turns.
    for (what, noise, cap) in [
        ("items, no cap", working, Some(PERMITS)),
        ("items, default cap", working, None),
        ("items that hang, default cap", hanging, None),
    ] {
        let beside = quiet(Some(noise), cap, window).await;
        let bound = (beside.item * 2).max(alone.p99 * 2);
        kept &= verdict(
            beside.p99 <= bound,
            &format!("beside {} {what}: {beside}; at most {bound:.2?}", arguments.noisy),
        );
    }
    kept &= low_under_high(arguments.low).await;
    if kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn verdict(kept: bool, text: &str) -> bool {
    println!("{}  {text}", if kept { "pass" } else { "FAIL" });
    kept
}

/// What quiet clusters experienced.
struct Experience {
    p50: Duration,
    p99: Duration,
    worst: Duration,
    /// The mean time that one item took.
    item: Duration,
    items: usize,
    noisy_done: u64,
}

impl std::fmt::Display for Experience {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "waits p50 {:.2?}, p99 {:.2?}, worst {:.2?} of {} items, each {:.2?}; {} noisy items done",
            self.p50, self.p99, self.worst, self.items, self.item, self.noisy_done
        )
    }
}

/// Nine clusters with one item every 100 ms, from change to reconcile, from the moment the noisy cluster joins.
async fn quiet(noise: Option<Noise>, cap: Option<u32>, window: Duration) -> Experience {
    let rig = Rig::quiet(QUIET_CLUSTERS, noise);
    let running = rig.start(PERMITS, cap);
    rig.until_quiet_items_pass().await;
    rig.forget();
    rig.join_noisy();
    let end = Instant::now() + window;
    // Once the noise is over, the rest would be silence.
    while Instant::now() < end && !rig.noise_is_over() {
        rig.touch_for(Duration::from_millis(100)).await;
    }
    let experience = rig.experience();
    running.stop().await;
    experience
}

/// How long the low items may take: they get a ninth of what is served, which is seconds, so this is no close call.
const LOW_LIMIT: Duration = Duration::from_mins(1);

/// Objects of the initial list, all low, while more changes come in than can be served.
async fn low_under_high(low: usize) -> bool {
    let rig = Rig::low(low);
    let running = rig.start(PERMITS, None);
    let controller = running.handle().controllers().remove(0);
    let begun = Instant::now();
    let (mut looks, mut busy) = (0_u32, 0_u32);
    while rig.low_done() < low && begun.elapsed() < LOW_LIMIT {
        rig.storm_for(Duration::from_millis(10)).await;
        if rig.low_done() > 0 {
            looks += 1;
            busy += u32::from(controller.queue().ready_high > 0);
        }
    }
    let (took, done, high) = (begun.elapsed(), rig.low_done(), rig.high_done());
    running.stop().await;
    // A storm that did not keep the queue full would prove nothing.
    let steady = looks > 0 && f64::from(busy) / f64::from(looks) >= 0.9;
    verdict(
        done == low && steady,
        &format!(
            "low priority under high: {done} of {low} low items and {high} high ones in {took:.1?}; high ones \
             waited in {busy} of {looks} looks"
        ),
    )
}
