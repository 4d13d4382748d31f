//! Whether an object keeps the schema of its kind, and whether it knows all of its fields.

use serde_json::Value;

use crate::api::cause::Cause;
use crate::api::status::Status;
use crate::crd::{check as rules, definition, fill};
use crate::merge::types::{Cursor, Type};
use crate::write::operation::{Target, WriteOptions};

/// Refuses fields that the schema does not know, for clients that ask for it; all others lose them in silence.
pub(crate) fn check_fields(target: &Target, value: &Value, options: &WriteOptions) -> Result<(), Status> {
    if !options.strict || options.apply {
        return Ok(());
    }
    let unknown = unknown(target, value);
    if unknown.is_empty() {
        return Ok(());
    }
    let fields: Vec<_> = unknown
        .iter()
        .map(|field| format!("unknown field {field:?}"))
        .collect();
    let why = format!("strict decoding error: {}", fields.join(", "));
    if options.patch {
        // A real server quotes the whole object here, which may be a secret.
        let cause = Cause::invalid("patch", "{...}", &why);
        return Err(Status::invalid_fields("", "", "", &[cause]));
    }
    let (kind, version) = (&target.kind.kind, &target.version.name);
    let version = if target.kind.builtin {
        &target.version.api_version
    } else {
        version
    };
    let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
    Err(Status::bad_request(message))
}

fn unknown(target: &Target, value: &Value) -> Vec<String> {
    let mut found = match target.version.schema.node() {
        Some(node) => fill::unknown(node, value),
        None if target.kind.builtin => {
            let mut found = Vec::new();
            collect(target.version.schema.cursor(), value, "", &mut found);
            found
        }
        None => Vec::new(),
    };
    found.sort();
    found
}

fn collect(ty: Cursor<'_>, value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let Some(map) = ty.as_map().filter(|_| !matches!(ty.ty(), Type::Any)) else {
                return;
            };
            for (name, field) in fields {
                let here = if at.is_empty() {
                    name.clone()
                } else {
                    format!("{at}.{name}")
                };
                match map.field(name) {
                    Some(ty) => collect(ty, field, &here, found),
                    None => found.push(here),
                }
            }
        }
        Value::Array(items) => {
            if let Some(list) = ty.as_list() {
                for (index, item) in items.iter().enumerate() {
                    collect(list.item, item, &format!("{at}[{index}]"), found);
                }
            }
        }
        _ => {}
    }
}

/// Refuses an object that breaks the rules of its schema, and a definition that is none.
pub(crate) fn check(
    target: &Target,
    before: Option<&Value>,
    value: &Value,
    status: bool,
) -> Result<(), Status> {
    let causes = match target.version.schema.node() {
        Some(node) if status => rules::check_status(node, value, before),
        Some(node) => rules::check(node, value, before),
        None if target.kind.is_crd() && !status => definition::check(value, before),
        None => Vec::new(),
    };
    if causes.is_empty() {
        return Ok(());
    }
    let name = value["metadata"]["name"].as_str().unwrap_or_default();
    Err(Status::invalid_fields(
        &target.kind.group,
        &target.kind.kind,
        name,
        &causes,
    ))
}
