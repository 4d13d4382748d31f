//! What combinators share: a change in, some changes out, and functions of others that may panic.
use super::Change;
use crate::panic::panic_text;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::panic::AssertUnwindSafe;

/// Makes a stream of what `step` makes of each change.
pub(super) fn stepwise<I>(
    changes: BoxStream<'static, Change>,
    mut step: impl FnMut(Change) -> I + Send + 'static,
) -> BoxStream<'static, Change>
where
    I: IntoIterator<Item = Change, IntoIter: Send> + 'static,
{
    changes.flat_map(move |change| stream::iter(step(change))).boxed()
}

/// Calls a function of somebody else: if it panics, the cluster it was called for is at fault, and no other.
pub(super) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(AssertUnwindSafe(call))
        .map_err(|panic| format!("the function panicked: {}", panic_text(&*panic)))
}
