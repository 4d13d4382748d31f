//! Answers, and what behaviours expect of them.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, response::Parts};
use serde_json::Value;

use super::ask::shorten;

/// A whole answer, with the request it answers.
#[derive(Debug)]
pub(crate) struct Answer {
    request: String,
    code: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Answer {
    pub(super) fn new(request: String, head: Parts, body: Bytes) -> Self {
        Self {
            request,
            code: head.status.as_u16(),
            headers: head.headers,
            body,
        }
    }

    /// The HTTP status code.
    pub(crate) fn code(&self) -> u16 {
        self.code
    }

    /// A header, empty if it is not there.
    pub(crate) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }

    /// The body as text.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_else(|error| panic!("{self}\nis no text: {error}"))
    }

    /// The body as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{self}\nis no JSON: {error}"))
    }

    /// The body as JSON, if the answer has this code.
    #[track_caller]
    pub(crate) fn expect(&self, code: u16) -> Value {
        assert!(self.code == code, "expected {code}:\n{self}");
        self.json()
    }

    /// The `Status` of a refusal, if it has this code and this reason.
    #[track_caller]
    pub(crate) fn refused(&self, code: u16, reason: &str) -> Value {
        let status = self.expect(code);
        let says = |field: &str, value: &str| status[field].as_str().unwrap_or_default() == value;
        let is_status = says("kind", "Status") && says("apiVersion", "v1") && says("status", "Failure");
        assert!(is_status, "expected a Status:\n{self}");
        let agrees = status["code"] == code && says("reason", reason);
        assert!(agrees, "expected {code} {reason}:\n{self}");
        status
    }
}

/// As a failure shows it.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n-> {}\n{}", self.request, self.code, shorten(&self.body))
    }
}
