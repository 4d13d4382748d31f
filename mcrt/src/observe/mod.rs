//! Reads the counters of what runs. It looks, and changes nothing; nothing else knows of it.
mod metrics;

pub use metrics::metrics;
