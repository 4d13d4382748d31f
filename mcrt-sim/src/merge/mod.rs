//! Patches and server-side apply: merging by the lists of a schema, and who owns what.

pub(crate) mod combine;
pub(crate) mod compare;
pub(crate) mod fields;
pub(crate) mod managed;
mod stored;
pub(crate) mod strategic;
pub(crate) mod update;
pub(crate) mod zero;
