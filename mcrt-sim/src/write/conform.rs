//! Whether an object keeps the schema of its kind, and whether it knows all of its fields.

use std::fmt;

use serde_json::Value;

use crate::api::cause::Cause;
use crate::api::status::Status;
use crate::crd::{check as rules, definition, fill};
use crate::merge::types::{Cursor, Scalar, Type};
use crate::write::operation::{Target, WriteOptions};

/// Refuses values of other types than a built-in kind has, and fields that the schema does not know for clients
/// that ask for it; all others lose them in silence.
pub(crate) fn check_fields(target: &Target, value: &Value, options: &WriteOptions) -> Result<(), Status> {
    if options.apply {
        return Ok(());
    }
    if let Some(why) = misfit_of(target, value) {
        return Err(refuse(target, options, &why));
    }
    if !options.strict {
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
    Err(refuse(target, options, &why))
}

/// What a body is refused with that cannot be decoded.
fn refuse(target: &Target, options: &WriteOptions, why: &str) -> Status {
    if options.patch {
        // A real server quotes the whole object here, which may be a secret.
        return Status::invalid_fields("", "", "", &[Cause::invalid("patch", "{...}", why)]);
    }
    let (kind, version) = (&target.kind.kind, &target.version.name);
    let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
    Status::bad_request(message)
}

fn misfit_of(target: &Target, value: &Value) -> Option<String> {
    let ty = target.kind.builtin.then(|| target.version.schema.cursor())?;
    let at = Place {
        above: None,
        name: &target.kind.kind,
    };
    misfit(ty, value, &at)
}

/// Where a value is; put into words for the few that do not fit.
struct Place<'a> {
    above: Option<&'a Place<'a>>,
    name: &'a str,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.above {
            Some(above) => write!(f, "{above}.{}", self.name),
            None => f.write_str(self.name),
        }
    }
}

/// The first value whose type is not that of its place.
fn misfit(ty: Cursor<'_>, value: &Value, at: &Place<'_>) -> Option<String> {
    let (fits, wanted) = match (ty.ty(), value) {
        (_, Value::Null) | (Type::Any | Type::Opaque, _) => return None,
        (Type::Map(_), Value::Object(fields)) => {
            let map = ty.as_map()?;
            return fields.iter().find_map(|(name, field)| {
                let above = Some(at);
                misfit(map.field(name)?, field, &Place { above, name })
            });
        }
        (Type::List(_), Value::Array(items)) => {
            let list = ty.as_list()?;
            return items.iter().find_map(|item| misfit(list.item, item, at));
        }
        (Type::Scalar(scalar), _) => match scalar {
            Scalar::Text | Scalar::Time | Scalar::Base64 => (value.is_string(), "string"),
            Scalar::Integer => (value.is_i64() || value.is_u64() || is_whole(value), "int"),
            Scalar::Number => (value.is_number(), "float64"),
            Scalar::Bool => (value.is_boolean(), "bool"),
            Scalar::Any => (value.is_string() || value.is_number(), "string"),
        },
        (Type::Map(_), _) => (false, "object"),
        _ => (false, "array"),
    };
    let given = match value {
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        _ => "object",
    };
    (!fits).then(|| format!("json: cannot unmarshal {given} into Go struct field {at} of type {wanted}"))
}

fn is_whole(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
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
