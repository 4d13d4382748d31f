//! Types of objects, as far as merging and checking have to know them, and those of the built-in kinds.

pub(crate) mod builtin;
pub(crate) mod elem;
pub(crate) mod types;
