//! What a request asks for.

pub(crate) mod accept;
pub(crate) mod info;
pub(crate) mod path;
