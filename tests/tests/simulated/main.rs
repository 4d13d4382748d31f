//! Behaviour on the simulated fleet, through the public API, most of it under paused time.

mod completeness;
mod fleet_events;
mod interleavings;
mod isolation;
mod lifecycle;
mod outcomes;
mod panics;
mod providers;
mod requests;
mod watches;
mod writes;
