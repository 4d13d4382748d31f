//! Lists, watches and what they select.

pub(crate) mod list;
pub(crate) mod selector;
pub(crate) mod watch;
