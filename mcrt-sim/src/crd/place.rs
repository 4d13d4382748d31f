//! Places in an object as sentences name them, written into one buffer on the way down: most of them are never shown.

use std::fmt::Write;

/// Does something below a field, with the field's place.
pub(crate) fn within<T>(at: &mut String, field: &str, walk: impl FnOnce(&mut String) -> T) -> T {
    let length = at.len();
    if length > 0 {
        at.push('.');
    }
    at.push_str(field);
    let done = walk(at);
    at.truncate(length);
    done
}

/// Does something below an item of a list, with the item's place.
pub(crate) fn at<T>(at: &mut String, index: usize, walk: impl FnOnce(&mut String) -> T) -> T {
    let length = at.len();
    // Writing to a text does not fail.
    let _ = write!(at, "[{index}]");
    let done = walk(at);
    at.truncate(length);
    done
}
