//! What a server holds: kinds, objects, event logs, and what is left to do.

pub(crate) mod depth;
pub(crate) mod kind;
pub(crate) mod log;
pub(crate) mod object;
pub(crate) mod registry;
pub(crate) mod shared;
pub(crate) mod store;
pub(crate) mod target;
pub(crate) mod view;
pub(crate) mod work;
