//! What a server holds: kinds, objects, event logs.

pub(crate) mod builtin;
pub(crate) mod kinds;
pub(crate) mod object;
pub(crate) mod store;
