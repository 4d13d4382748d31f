//! Patches that are not applies: JSON patch, merge patch, strategic merge patch.

use std::sync::Arc;

use json_patch::{Patch, PatchOperation, TestOperation};
use serde_json::{Value, json};

use crate::api::status::Status;
use crate::merge::fields::Elem;
use crate::merge::schema::{ListType, list_type};
use crate::state::object::{Object, ObjectKey};
use crate::state::store::Store;
use crate::write::admit::{admit, check_uid};
use crate::write::operation::{Target, WriteOptions};

/// The content type of a patch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchType {
    pub(crate) fn parse(content_type: &str) -> Result<Self, Status> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch+json" => Ok(Self::Apply),
            _ => Err(Status::unsupported_media_type("415: Unsupported Media Type").with_details(json!({}))),
        }
    }
}

impl Store {
    pub(crate) fn patch(
        &mut self,
        target: &Target,
        key: &ObjectKey,
        kind: PatchType,
        patch: &Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        let old = self
            .find(&target.kind, key)
            .ok_or_else(|| target.not_found(&key.name))?;
        let mut value = target.thaw(&old);
        match kind {
            PatchType::Json => json(&mut value, patch)?,
            PatchType::Merge => json_patch::merge(&mut value, patch),
            PatchType::Strategic if target.kind.builtin => {
                strategic(&mut value, patch, &mut Vec::new());
            }
            PatchType::Strategic | PatchType::Apply => {
                return Err(Status::unsupported_media_type(format!(
                    "the body of the request was in an unknown format: strategic merge patch is not \
                     supported for {}",
                    target.kind.id
                )));
            }
        }
        admit(
            target,
            Some(&*key.namespace).filter(|namespace| !namespace.is_empty()),
            Some(&key.name),
            &mut value,
        )?;
        check_uid(target, &old, &value)?;
        self.replace(target, &old, value, options)
    }
}

fn json(value: &mut Value, patch: &Value) -> Result<(), Status> {
    let patch: Patch = serde_json::from_value(patch.clone())
        .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    for operation in patch.0 {
        if let PatchOperation::Test(TestOperation {
            path,
            value: Value::Null,
        }) = &operation
            && value.pointer(path.as_str()).is_none()
        {
            // The API server holds a missing field to be null; the library holds it to be an error.
            continue;
        }
        json_patch::patch(value, &[operation]).map_err(|_| Status::unfit_patch())?;
    }
    Ok(())
}

/// Lays a strategic merge patch over a value: maps merge, known lists merge by key, null removes.
fn strategic(value: &mut Value, patch: &Value, at: &mut Vec<Elem>) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if changes
        .get("$patch")
        .is_some_and(|directive| directive == "replace")
        || !value.is_object()
    {
        *value = Value::Object(serde_json::Map::new());
    }
    let Value::Object(fields) = value else { return };
    for (name, change) in changes {
        if name == "$patch" || name.starts_with("$setElementOrder/") || name == "$retainKeys" {
            continue;
        }
        if let Some(list) = name.strip_prefix("$deleteFromPrimitiveList/") {
            if let Some(Value::Array(items)) = fields.get_mut(list) {
                items.retain(|item| change.as_array().is_none_or(|gone| !gone.contains(item)));
            }
            continue;
        }
        if change.is_null() || change["$patch"] == "delete" {
            fields.remove(name);
            continue;
        }
        at.push(Elem::Field(name.clone()));
        let field = fields.entry(name.as_str()).or_insert(Value::Null);
        match change {
            Value::Array(items) => strategic_list(field, items, at),
            _ => strategic(field, change, at),
        }
        at.pop();
    }
}

fn strategic_list(field: &mut Value, patch: &[Value], at: &mut Vec<Elem>) {
    let replaces = patch.iter().any(|change| change["$patch"] == "replace");
    if replaces || !field.is_array() {
        *field = Value::Array(Vec::new());
    }
    let Value::Array(items) = field else { return };
    let changes = patch.iter().filter(|change| change["$patch"] != "replace");
    match list_type(true, at) {
        ListType::Atomic => *items = changes.cloned().collect(),
        ListType::Set => {
            let mut merged: Vec<_> = changes.cloned().collect();
            merged.extend(items.drain(..).filter(|item| !patch.contains(item)));
            *items = merged;
        }
        ListType::Map(keys) => {
            let key = keys[0];
            for change in changes {
                let known = items.iter().position(|item| item[key] == change[key]);
                match known {
                    _ if change["$patch"] == "delete" => items.retain(|item| item[key] != change[key]),
                    Some(known) => strategic(&mut items[known], change, at),
                    None => {
                        let mut item = Value::Null;
                        strategic(&mut item, change, at);
                        items.push(item);
                    }
                }
            }
        }
    }
}
