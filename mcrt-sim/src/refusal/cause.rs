//! What is wrong with one field, in the API server's words.

use std::fmt;

use serde_json::{Value, json};

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cause {
    reason: &'static str,
    pub(crate) field: String,
    pub(crate) message: String,
}

impl Cause {
    /// A value as JSON or text shows it, and the rule it breaks.
    pub(crate) fn invalid(field: &str, value: impl fmt::Display, why: &str) -> Self {
        Self::new(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {value}: {why}"),
        )
    }

    /// A text and the rule it breaks.
    pub(crate) fn invalid_text(field: &str, value: &str, why: &str) -> Self {
        Self::invalid(field, format_args!("{value:?}"), why)
    }

    pub(crate) fn required(field: &str, why: &str) -> Self {
        Self::new("FieldValueRequired", field, format!("Required value: {why}"))
    }

    pub(crate) fn forbidden(field: &str, why: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }

    pub(crate) fn unsupported(field: &str, value: &str, supported: &[&str]) -> Self {
        Self::unsupported_list(field, format_args!("{value:?}"), supported)
    }

    pub(crate) fn unsupported_list(field: &str, value: impl fmt::Display, supported: &[&str]) -> Self {
        let supported: Vec<_> = supported.iter().map(|one| format!("{one:?}")).collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            supported.join(", ")
        );
        Self::new("FieldValueNotSupported", field, message)
    }

    pub(crate) fn too_long(field: &str, limit: usize) -> Self {
        let message = format!("Too long: may not be more than {limit} bytes");
        Self::new("FieldValueTooLong", field, message)
    }

    /// Any reason and message.
    pub(crate) fn of(reason: &'static str, field: &str, message: String) -> Self {
        Self::new(reason, field, message)
    }

    /// Puts a field in front of the cause's own.
    pub(crate) fn put_under(&mut self, field: &str) {
        if self.field.is_empty() {
            field.clone_into(&mut self.field);
        } else if self.field != "<nil>" {
            self.field = format!("{field}.{}", self.field);
        }
    }

    /// As a list of causes is sorted by.
    pub(crate) fn text(&self) -> String {
        format!("{}: {}", self.field, self.message)
    }

    fn new(reason: &'static str, field: &str, message: String) -> Self {
        Self {
            reason,
            field: field.to_owned(),
            message,
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }
}
