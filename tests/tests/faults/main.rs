//! Watches and controllers under every fault of the simulator, by seeds.
//!
//! A seed that fails prints itself and its plan of faults: `MCRT_SEED=7 cargo test -p mcrt-tests --test faults NAME`
//! runs it alone, `MCRT_SEEDS=10000` runs more of them. A seed settles what happens to the servers and when; delays
//! that clients choose by chance, such as those between retries, it does not.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the way tests do"
)]

mod configmaps;
mod controllers;
mod patient;
mod plan;
mod tokens;
mod watcher;
mod world;
