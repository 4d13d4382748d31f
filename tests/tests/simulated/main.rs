//! Behaviour on the simulated fleet, through the public API, most of it under paused time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail the way tests do"
)]

mod chaos;
mod churn;
mod completeness;
mod counted;
mod dark;
mod deadlines;
mod fleet_events;
mod gone;
mod health;
mod interleavings;
mod isolation;
mod kcp;
mod kit;
mod lifecycle;
mod metrics;
mod outages;
mod outcomes;
mod panics;
mod parked;
mod providers;
mod reengaged;
mod refusing;
mod rejected;
mod requests;
mod rotation;
mod selection;
mod self_reported;
mod sharding;
mod silent;
mod slices;
mod watches;
mod writes;
