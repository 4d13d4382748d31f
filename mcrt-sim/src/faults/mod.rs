//! Fault plans: which requests, and what happens to them.

pub(crate) mod effects;
pub(crate) mod fault;
pub(crate) mod gate;
pub(crate) mod plan;
pub(crate) mod requests;
pub(crate) mod stream;
