//! The API's error answer: `Status`, with the reasons and codes that a real server uses.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::refusal::cause::Cause;

/// What a watch is told that starts further back than the event log reaches.
pub(crate) const TOO_OLD: &str = "too old resource version";

/// Why a request was refused, as `meta/v1 Status` says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    code: u16,
    reason: Cow<'static, str>,
    message: String,
    details: Option<Box<Value>>,
    /// Where a list that cannot go on as it began may go on.
    next: Option<Box<str>>,
    retry_after: Option<u64>,
}

impl Status {
    /// A status of any code and reason.
    pub fn new(code: u16, reason: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.into(),
            message: message.into(),
            details: None,
            next: None,
            retry_after: None,
        }
    }

    /// The HTTP status code.
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The machine-readable reason, for example `AlreadyExists`.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Adds details; empty texts are left out, as they are on the wire.
    pub(crate) fn with_details(mut self, mut details: Value) -> Self {
        if let Some(fields) = details.as_object_mut() {
            fields.retain(|_, field| field != "");
        }
        self.details = Some(Box::new(details));
        self
    }

    /// Says when to come again, in seconds: in the details, and in a header of the answer.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        let details = self.details.get_or_insert_with(|| Box::new(json!({})));
        details["retryAfterSeconds"] = seconds.into();
        self.retry_after = Some(seconds);
        self
    }

    /// What the header `Retry-After` is to say.
    pub(crate) fn retry_after_seconds(&self) -> Option<u64> {
        self.retry_after
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message)
    }

    /// The object does not exist.
    pub(crate) fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource(group, plural));
        Self::new(404, "NotFound", message)
            .with_details(json!({"name": name, "group": group, "kind": plural}))
    }

    /// The resource itself is not served under a group that is.
    pub(crate) fn not_served() -> Self {
        Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
        .with_details(json!({}))
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).with_details(json!({}))
    }

    pub(crate) fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource(group, plural));
        Self::new(409, "AlreadyExists", message)
            .with_details(json!({"name": name, "group": group, "kind": plural}))
    }

    pub(crate) fn with_prefix(mut self, prefix: &str) -> Self {
        self.message.insert_str(0, prefix);
        self
    }

    pub(crate) fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            resource(group, plural)
        );
        Self::new(409, "Conflict", message)
            .with_details(json!({"name": name, "group": group, "kind": plural}))
    }

    /// The version asked for is older than the event log reaches.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    pub(crate) fn not_acceptable() -> Self {
        let message = "406: Not Acceptable\n\nAvailable representations: application/json";
        Self::new(406, "NotAcceptable", message).with_details(json!({}))
    }

    /// The answer cannot have the form that was asked for.
    pub(crate) fn no_such_form(message: &str) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// Adds the token by which the rest of a list can be had, at another version.
    pub(crate) fn with_next(mut self, token: &str) -> Self {
        self.next = Some(token.into());
        self
    }

    /// An object or a parameter that breaks rules.
    pub(crate) fn invalid_fields(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let scoped = resource(group, kind);
        let sentences: Vec<_> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let sentences = match sentences.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let causes: Vec<_> = causes.iter().map(Cause::to_value).collect();
        Self::new(
            422,
            "Invalid",
            format!("{scoped} \"{name}\" is invalid: {sentences}"),
        )
        .with_details(json!({"name": name, "group": group, "kind": kind, "causes": causes}))
    }

    pub(crate) fn invalid(group: &str, kind: &str, name: &str, field: &str, why: &str) -> Self {
        let scoped = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        Self::new(
            422,
            "Invalid",
            format!("{scoped} \"{name}\" is invalid: {field}: {why}"),
        )
        .with_details(json!({
            "name": name, "group": group, "kind": kind,
            "causes": [{"reason": cause(why), "message": why, "field": field}],
        }))
    }

    /// A patch that cannot be laid over the object; a real server does not say why either.
    pub(crate) fn unfit_patch() -> Self {
        Self::new(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
        .with_details(json!({}))
    }

    /// The version asked for lies in the future of this server.
    pub(crate) fn version_too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(504, "Timeout", message).with_details(json!({
            "retryAfterSeconds": 1,
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        }))
    }

    /// The object as it goes over the wire.
    pub(crate) fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if let Some(next) = &self.next {
            value["metadata"]["continue"] = (**next).into();
        }
        if !self.reason.is_empty() {
            value["reason"] = self.reason.as_ref().into();
        }
        if let Some(details) = &self.details {
            value["details"] = (**details).clone();
        }
        value
    }

    /// The event by which a stream tells its failure.
    pub(crate) fn to_event(&self) -> Bytes {
        format!("{}\n", json!({"type": "ERROR", "object": self.to_value()})).into()
    }
}

/// The reason that belongs to a code.
pub(crate) fn reason_of(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    }
}

/// The reason of a cause, which its message starts with in words.
fn cause(why: &str) -> &'static str {
    match why.split(':').next() {
        Some("Required value") => "FieldValueRequired",
        Some("Forbidden") => "FieldValueForbidden",
        Some("Unsupported value") => "FieldValueNotSupported",
        _ => "FieldValueInvalid",
    }
}

fn resource(group: &str, plural: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} {})", self.message, self.code, self.reason)
    }
}

impl std::error::Error for Status {}
