//! What is said to requests that are refused, and the grammar of names that many of them break.

pub(crate) mod cause;
pub(crate) mod names;
pub(crate) mod status;
