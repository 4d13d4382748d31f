//! How requests get in: the service, the listener, the hook, the counting.

#[cfg(feature = "tls")]
pub(crate) mod authority;
pub(crate) mod body;
pub(crate) mod connection;
pub(crate) mod counters;
pub(crate) mod hook;
pub(crate) mod listener;
pub(crate) mod service;
pub(crate) mod socket;
