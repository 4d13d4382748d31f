//! Strategic merge patch: maps merge, lists merge by the key of their kind, `$`-directives say the rest.

use serde_json::{Map, Value};

use crate::refusal::status::Status;
use crate::schema::types::{Cursor, MapShape, Patch};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE_ITEMS: &str = "$deleteFromPrimitiveList/";

type Fields = Map<String, Value>;

/// Lays a patch over an object.
pub(crate) fn patch(ty: Cursor<'_>, value: &mut Value, patch: &Value) -> Result<(), Status> {
    let Value::Object(patch) = patch else {
        return Err(Status::bad_request("invalid JSON document"));
    };
    let merged = merge_map(
        Some(ty),
        value.as_object().cloned().unwrap_or_default(),
        patch.clone(),
    )?;
    *value = Value::Object(merged);
    Ok(())
}

fn merge_map(ty: Option<Cursor<'_>>, mut original: Fields, mut patch: Fields) -> Result<Fields, Status> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Fields::new()),
            _ => Err(unknown(&directive)),
        };
    }
    let map = ty.and_then(Cursor::as_map);
    retain_keys(&mut original, &mut patch)?;
    set_orders(map, &mut original, &mut patch)?;
    for (name, change) in patch {
        if let Some(name) = name.strip_prefix(DELETE_ITEMS) {
            if let (Some(Value::Array(items)), Value::Array(gone)) = (original.get_mut(name), &change) {
                items.retain(|item| !gone.contains(item));
            }
            continue;
        }
        if change.is_null() {
            original.remove(&name);
            continue;
        }
        let merged = match (original.remove(&name), change) {
            (Some(Value::Object(known)), Value::Object(change)) => Some(Value::Object(merge_map(
                map.and_then(|map| map.field(&name)),
                known,
                change,
            )?)),
            (Some(Value::Array(known)), Value::Array(change)) => {
                Some(Value::Array(merge_list(map, &name, known, change)?))
            }
            (_, change) => plain(change),
        };
        original.extend(merged.map(|value| (name, value)));
    }
    Ok(original)
}

/// What a patch says where there is nothing to merge with: without nulls and directives.
fn plain(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, field)| !field.is_null());
            let kept = fields.filter_map(|(name, field)| Some((name, plain(field)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(plain).collect())),
        other => Some(other),
    }
}

/// Drops what the patch's list of keys does not name.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), Status> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let wrong = || Status::bad_request("invalid patch format of retainKeys");
    let keys = keys.as_array().ok_or_else(wrong)?;
    let named = |name: &str| keys.iter().any(|key| key == name);
    let directive = |name: &str| name.starts_with(DELETE_ITEMS) || name.starts_with(ORDER);
    if patch
        .iter()
        .any(|(name, value)| !value.is_null() && !directive(name) && !named(name))
    {
        return Err(wrong());
    }
    original.retain(|name, _| named(name));
    Ok(())
}

/// Merges the lists whose order the patch gives, and puts them into it.
fn set_orders(map: Option<MapShape<'_>>, original: &mut Fields, patch: &mut Fields) -> Result<(), Status> {
    let names: Vec<_> = patch
        .keys()
        .filter_map(|name| name.strip_prefix(ORDER).map(str::to_owned))
        .collect();
    for name in names {
        let wrong = || Status::bad_request("invalid patch format of setElementOrder list");
        let Some(Value::Array(order)) = patch.remove(&format!("{ORDER}{name}")) else {
            return Err(wrong());
        };
        let list = |value: Option<Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(Status::new(500, "", format!("expected a list in {name}"))),
        };
        let (known, change) = (list(original.get(&name).cloned())?, list(patch.remove(&name))?);
        let key = strategy(map, &name).and_then(|patch| patch.key.as_deref());
        let merged = match (known.clone(), change) {
            (None, None) => continue,
            (Some(known), None) => known,
            (None, Some(change)) => change.into_iter().filter_map(plain).collect(),
            (Some(known), Some(change)) => {
                check_order(&change, &order, key)?;
                merge_list(map, &name, known, change)?
            }
        };
        let known = known.unwrap_or_default();
        original.insert(name, Value::Array(in_order(merged, &order, &known, key)));
    }
    Ok(())
}

/// The items of a patch have to come in the order that the patch itself gives.
fn check_order(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Status> {
    let mut order = order.iter();
    let told = change.iter().filter(|item| item.get(DIRECTIVE).is_none());
    for item in told {
        if !order.any(|place| same(place, item, key)) {
            let message = "The order in patch list doesn't match $setElementOrder list";
            return Err(Status::new(500, "", message));
        }
    }
    Ok(())
}

fn strategy<'a>(map: Option<MapShape<'a>>, name: &str) -> Option<&'a Patch> {
    let field = map?.declared(name)?;
    Some(&field.patch).filter(|patch| patch.merge)
}

fn merge_list(
    map: Option<MapShape<'_>>,
    name: &str,
    known: Vec<Value>,
    change: Vec<Value>,
) -> Result<Vec<Value>, Status> {
    let Some(strategy) = strategy(map, name) else {
        // Replaced as a whole, directives and all, as the real server does.
        return Ok(change);
    };
    let item = map
        .and_then(|map| map.field(name))
        .and_then(Cursor::as_list)
        .map(|list| list.item);
    if let Some(key) = strategy.key.as_deref() {
        return merge_items(item, key, known, change);
    }
    let fresh: Vec<_> = change
        .iter()
        .filter(|item| !known.contains(item))
        .cloned()
        .collect();
    let merged = known.iter().cloned().chain(fresh).collect();
    Ok(in_order(merged, &change, &known, None))
}

fn merge_items(
    ty: Option<Cursor<'_>>,
    key: &str,
    mut known: Vec<Value>,
    change: Vec<Value>,
) -> Result<Vec<Value>, Status> {
    let mut told = Vec::new();
    let mut replaces = false;
    for item in change {
        match item
            .get(DIRECTIVE)
            .map(|directive| directive.as_str().unwrap_or_default().to_owned())
            .as_deref()
        {
            None => told.push(item),
            Some("replace") => replaces = true,
            Some("delete") => {
                let gone = item.get(key).ok_or_else(|| no_key(key))?;
                known.retain(|one| one.get(key) != Some(gone));
            }
            Some("merge") => {
                return Err(Status::new(
                    500,
                    "",
                    "merging lists cannot yet be specified in the patch",
                ));
            }
            Some(_) => return Err(unknown(&item[DIRECTIVE])),
        }
    }
    if replaces {
        return Ok(told);
    }
    let order = known.clone();
    for item in &told {
        let id = item.get(key).ok_or_else(|| no_key(key))?;
        let place = known.iter().position(|one| one.get(key) == Some(id));
        match (place, item) {
            (Some(place), Value::Object(item)) => {
                let before = known[place].as_object().cloned().unwrap_or_default();
                known[place] = Value::Object(merge_map(ty, before, item.clone())?);
            }
            _ => known.push(item.clone()),
        }
    }
    Ok(in_order(known, &told, &order, Some(key)))
}

/// Items that the patch tells in its order, all others in the server's; where both know two of them, the server's
/// order decides which of the others come first, else the told ones do.
fn in_order(items: Vec<Value>, told: &[Value], server: &[Value], key: Option<&str>) -> Vec<Value> {
    let index = |order: &[Value], item: &Value| order.iter().position(|one| same(one, item, key));
    let (mut first, mut rest): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| index(told, item).is_some());
    first.sort_by_key(|item| index(told, item));
    rest.sort_by_key(|item| index(server, item));
    let mut merged = Vec::with_capacity(first.len() + rest.len());
    let (mut first, mut rest) = (first.into_iter().peekable(), rest.into_iter().peekable());
    while let (Some(told), Some(other)) = (first.peek(), rest.peek()) {
        let before =
            matches!((index(server, other), index(server, told)), (Some(other), Some(told)) if other < told);
        merged.extend(if before { rest.next() } else { first.next() });
    }
    merged.extend(first.chain(rest));
    merged
}

fn same(one: &Value, other: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => one.get(key).is_some() && one.get(key) == other.get(key),
        None => one == other,
    }
}

fn unknown(directive: &Value) -> Status {
    let directive = directive.as_str().unwrap_or_default();
    Status::new(500, "", format!("unknown patch type: {directive}"))
}

fn no_key(key: &str) -> Status {
    Status::new(500, "", format!("map does not contain declared merge key: {key}"))
}
