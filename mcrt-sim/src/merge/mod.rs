//! Patches and server-side apply: merging by the lists of a schema, and who owns what.

pub(crate) mod apply;
pub(crate) mod fields;
pub(crate) mod managed;
pub(crate) mod patch;
pub(crate) mod schema;
