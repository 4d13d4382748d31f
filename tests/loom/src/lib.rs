//! Loom models of the fair queue.
