//! Paths: the parts of those that are about a resource.

use std::borrow::Cow;

/// What a path names.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Parts {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// Whether the path itself asks for a watch, in the old way.
    pub(crate) watch: bool,
    /// Whether nothing follows these parts.
    pub(crate) whole: bool,
}

/// Splits a path; nothing if it is about no resource.
pub(crate) fn read(path: &str) -> Option<Parts> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let segments: Vec<_> = segments.map(decode).collect();
    let mut segments: Vec<_> = segments.iter().map(|segment| &**segment).collect();
    let mut parts = Parts::default();
    match *segments.as_slice() {
        ["api", version, _, ..] => {
            version.clone_into(&mut parts.version);
            segments.drain(..2);
        }
        ["apis", group, version, _, ..] => {
            group.clone_into(&mut parts.group);
            version.clone_into(&mut parts.version);
            segments.drain(..3);
        }
        _ => return None,
    }
    parts.watch = segments[0] == "watch" && segments.len() > 1;
    if parts.watch {
        segments.remove(0);
    }
    if let ["namespaces", namespace, plural, ..] = *segments.as_slice()
        && !(parts.group.is_empty() && matches!(plural, "status" | "finalize"))
    {
        parts.namespace = Some(namespace.to_owned());
        segments.drain(..2);
    }
    let mut rest = segments.into_iter().map(str::to_owned);
    parts.plural = rest.next().unwrap_or_default();
    parts.name = rest.next();
    parts.subresource = rest.next();
    parts.whole = rest.next().is_none();
    Some(parts)
}

/// Undoes percent-encoding in a path segment; `+` stands for itself there.
pub(crate) fn decode(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    let escaped = segment
        .replace('+', "%2B")
        .replace('&', "%26")
        .replace('=', "%3D");
    let decoded = form_urlencoded::parse(escaped.as_bytes())
        .next()
        .map(|(name, _)| name.into_owned());
    Cow::Owned(decoded.unwrap_or_default())
}
