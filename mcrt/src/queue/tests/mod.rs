//! Tests of the queue.
mod batches;
mod door;
mod fairness;
mod model;
mod regressions;
mod rig;
mod waiters;
