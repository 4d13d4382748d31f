//! Who asks, and what they may do.

pub(crate) mod roles;
pub(crate) mod rule;
pub(crate) mod tokens;
pub(crate) mod user;
