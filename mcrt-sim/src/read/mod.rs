//! Lists and watches, and the selectors both understand.

pub(crate) mod fields;
pub(crate) mod filter;
pub(crate) mod labels;
pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod page;
pub(crate) mod watch;
