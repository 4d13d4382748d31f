//! Creating, replacing and deleting, and what follows from it.

pub(crate) mod admit;
pub(crate) mod apply;
pub(crate) mod conflicts;
pub(crate) mod conform;
pub(crate) mod crd_status;
pub(crate) mod defaults;
pub(crate) mod delete;
pub(crate) mod gc;
pub(crate) mod lifecycle;
pub(crate) mod namespace;
pub(crate) mod operation;
pub(crate) mod patch;
pub(crate) mod prepare;
pub(crate) mod scale;
pub(crate) mod secret;
pub(crate) mod shape;
pub(crate) mod validate;
pub(crate) mod warnings;
