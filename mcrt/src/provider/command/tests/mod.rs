//! Programs that print clusters, well and badly.
#[cfg(feature = "sim-tls")]
mod conformance;
mod format;
mod lifecycle;
mod polling;
mod program;
mod recipes;
mod schema;
mod streaming;
