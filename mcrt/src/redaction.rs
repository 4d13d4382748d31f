//! Errors in words, without what they quote: values of objects, bodies of strangers, output of credential plugins.
use kube::{client::AuthError, core::Status};
use serde_json::error::Category;
use std::{error::Error, io, sync::Arc};

/// What is said of credentials that could not be had: the output of a plugin would be quoted.
pub(crate) const NO_CREDENTIALS: &str = "no credentials could be obtained";

/// The texts of an error and of its causes, outermost first.
///
/// An outer error mostly repeats the text of the inner one, so what an inner one must not say is replaced in all.
pub(crate) fn texts(error: &(dyn Error + 'static)) -> Vec<String> {
    let redactions: Vec<_> = causes(error).filter_map(redaction).collect();
    let redacted = |text: String, redaction: &Redaction| {
        let quotes = redaction.quotes.iter().filter(|quote| !quote.is_empty());
        quotes.fold(text, |text, quote| text.replace(quote, &redaction.told))
    };
    causes(error)
        .map(|cause| redactions.iter().fold(cause.to_string(), redacted))
        .collect()
}

/// Where and how a value does not decode: serde's own message quotes the value.
pub(crate) fn undecodable(error: &serde_json::Error) -> String {
    let what = match error.classify() {
        Category::Data => "does not fit its type",
        Category::Syntax => "is not JSON",
        Category::Eof => "ends too early",
        Category::Io => "cannot be read",
    };
    match (error.line(), error.column()) {
        (0, _) => format!("a value {what} (it is not shown)"),
        (line, column) => format!("a value {what}, at line {line} column {column} (it is not shown)"),
    }
}

/// Whether the body was none of an API server's: it comes from something in between.
pub(crate) fn is_foreign(status: &Status) -> bool {
    status.reason == "Failed to parse error data"
}

/// What is said of such a body: its code alone.
pub(crate) fn answered(code: u16) -> String {
    format!("the server answered {code}")
}

/// What an error must not say, as others may repeat it, and what is said instead.
struct Redaction {
    quotes: Vec<String>,
    told: String,
}

impl Redaction {
    fn of(error: &impl Error, told: String) -> Self {
        Self {
            quotes: vec![error.to_string(), format!("{error:?}")],
            told,
        }
    }
}

fn redaction(error: &(dyn Error + 'static)) -> Option<Redaction> {
    if let Some(error) = held::<serde_json::Error>(error).filter(|error| !error.is_io()) {
        return Some(Redaction::of(error, undecodable(error)));
    }
    if let Some(error) = held::<AuthError>(error) {
        return Some(Redaction::of(error, NO_CREDENTIALS.to_owned()));
    }
    match held::<kube::Error>(error)? {
        error @ kube::Error::Api(status) if is_foreign(status) => {
            let mut redaction = Redaction::of(error, answered(status.code));
            redaction
                .quotes
                .extend(Redaction::of(&**status, String::new()).quotes);
            Some(redaction)
        }
        _ => None,
    }
}

type Link<'a> = &'a (dyn Error + 'static);

/// The error and its causes. An `io::Error` leaves out the error that it was made of, and prints it.
fn causes<'a>(error: Link<'a>) -> impl Iterator<Item = Link<'a>> {
    std::iter::successors(Some(error), |error: &Link<'a>| {
        let error: Link<'a> = *error;
        let made_of = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        match made_of {
            Some(inner) => Some(inner as Link<'a>),
            None => error.source(),
        }
    })
}

/// The error as an `E`, boxed or shared perhaps: those count as errors of their own.
fn held<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let plain = error.downcast_ref::<E>();
    let boxed = || error.downcast_ref::<Box<E>>().map(|error| &**error);
    let shared = || error.downcast_ref::<Arc<E>>().map(|error| &**error);
    plain.or_else(boxed).or_else(shared)
}
