//! Behaviour on the simulated fleet, through the public API, most of it under paused time.

mod completeness;
mod interleavings;
mod isolation;
mod lifecycle;
mod panics;
