//! What a schema does with an object before it is looked at: it drops unknown fields and fills in defaults.

use serde_json::Value;

use crate::crd::node::Node;
use crate::crd::place;

/// What every object has, whatever its schema says.
const ENVELOPE: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops what the schema does not know, nulls where there may be none, and fills in defaults.
pub(crate) fn fill(node: &Node, value: &mut Value) {
    prune(Some(node), value, true, &mut Vec::new(), &mut String::new());
    drop_nulls(node, value);
    default(node, value);
}

/// The paths of the fields that the schema does not know.
pub(crate) fn unknown(node: &Node, value: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    prune(
        Some(node),
        &mut value.clone(),
        true,
        &mut unknown,
        &mut String::new(),
    );
    unknown
}

fn prune(node: Option<&Node>, value: &mut Value, embedded: bool, unknown: &mut Vec<String>, at: &mut String) {
    let embedded = embedded || node.is_some_and(|node| node.embedded);
    let preserve = node.is_some_and(|node| node.preserve);
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            if embedded && ENVELOPE.contains(&name.as_str()) {
                return true;
            }
            let known = node.and_then(|node| node.field(name));
            let open = node.is_some_and(|node| node.open && !node.fields.contains_key(name.as_str()));
            if known.is_some() {
                place::within(at, name, |at| prune(known, field, false, unknown, at));
            } else if !preserve && !open {
                place::within(at, name, |at| unknown.push(at.clone()));
                return false;
            }
            true
        }),
        Value::Array(items) => {
            let item = node.and_then(|node| node.item.as_deref());
            for (index, value) in items.iter_mut().enumerate() {
                if item.is_some() || !preserve {
                    place::at(at, index, |at| prune(item, value, false, unknown, at));
                }
            }
        }
        _ => {}
    }
}

fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| {
                let node = node.field(name);
                !field.is_null() || node.is_none_or(|node| node.nullable || node.default.is_some())
            });
            for (name, field) in fields.iter_mut() {
                if let Some(node) = node.field(name) {
                    drop_nulls(node, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = &node.item {
                for item in items {
                    drop_nulls(node, item);
                }
            }
        }
        _ => {}
    }
}

/// Fills in the defaults of a value, at every depth.
pub(crate) fn default(node: &Node, value: &mut Value) {
    let given = |node: &Node, value: &mut Value| {
        if let (true, false, Some(default)) = (value.is_null(), node.nullable, &node.default) {
            *value = default.clone();
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, node) in &node.fields {
                if let Some(default) = &node.default {
                    fields.entry(&**name).or_insert_with(|| default.clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                if let Some(node) = node.field(name) {
                    given(node, field);
                    default(node, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = &node.item {
                for item in items {
                    given(node, item);
                    default(node, item);
                }
            }
        }
        _ => {}
    }
}
