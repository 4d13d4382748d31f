//! Whether an object keeps the schema of its kind, and whether it knows all of its fields.

use serde_json::Value;

use crate::crd::{check as rules, definition, fill, place};
use crate::refusal::cause::Cause;
use crate::refusal::status::Status;
use crate::schema::types::{Cursor, Scalar, Type};
use crate::state::target::Target;
use crate::write::operation::{Unknown, WriteOptions};

/// Refuses values of other types than a built-in kind has. Fields that the schema does not know are refused or told
/// to clients that ask for it; all others lose them in silence.
pub(crate) fn check_fields(target: &Target, value: &Value, options: &WriteOptions) -> Result<(), Status> {
    if options.apply {
        return Ok(());
    }
    if let Some(why) = misfit_of(target, value) {
        return Err(refuse(target, options, &why));
    }
    if options.unknown == Unknown::Ignore {
        return Ok(());
    }
    let fields = unknown(target, value).into_iter();
    let fields: Vec<_> = fields.map(|field| format!("unknown field {field:?}")).collect();
    if options.unknown == Unknown::Warn {
        for field in fields {
            options.warnings.add(field);
        }
        return Ok(());
    }
    if fields.is_empty() {
        return Ok(());
    }
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
    misfit(ty, value, &mut target.kind.kind.clone())
}

/// The first value whose type is not that of its place.
fn misfit(ty: Cursor<'_>, value: &Value, at: &mut String) -> Option<String> {
    let (fits, wanted) = match (ty.ty(), value) {
        (_, Value::Null) | (Type::Any | Type::Opaque, _) => return None,
        (Type::Map(_), Value::Object(fields)) => {
            let map = ty.as_map()?;
            return fields.iter().find_map(|(name, field)| {
                let ty = map.field(name)?;
                place::within(at, name, |at| misfit(ty, field, at))
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
            let mut at = String::new();
            collect(target.version.schema.cursor(), value, &mut at, &mut found);
            found
        }
        None => Vec::new(),
    };
    found.sort();
    found
}

fn collect(ty: Cursor<'_>, value: &Value, at: &mut String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let Some(map) = ty.as_map().filter(|_| !matches!(ty.ty(), Type::Any)) else {
                return;
            };
            for (name, field) in fields {
                place::within(at, name, |at| match map.field(name) {
                    Some(ty) => collect(ty, field, at, found),
                    None => found.push(at.clone()),
                });
            }
        }
        Value::Array(items) => {
            if let Some(list) = ty.as_list() {
                for (index, item) in items.iter().enumerate() {
                    place::at(at, index, |at| collect(list.item, item, at, found));
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
    target.accept(value, &causes)
}
