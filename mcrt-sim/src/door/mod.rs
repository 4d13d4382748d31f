//! How requests get in: the service, the listener, the hook, the counting.

pub(crate) mod counters;
pub(crate) mod hook;
pub(crate) mod listener;
pub(crate) mod service;
