//! Creating, replacing and deleting, and what follows from it.

pub(crate) mod admit;
pub(crate) mod conform;
pub(crate) mod defaults;
pub(crate) mod delete;
pub(crate) mod gc;
pub(crate) mod lifecycle;
pub(crate) mod namespace;
pub(crate) mod operation;
pub(crate) mod prepare;
pub(crate) mod scale;
pub(crate) mod secret;
pub(crate) mod shape;
pub(crate) mod tend;
pub(crate) mod validate;
