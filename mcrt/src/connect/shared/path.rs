//! The path of a request as a server would read it, or why no two readers might agree on it.
use std::borrow::Cow;

/// The decoded segments of a path. One slash may end it.
///
/// What a server, or a proxy before it, may read in another way is refused: dots that lead elsewhere, empty segments,
/// and slashes, percent signs and control characters that are encoded.
pub(super) fn segments(path: &str) -> Result<Vec<Cow<'_, str>>, &'static str> {
    let path = path.strip_prefix('/').ok_or("a path begins with a slash")?;
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(Vec::new());
    }
    path.split('/').map(segment).collect()
}

fn segment(encoded: &str) -> Result<Cow<'_, str>, &'static str> {
    let segment = decode(encoded).ok_or("the path is not encoded as it should be")?;
    let odd = |c: char| matches!(c, '/' | '\\' | '%') || c.is_control();
    match &*segment {
        "" => Err("an empty segment in the path"),
        "." | ".." => Err("dots in the path"),
        text if text.contains(odd) => Err("an encoded slash, percent sign or control character in the path"),
        _ => Ok(segment),
    }
}

fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => digit(rest.next()?)? * 16 + digit(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}
