//! Names of clusters, and patterns of them.
use super::InvalidSelector;
use std::fmt;

/// Longest name of a cluster, in bytes, as of [`ClusterName`](super::ClusterName).
const MAX_LEN: usize = 253;

/// A name in which `*` stands for any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(String);

impl Pattern {
    fn new(text: &str) -> Result<Self, InvalidSelector> {
        let wrong = |why| InvalidSelector::Name {
            pattern: text.escape_debug().to_string(),
            why,
        };
        match text {
            "" => Err(wrong("it is empty")),
            _ if text.len() > MAX_LEN => Err(wrong("it is longer than 253 bytes")),
            _ if text.chars().any(char::is_control) => Err(wrong("it has a control character")),
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// Takes time in proportion to the two lengths, whatever they are.
    pub(super) fn matches(&self, name: &str) -> bool {
        let mut pieces = self.0.split('*');
        let first = pieces.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let Some(last) = pieces.next_back() else {
            return rest.is_empty();
        };
        // The leftmost place of each piece leaves the most for those behind it.
        for piece in pieces {
            let Some(at) = rest.find(piece) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a list that must not be empty, and shares nothing with itself or `known`.
pub(super) fn read<S: AsRef<str>>(
    names: impl IntoIterator<Item = S>,
    known: &[Pattern],
) -> Result<Vec<Pattern>, InvalidSelector> {
    let mut read: Vec<Pattern> = Vec::new();
    for name in names {
        let pattern = Pattern::new(name.as_ref())?;
        if read.contains(&pattern) || known.contains(&pattern) {
            return Err(InvalidSelector::Twice(pattern.0));
        }
        read.push(pattern);
    }
    if read.is_empty() {
        return Err(InvalidSelector::NoNames);
    }
    Ok(read)
}
