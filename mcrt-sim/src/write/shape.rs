//! What could not be decoded into the type it claims to have.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::refusal::status::Status;
use crate::state::target::Target;

/// Refuses what could not be decoded into the type; the sentence names the field and not its value, which may be
/// secret.
pub(crate) fn check_shape(target: &Target, value: &Value) -> Result<(), Status> {
    let kind = &target.kind.kind;
    let wrong = |field: &str, found: &str, wanted: &str| {
        Status::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {kind}: json: cannot unmarshal {found} into Go struct field \
             {field} of type {wanted}",
            target.version.api_version
        ))
    };
    let metadata = &value["metadata"];
    let named = |field: &str| format!("ObjectMeta.metadata.{field}");
    for field in ["name", "generateName", "namespace", "uid", "resourceVersion"] {
        if !(metadata[field].is_null() || metadata[field].is_string()) {
            return Err(wrong(&named(field), type_of(&metadata[field]), "string"));
        }
    }
    for field in ["labels", "annotations"] {
        check_map(&metadata[field]).map_err(|(found, wanted)| wrong(&named(field), found, wanted))?;
    }
    for (field, item, wanted) in [
        ("finalizers", Value::is_string as fn(&Value) -> bool, "string"),
        ("ownerReferences", Value::is_object, "v1.OwnerReference"),
    ] {
        match &metadata[field] {
            Value::Null => {}
            Value::Array(items) => {
                if let Some(other) = items.iter().find(|one| !item(one)) {
                    return Err(wrong(&named(field), type_of(other), wanted));
                }
            }
            other => return Err(wrong(&named(field), type_of(other), "[]string")),
        }
    }
    if has_data(target) {
        for field in ["data", "binaryData", "stringData"] {
            let named = format!("{kind}.{field}");
            check_map(&value[field]).map_err(|(found, wanted)| wrong(&named, found, wanted))?;
        }
        check_base64(target, value)?;
    }
    Ok(())
}

fn check_base64(target: &Target, value: &Value) -> Result<(), Status> {
    let field = if target.kind.plural == "secrets" {
        "data"
    } else {
        "binaryData"
    };
    for (_, encoded) in entries(&value[field]) {
        if STANDARD.decode(encoded).is_err() {
            let kind = &target.kind.kind;
            return Err(Status::bad_request(format!(
                "{kind} in version {:?} cannot be handled as a {kind}: illegal base64 data in {field}",
                target.version.api_version
            )));
        }
    }
    Ok(())
}

fn check_map(map: &Value) -> Result<(), (&'static str, &'static str)> {
    match map {
        Value::Null => Ok(()),
        Value::Object(fields) => {
            let odd = fields
                .values()
                .find(|value| !(value.is_string() || value.is_null()));
            odd.map_or(Ok(()), |odd| Err((type_of(odd), "string")))
        }
        other => Err((type_of(other), "map[string]string")),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

pub(crate) fn has_data(target: &Target) -> bool {
    target.kind.builtin
        && target.kind.group.is_empty()
        && matches!(&*target.kind.plural, "configmaps" | "secrets")
}

pub(crate) fn entries(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    let fields = map.as_object().into_iter().flat_map(Map::iter);
    fields.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}
