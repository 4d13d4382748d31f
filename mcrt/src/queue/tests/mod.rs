//! Tests of the queue.
mod door;
