//! Behaviour on the simulated fleet, through the public API, most of it under paused time.

mod interleavings;
mod lifecycle;
