//! Measures how fast 45 clusters of fifty are worked on while the other five are dark, against when they are not.
//!
//! For each way to go dark it prints pairs of measurements and their median ratio, and fails if that is above the goal.

mod rig;

use std::process::ExitCode;

use clap::Parser;
use rig::{Rig, Way};

/// How much slower the others may be.
const GOAL: f64 = 1.25;

/// Measures clusters beside dark ones.
#[derive(Debug, Parser)]
struct Arguments {
    /// Pairs of measurements for each way
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Clusters in all
    #[arg(long, default_value_t = 50)]
    clusters: usize,
    /// Clusters that go dark
    #[arg(long, default_value_t = 5)]
    dark: usize,
    /// Changes of each of the others in one measurement
    #[arg(long, default_value_t = 200)]
    changes: usize,
    /// Just one way: frozen, swallowed or refused
    #[arg(long)]
    way: Option<Way>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let rig = match Rig::start(arguments.clusters, arguments.dark).await {
        Ok(rig) => rig,
        Err(error) => {
            eprintln!("the clusters cannot be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    // Both sides find everything warm.
    rig.measure(arguments.changes).await;
    let mut kept = true;
    for way in Way::ALL {
        if arguments.way.is_none_or(|only| only == way) {
            kept &= pairs(&rig, way, &arguments).await;
        }
    }
    rig.stop().await;
    if kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Measures pairs, each in the other order than the one before.
async fn pairs(rig: &Rig, way: Way, arguments: &Arguments) -> bool {
    let mut ratios = Vec::new();
    for pair in 0..arguments.pairs {
        let (without, with) = if pair % 2 == 0 {
            let without = rig.measure(arguments.changes).await;
            (without, beside(rig, way, arguments.changes).await)
        } else {
            let with = beside(rig, way, arguments.changes).await;
            (rig.measure(arguments.changes).await, with)
        };
        let ratio = with.as_secs_f64() / without.as_secs_f64();
        println!("      {way}: {without:.2?} without, {with:.2?} beside; {ratio:.2}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::INFINITY);
    let kept = median <= GOAL;
    println!(
        "{}  {} of {} clusters {way}: the others take {median:.2} times as long; at most {GOAL}",
        if kept { "pass" } else { "FAIL" },
        arguments.dark,
        arguments.clusters,
    );
    kept
}

/// From the moment that the dark ones fall, with work of theirs under way.
async fn beside(rig: &Rig, way: Way, changes: usize) -> std::time::Duration {
    rig.work_in_the_dark().await;
    rig.fall(way);
    let took = rig.measure(changes).await;
    rig.lift(way).await;
    took
}
