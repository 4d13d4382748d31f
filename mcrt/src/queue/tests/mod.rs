//! Tests of the queue.
mod door;
mod fairness;
mod model;
mod regressions;
mod rig;
mod waiters;
