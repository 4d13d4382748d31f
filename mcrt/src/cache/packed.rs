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

impl Span {
    const EMPTY: Self = Self { start: 0, len: 0 };

    /// Fails where a part lies beyond 4 GiB: a key that is cut off would be another key.
    fn of(part: Range<usize>) -> Result<Self, String> {
        match (u32::try_from(part.start), u32::try_from(part.len())) {
            (Ok(start), Ok(len)) => Ok(Self { start, len }),
            _ => Err("an object is larger than 4 GiB".to_owned()),
        }
    }
}

/// A word that is there twice is refused: the type might take the one and the cache the other.
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

impl<'a> Metadata<'a> {
    fn of(object: &'a RawValue) -> Result<Self, String> {
        match parse::<Envelope<'_>>(object.get())?.metadata {
            Some(metadata) => parse(metadata.get()),
            None => Ok(Self::default()),
        }
    }
}

/// The annotation in which kcp says what logical cluster an object belongs to.
pub(super) const LOGICAL_CLUSTER: &str = "kcp.io/cluster";

/// As much of an object as says whose it is.
#[derive(Deserialize)]
struct Owned<'a> {
    #[serde(borrow)]
    metadata: Option<Annotated<'a>>,
}

#[derive(Deserialize)]
struct Annotated<'a> {
    #[serde(borrow)]
    annotations: Option<Annotations<'a>>,
}

#[derive(Deserialize)]
struct Annotations<'a> {
    // As `LOGICAL_CLUSTER`.
    #[serde(borrow, rename = "kcp.io/cluster")]
    cluster: Option<Word<'a>>,
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
        let metadata = Metadata::of(object)?;
        let mut draft = Draft::new(object.get(), metadata.managed_fields);
        Ok(Self {
            object_ends: draft.object()?.len,
            name: draft.span(metadata.name.as_ref())?.unwrap_or(Span::EMPTY),
            namespace: draft.span(metadata.namespace.as_ref())?,
            uid: draft.span(metadata.uid.as_ref())?,
            version: draft.span(metadata.resource_version.as_ref())?,
            text: Arc::from(&*draft.text),
        })
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

    /// The logical cluster of kcp that it belongs to. Looks for it: few ask, and once for each event.
    pub(super) fn logical_cluster(&self) -> Option<Cow<'_, str>> {
        let owned: Owned<'_> = serde_json::from_str(&self.text[..self.object_ends as usize]).ok()?;
        Some(owned.metadata?.annotations?.cluster?.0)
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.version.map(|span| self.word(span))
    }

    fn word(&self, span: Span) -> &str {
        &self.text[span.start as usize..][..span.len as usize]
    }
}

/// Decodes an object that is not to be packed, without its managed fields.
///
/// # Errors
/// As those of packing and decoding.
pub(super) fn decode<K: DeserializeOwned>(object: &RawValue) -> Result<K, String> {
    let metadata = Metadata::of(object)?;
    parse(&Draft::new(object.get(), metadata.managed_fields).text)
}

fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| redaction::undecodable(&error))
}

/// The text to be kept, while it is put together.
struct Draft<'a> {
    source: &'a str,
    /// What of the source is left out.
    cut: Range<usize>,
    /// The source itself as long as nothing differs.
    text: Cow<'a, str>,
}

/// Stands where the managed fields stood.
const NOTHING: &str = "null";

impl<'a> Draft<'a> {
    fn new(source: &'a str, managed_fields: Option<&'a RawValue>) -> Self {
        let cut = managed_fields.and_then(|fields| place(source, fields.get()));
        let text = match &cut {
            Some(cut) => Cow::Owned([&source[..cut.start], NOTHING, &source[cut.end..]].concat()),
            None => Cow::Borrowed(source),
        };
        Self {
            source,
            cut: cut.unwrap_or(source.len()..source.len()),
            text,
        }
    }

    /// All of the text, before the first word is added.
    fn object(&self) -> Result<Span, String> {
        Span::of(0..self.text.len())
    }

    /// Where a word of the source stands in the text; one with escapes is added behind the object.
    fn span(&mut self, word: Option<&Word<'_>>) -> Result<Option<Span>, String> {
        let Some(Word(word)) = word else {
            return Ok(None);
        };
        let found = match word {
            Cow::Borrowed(word) => place(self.source, word).map(|found| found.start),
            Cow::Owned(_) => None,
        };
        let start = match found {
            Some(start) if start >= self.cut.end => start - self.cut.len() + NOTHING.len(),
            Some(start) => start,
            None => {
                self.text.to_mut().push_str(word);
                self.text.len() - word.len()
            }
        };
        Span::of(start..start + word.len()).map(Some)
    }
}

/// Where in a text a part of it stands; nothing if it is none.
fn place(text: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let place = start..start + part.len();
    (text.get(place.clone()) == Some(part)).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_four_gibibytes_is_refused() {
        let limit = u32::MAX as usize;
        assert!(Span::of(limit..limit).is_ok());
        assert!(Span::of(limit + 1..limit + 1).is_err());
        assert!(Span::of(0..limit + 1).is_err());
    }

    #[test]
    fn a_text_without_managed_fields_and_escapes_is_kept_as_it_is() {
        let text = r#"{"metadata": {"name": "a", "managedFields": null}}"#;
        let packed = Packed::of(serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(&*packed.text, text);
        assert_eq!(packed.key().name, "a");
    }

    #[test]
    fn an_object_without_metadata_or_with_empty_words_has_an_empty_name() {
        for text in [
            "{}",
            r#"{"metadata": null}"#,
            r#"{"metadata": {"name": "", "uid": null}}"#,
        ] {
            let packed = Packed::of(serde_json::from_str(text).unwrap()).unwrap();
            assert_eq!(packed.key().name, "", "{text}");
            assert_eq!((packed.uid(), packed.version()), (None, None), "{text}");
        }
    }

    #[test]
    fn an_object_that_says_twice_who_it_is_is_refused() {
        for text in [
            r#"{"metadata": {"name": "a", "name": "b"}}"#,
            r#"{"metadata": {"name": "a", "n\u0061me": "b"}}"#,
            r#"{"metadata": {"name": "a"}, "metadata": {"name": "b"}}"#,
            r#"{"metadata": {"managedFields": [], "name": "a", "managedFields": []}}"#,
        ] {
            assert!(Packed::of(serde_json::from_str(text).unwrap()).is_err(), "{text}");
        }
    }
}
