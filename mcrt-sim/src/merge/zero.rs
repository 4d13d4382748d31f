//! What the real server writes for fields that were left out: its types are structs, and not all of them are
//! omitted when they are empty.

use serde_json::{Map, Value};

use crate::schema::types::{Cursor, Field, MapShape, Scalar, Type};

/// An empty object as the server sees it before a create.
pub(crate) fn zero(ty: Cursor<'_>) -> Value {
    let mut value = Value::Object(Map::new());
    complete(ty, &mut value);
    value
}

/// Brings a value into the form that decoding and encoding such structs gives it, at every depth.
pub(crate) fn complete(ty: Cursor<'_>, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let Some(map) = ty.as_map().filter(|_| !matches!(ty.ty(), Type::Any)) else {
                return;
            };
            fields.retain(|name, field| {
                let Some((declared, ty)) = map.place(name) else {
                    return false;
                };
                if is_omitted(declared, ty, field) {
                    return false;
                }
                if field.is_null() {
                    *field = empty(ty);
                } else {
                    complete(ty, field);
                }
                true
            });
            add_missing(map, fields);
        }
        Value::Array(items) => {
            if let Some(list) = ty.as_list() {
                for item in items {
                    complete(list.item, item);
                }
            }
        }
        _ => {}
    }
}

/// Nulls are, and so are empty lists and maps of optional fields; an empty struct says something.
fn is_omitted(declared: Option<&Field>, ty: Cursor<'_>, value: &Value) -> bool {
    let empty = match value {
        // The values of a map of texts are texts, if there is a key.
        Value::Null => return declared.is_some() || empty(ty).is_null(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let Some(field) = declared.filter(|field| empty && !field.required) else {
        return false;
    };
    let container = match ty.ty() {
        Type::List(_) => true,
        Type::Map(map) => map.fields.is_empty(),
        _ => false,
    };
    container && field.default.is_none()
}

fn empty(ty: Cursor<'_>) -> Value {
    match ty.ty() {
        Type::Scalar(Scalar::Text) => "".into(),
        _ => Value::Null,
    }
}

fn add_missing(map: MapShape<'_>, fields: &mut Map<String, Value>) {
    let missing = map
        .missing()
        .map(|missing| missing.get_or_init(|| missing_of(map)));
    for (name, value) in missing.into_iter().flatten() {
        if !fields.contains_key(&**name) {
            fields.insert(name.to_string(), value.clone());
        }
    }
}

/// What stands for the fields of a struct that are written also when they were left out.
fn missing_of(map: MapShape<'_>) -> Box<[(Box<str>, Value)]> {
    let missing = map.fields().filter_map(|(name, field, ty)| {
        let value = match &field.default {
            Some(Value::Object(_)) => zero(ty),
            Some(empty @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) if is_zero(empty) => {
                empty.clone()
            }
            None if field.required && matches!(ty.ty(), Type::List(_)) => Value::Null,
            _ => return None,
        };
        Some((name.into(), value))
    });
    missing.collect()
}

/// Whether a default is the empty value of its type; others are filled in where the server does so.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        _ => false,
    }
}
