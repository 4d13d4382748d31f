//! A whole object as the server sent it, without its managed fields: a fraction of its size when decoded.
use super::table::KeyRef;
use crate::redaction;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::{borrow::Cow, ops::Range, sync::Arc};

/// The JSON text of an object, and where in it stand the words that a cache asks for often.
///
/// A kind's struct is large, whatever of it is used, and each of its maps and lists is an allocation of its own:
/// config maps of 1 KB take 2.4 KB decoded and 1.4 KB packed.
#[derive(Clone)]
pub(super) struct Packed {
    /// The object, then those of the words that are escaped in it.
    text: Arc<str>,
    object_ends: u32,
    name: Span,
    namespace: Option<Span>,
    uid: Option<Span>,
    version: Option<Span>,
}

/// A part of the text, in bytes.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    len: u32,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Option<Word<'a>>,
    #[serde(borrow)]
    namespace: Option<Word<'a>>,
    #[serde(borrow)]
    uid: Option<Word<'a>>,
    #[serde(borrow)]
    resource_version: Option<Word<'a>>,
    #[serde(borrow)]
    managed_fields: Option<&'a RawValue>,
}

/// A string, borrowed from the text where it has no escapes.
#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

impl Packed {
    /// Takes an object out of a larger text.
    ///
    /// # Errors
    /// The text is no JSON object with metadata, or is larger than 4 GiB; none of it is in the error.
    pub(super) fn of(object: &RawValue) -> Result<Self, String> {
        let text = object.get();
        let metadata = match parse::<Envelope<'_>>(text)?.metadata {
            Some(metadata) => parse::<Metadata<'_>>(metadata.get())?,
            None => Metadata::default(),
        };
        let mut draft = Draft::new(text, metadata.managed_fields);
        let packed = Self {
            name: draft
                .span(metadata.name.as_ref())
                .unwrap_or(Span { start: 0, len: 0 }),
            namespace: draft.span(metadata.namespace.as_ref()),
            uid: draft.span(metadata.uid.as_ref()),
            version: draft.span(metadata.resource_version.as_ref()),
            object_ends: u32::try_from(draft.object_ends).map_err(|_| "an object is larger than 4 GiB")?,
            text: draft.text.into(),
        };
        Ok(packed)
    }

    /// # Errors
    /// The object does not fit its type; none of it is in the error.
    pub(super) fn decode<K: DeserializeOwned>(&self) -> Result<K, String> {
        parse(&self.text[..self.object_ends as usize])
    }

    pub(super) fn key(&self) -> KeyRef<'_> {
        KeyRef {
            namespace: self.namespace.map(|span| self.word(span)),
            name: self.word(self.name),
        }
    }

    pub(super) fn uid(&self) -> Option<&str> {
        self.uid.map(|span| self.word(span))
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.version.map(|span| self.word(span))
    }

    fn word(&self, span: Span) -> &str {
        &self.text[span.start as usize..][..span.len as usize]
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| redaction::undecodable(&error))
}

/// The text to be kept, while it is put together.
struct Draft<'a> {
    source: &'a str,
    /// What of the source is left out.
    cut: Range<usize>,
    text: String,
    object_ends: usize,
}

/// Stands where the managed fields stood.
const NOTHING: &str = "null";

impl<'a> Draft<'a> {
    fn new(source: &'a str, managed_fields: Option<&'a RawValue>) -> Self {
        let cut = managed_fields.and_then(|fields| place(source, fields.get()));
        let text = match &cut {
            Some(cut) => [&source[..cut.start], NOTHING, &source[cut.end..]].concat(),
            None => source.to_owned(),
        };
        Self {
            source,
            cut: cut.unwrap_or(source.len()..source.len()),
            object_ends: text.len(),
            text,
        }
    }

    /// Where a word of the source stands in the text; one with escapes is added behind the object.
    fn span(&mut self, word: Option<&Word<'_>>) -> Option<Span> {
        let Word(word) = word?;
        let found = match word {
            Cow::Borrowed(word) => place(self.source, word).map(|found| found.start),
            Cow::Owned(_) => None,
        };
        let start = match found {
            Some(start) if start >= self.cut.end => start - self.cut.len() + NOTHING.len(),
            Some(start) => start,
            None => {
                self.text.push_str(word);
                self.text.len() - word.len()
            }
        };
        // Beyond 4 GiB the object is refused as a whole.
        Some(Span {
            start: u32::try_from(start).ok()?,
            len: u32::try_from(word.len()).ok()?,
        })
    }
}

/// Where in a text a part of it stands; nothing if it is none.
fn place(text: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let place = start..start + part.len();
    (text.get(place.clone()) == Some(part)).then_some(place)
}
