//! Who asks, and what they may do.

pub(crate) mod tokens;
pub(crate) mod user;
