//! Tests of the queue.
mod door;
mod model;
mod rig;
