//! What a server holds: kinds, objects, event logs, and what is left to do.

pub(crate) mod builtin;
pub(crate) mod kinds;
pub(crate) mod log;
pub(crate) mod object;
pub(crate) mod store;
pub(crate) mod work;
