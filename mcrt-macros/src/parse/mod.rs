//! What may stand in an attribute, as written. Each leaf checks itself while it is read.

mod arguments;
mod backoff;
mod count;
pub(crate) mod duration;
mod kind;
mod name;
mod path;
pub(crate) mod pick;
mod place;
pub(crate) mod selector;
mod value;
mod verbs;

pub(crate) use arguments::{Argument, Arguments, Vocabulary};
pub(crate) use backoff::Backoff;
pub(crate) use count::{Count, count};
pub(crate) use duration::duration;
pub(crate) use kind::{KindDecl, Watch, kind_only, reconciled_kind, used_kind, watched_kind};
pub(crate) use name::{controller_name, field_manager, is_controller_name};
pub(crate) use path::{Predicate, crate_path};
pub(crate) use pick::Pick;
pub(crate) use place::Place;
pub(crate) use value::expression;
