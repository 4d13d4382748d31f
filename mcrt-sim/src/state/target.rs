//! What an operation is about: a resource in one of its versions.

use std::sync::Arc;

use serde_json::Value;

use crate::refusal::cause::Cause;
use crate::refusal::status::Status;
use crate::state::depth::{DEEPEST, is_deeper_than};
use crate::state::kind::{Kind, Version};
use crate::state::object::Object;

/// The resource a request is about, in one of its versions.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) kind: Arc<Kind>,
    pub(crate) version: Arc<Version>,
}

impl Target {
    pub(crate) fn not_found(&self, name: &str) -> Status {
        Status::not_found(&self.kind.group, &self.kind.plural, name)
    }

    pub(crate) fn invalid(&self, name: &str, field: &str, why: &str) -> Status {
        Status::invalid(&self.kind.group, &self.kind.kind, name, field, why)
    }

    /// Accepts an object, or says all that is wrong with it.
    pub(crate) fn accept(&self, value: &Value, causes: &[Cause]) -> Result<(), Status> {
        if causes.is_empty() {
            return Ok(());
        }
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        let Kind { group, kind, .. } = &*self.kind;
        Err(Status::invalid_fields(group, kind, name, causes))
    }

    pub(crate) fn conflict(&self, name: &str, why: &str) -> Status {
        Status::conflict(&self.kind.group, &self.kind.plural, name, why)
    }

    pub(crate) fn forbidden(&self, name: &str, why: &str) -> Status {
        Status::forbidden(format!("{} \"{name}\" is forbidden: {why}", self.kind.id))
    }

    /// Refuses what could be stored but not be read again; a real server takes some more levels.
    pub(crate) fn check_depth(&self, value: &Value) -> Result<(), Status> {
        if !is_deeper_than(value, DEEPEST) {
            return Ok(());
        }
        let kind = &self.kind.kind;
        Err(Status::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {kind}: it is nested in more than {DEEPEST} levels, its \
             managed fields included",
            self.version.name
        )))
    }

    pub(crate) fn thaw(&self, object: &Object) -> Value {
        object.thaw(&self.kind.kind, &self.version)
    }
}
