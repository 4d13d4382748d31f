//! Laying a configuration over a live object, taking fields out of one, and checking that it fits its schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::merge::fields::FieldSet;
use crate::schema::elem::Elem;
use crate::schema::types::{Cursor, ListShape, MapShape, Relation, Scalar, Shape, Type};

/// Both sides as one; what only one side has is kept, where they differ the configuration wins.
pub(crate) fn merge(ty: Cursor<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let (Some(live), Some(config)) = (live, config) else {
        return live.or(config).cloned();
    };
    let merged = match (ty.shape(live), ty.shape(config)) {
        (Shape::Map(map), Shape::Map(_)) if has_parts(live) || has_parts(config) => {
            merge_maps(map, live, config)
        }
        (Shape::List(list), Shape::List(_)) if has_parts(live) || has_parts(config) => {
            Value::Array(merge_lists(list, items(live), items(config)))
        }
        _ => config.clone(),
    };
    Some(merged)
}

fn has_parts(value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn merge_maps(map: MapShape<'_>, live: &Value, config: &Value) -> Value {
    let mut merged = live.as_object().cloned().unwrap_or_default();
    for (name, theirs) in config.as_object().into_iter().flatten() {
        let value = match map.field(name) {
            Some(ty) => merge(ty, merged.get(name), Some(theirs)),
            None => Some(theirs.clone()),
        };
        merged.insert(name.clone(), value.unwrap_or_default());
    }
    Value::Object(merged)
}

/// Items in the order of the configuration; those it does not name stay behind those they followed.
fn merge_lists(list: ListShape<'_>, live: &[Value], config: &[Value]) -> Vec<Value> {
    let elems =
        |side: &[Value]| -> Vec<Option<Elem>> { side.iter().map(|item| list.elem(item).ok()).collect() };
    let (left, right) = (elems(live), elems(config));
    let wanted: BTreeSet<_> = right.iter().collect();
    let mut known = BTreeMap::new();
    for (index, elem) in left.iter().enumerate() {
        known.entry(elem).or_insert(index);
    }
    let mut shared = right.iter().filter(|elem| known.contains_key(elem)).peekable();
    let mut done = BTreeSet::new();
    let mut merged = Vec::with_capacity(live.len().max(config.len()));
    let take = |index: usize| {
        let known = known.get(&right[index]).map(|known| &live[*known]);
        merge(list.item, known, Some(&config[index]))
    };
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if l < left.len() && r < right.len() {
            if left[l] == right[r] {
                done.insert(&left[l]);
                merged.extend(take(r));
                (l, r) = (l + 1, r + 1);
                shared.next();
                continue;
            }
            if wanted.contains(&left[l]) && shared.peek().is_some_and(|next| **next != left[l]) {
                // In both, but its turn is another one.
                l += 1;
                continue;
            }
        }
        if l < left.len() {
            if !wanted.contains(&left[l]) {
                merged.push(live[l].clone());
                l += 1;
                continue;
            }
            if done.contains(&left[l]) {
                l += 1;
            }
        }
        if r < right.len() {
            done.insert(&right[r]);
            merged.extend(take(r));
            if shared.peek() == Some(&&right[r]) {
                shared.next();
            }
            r += 1;
        }
    }
    merged
}

/// A value without the fields of a set; a container that this empties is gone as well.
pub(crate) fn remove(ty: Cursor<'_>, value: &Value, gone: &FieldSet) -> Option<Value> {
    match ty.shape(value) {
        Shape::Map(map) => {
            let mut kept = Map::new();
            for (name, field) in value.as_object()? {
                let elem = Elem::field(name);
                if gone.has(&elem) {
                    continue;
                }
                let field = match (gone.below(&elem), map.field(name)) {
                    (Some(gone), Some(ty)) => remove(ty, field, gone).unwrap_or_default(),
                    _ => field.clone(),
                };
                kept.insert(name.clone(), field);
            }
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Shape::List(list) => {
            let mut kept = Vec::new();
            for item in value.as_array()? {
                let elem = list.elem(item).ok();
                if elem.as_ref().is_some_and(|elem| gone.has(elem)) {
                    continue;
                }
                kept.push(match elem.and_then(|elem| gone.below(&elem)) {
                    Some(gone) => remove(list.item, item, gone).unwrap_or_default(),
                    None => item.clone(),
                });
            }
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Shape::Leaf if value.is_object() || value.is_array() => None,
        Shape::Leaf => Some(value.clone()),
    }
}

/// Why a configuration does not fit its schema, with the path to the place.
pub(crate) fn check(ty: Cursor<'_>, value: &Value) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    match ty.ty() {
        Type::Scalar(scalar) => check_scalar(*scalar, value),
        Type::Map(_) => {
            let fields = value
                .as_object()
                .ok_or_else(|| format!(": expected map, got {}", shown(value)))?;
            let map = ty.as_map();
            for (name, field) in fields {
                let ty = map.and_then(|map| map.field(name));
                let ty = ty.ok_or_else(|| format!(".{name}: field not declared in schema"))?;
                check(ty, field).map_err(|why| format!(".{name}{why}"))?;
            }
            Ok(())
        }
        Type::List(_) => {
            let items = value
                .as_array()
                .ok_or_else(|| format!(": expected list, got {}", shown(value)))?;
            ty.as_list().map_or(Ok(()), |list| check_items(list, items))
        }
        _ => Ok(()),
    }
}

fn check_items(list: ListShape<'_>, items: &[Value]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let step = if *list.relation() == Relation::Atomic {
            format!("[{index}]")
        } else {
            let elem = list
                .elem(item)
                .map_err(|why| format!(": element {index}: {why}"))?;
            let step = elem.display();
            if !seen.insert(elem) {
                return Err(format!(": duplicate entries for key {step}"));
            }
            step
        };
        check(list.item, item).map_err(|why| format!("{step}{why}"))?;
    }
    Ok(())
}

fn check_scalar(scalar: Scalar, value: &Value) -> Result<(), String> {
    let (fits, expected) = match scalar {
        Scalar::Text | Scalar::Time | Scalar::Base64 => (value.is_string(), "string"),
        Scalar::Integer | Scalar::Number => (value.is_number(), "numeric (int or float)"),
        Scalar::Bool => (value.is_boolean(), "boolean"),
        Scalar::Any => (!value.is_object() && !value.is_array(), "any scalar"),
    };
    if fits {
        return Ok(());
    }
    Err(format!(": expected {expected}, got {}", shown(value)))
}

/// The form of a value, never the value: it may be a secret.
fn shown(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}
