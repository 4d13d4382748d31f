//! The items of sets and keyed lists: which are the same, and which are there twice.

use std::collections::HashSet;

use serde_json::Value;

use crate::crd::check::below;
use crate::crd::node::Node;
use crate::refusal::cause::Cause;

/// The item of a keyed list that was there under the same keys.
pub(super) fn same_item<'a>(node: &Node, before: &'a Value, item: &Value) -> Option<&'a Value> {
    if node.keys.is_empty() {
        return None;
    }
    let same = |one: &&Value| node.keys.iter().all(|key| one.get(&**key) == item.get(&**key));
    before.as_array()?.iter().find(same)
}

/// Items that a set or a keyed list has twice.
pub(super) fn duplicates(
    node: &Node,
    value: &Value,
    before: Option<&Value>,
    at: &str,
    causes: &mut Vec<Cause>,
) {
    if before == Some(value) {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(node) = node.field(name) {
                    let before = before.and_then(|before| before.get(name));
                    duplicates(node, field, before, &below(at, name), causes);
                }
            }
        }
        Value::Array(items) => {
            let mut known = HashSet::new();
            for (index, item) in items.iter().enumerate() {
                let here = format!("{at}[{index}]");
                if let Some(id) = identity(node, item)
                    && let Some(id) = known.replace(id)
                {
                    let message = format!("Duplicate value: {id}");
                    causes.push(Cause::of("FieldValueDuplicate", &here, message));
                }
                if let Some(node) = &node.item {
                    duplicates(node, item, None, &here, causes);
                }
            }
        }
        _ => {}
    }
}

/// What tells an item of a set or of a keyed list from others, as JSON; nothing in other lists.
fn identity(node: &Node, item: &Value) -> Option<String> {
    if node.set {
        return Some(item.to_string());
    }
    let keys = node.keys.iter();
    let keys = keys.filter_map(|key| Some((key.to_string(), item.get(&**key)?.clone())));
    (!node.keys.is_empty()).then(|| Value::Object(keys.collect()).to_string())
}
