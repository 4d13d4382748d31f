//! What an update does to `metadata.managedFields`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::merge::fields::FieldSet;
use crate::merge::managed::{
    Comparisons, Entry, Writer, is_reset, read, same_owners, strip, try_read, write,
};
use crate::merge::zero::zero;
use crate::state::object::{meta_mut, now};

/// How many writers by update an object remembers; the oldest are then taken as one.
const UPDATERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

/// Gives the fields that an update has changed to its writer, and takes them from all others. Says whether everybody
/// owns what they did before; the entries of the object before may then be gone.
pub(crate) fn record_update(before: Option<&mut Value>, after: &mut Value, writer: &Writer<'_>) -> bool {
    let schema = writer.target.version.schema.cursor();
    let Some(before) = before else {
        let empty = if writer.target.kind.builtin {
            zero(schema)
        } else {
            json!({})
        };
        let sent = if is_reset(after) { Vec::new() } else { read(after) };
        record(&empty, after, sent, writer);
        return false;
    };
    if writer.status || !is_reset(after) {
        let stored = &before["metadata"]["managedFields"];
        let sent = after["metadata"].get("managedFields");
        let sent = sent.filter(|sent| !writer.status && sent.is_array());
        if stored.is_array() && sent.is_none_or(|sent| sent == stored) {
            return update_stored(before, after, writer);
        }
    }
    let entries = if is_reset(after) {
        Vec::new()
    } else {
        try_read(after)
            .filter(|sent| !sent.is_empty())
            .unwrap_or_else(|| read(before))
    };
    meta_mut(after).remove("managedFields");
    // Where nobody owned anything, an update does not begin with it.
    if !entries.is_empty() {
        record(before, after, entries, writer);
    }
    same_owners(before, after)
}

/// Records an update with entries in whatever form.
fn record(old: &Value, after: &mut Value, mut entries: Vec<Entry>, writer: &Writer<'_>) {
    meta_mut(after).remove("managedFields");
    let mut comparisons = Comparisons::new(*writer, old, after);
    if comparisons.of(writer.api_version()).is_none() {
        return;
    }
    entries.retain_mut(|entry| {
        let Some(changed) = comparisons.of(&entry.api_version) else {
            return false;
        };
        entry.fields.subtract(&changed.written);
        entry.fields.subtract(&changed.removed);
        !entry.fields.is_empty()
    });
    let written = strip(comparisons.into_written());
    if !written.is_empty() {
        let place = entries
            .iter()
            .position(|entry| !entry.apply && writer.owns(entry));
        let place = place.unwrap_or_else(|| {
            entries.push(Entry::new(writer, false, FieldSet::default()));
            entries.len() - 1
        });
        entries[place].fields.union(&written);
        entries[place].time = Some(now());
    }
    cap(&mut entries);
    write(after, &entries);
}

/// Records an update with the entries that are stored: they move to the object after it as they are, and only what it
/// changes of them is touched. Says whether that is nothing.
fn update_stored(before: &mut Value, after: &mut Value, writer: &Writer<'_>) -> bool {
    // An empty list stays: the comparison tells it from none as it does a full one.
    let mut entries = match &mut before["metadata"]["managedFields"] {
        Value::Array(entries) => std::mem::take(entries),
        _ => Vec::new(),
    };
    meta_mut(after).remove("managedFields");
    let mut comparisons = Comparisons::new(*writer, before, after);
    if comparisons.of(writer.api_version()).is_none() {
        return entries.is_empty();
    }
    let (count, mut same) = (entries.len(), true);
    entries.retain_mut(|entry| {
        let Some(changed) = comparisons.of(text(entry, "apiVersion")) else {
            return false;
        };
        let Some(fields) = entry.get_mut("fieldsV1").and_then(Value::as_object_mut) else {
            return false;
        };
        same &= !changed.written.subtract_from(fields);
        same &= !changed.removed.subtract_from(fields);
        !fields.is_empty()
    });
    same &= entries.len() == count;
    let written = strip(comparisons.into_written());
    if !written.is_empty() {
        same = false;
        give(&mut entries, &written, writer);
    }
    let updates = entries
        .iter()
        .filter(|entry| text(entry, "operation") == "Update");
    if updates.count() > UPDATERS {
        let mut entries: Vec<_> = entries.iter().filter_map(Entry::read).collect();
        cap(&mut entries);
        write(after, &entries);
    } else if !entries.is_empty() {
        entries.sort_by(|a, b| order(a).cmp(&order(b)));
        meta_mut(after).insert("managedFields".into(), entries.into());
    }
    same
}

/// Gives fields to a writer among stored entries.
fn give(entries: &mut Vec<Value>, written: &FieldSet, writer: &Writer<'_>) {
    let subresource = if writer.status { "status" } else { "" };
    let own = entries.iter_mut().find(|entry| {
        text(entry, "operation") == "Update"
            && text(entry, "manager") == writer.manager
            && text(entry, "subresource") == subresource
            && text(entry, "apiVersion") == writer.api_version()
    });
    if let Some(Value::Object(own)) = own {
        if let Some(Value::Object(fields)) = own.get_mut("fieldsV1") {
            written.add_to(fields);
        }
        own.insert("time".into(), now().into());
    } else {
        let mut entry = Entry::new(writer, false, written.clone());
        entry.time = Some(now());
        entries.push(entry.write());
    }
}

/// What stored entries are sorted by.
fn order(entry: &Value) -> impl Ord {
    (
        text(entry, "operation") != "Apply",
        entry["time"].as_str(),
        text(entry, "manager"),
        text(entry, "apiVersion"),
        text(entry, "subresource"),
    )
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_default()
}

/// Takes the oldest updaters of a version as one, until there are not too many.
fn cap(entries: &mut Vec<Entry>) {
    if entries.iter().filter(|entry| !entry.apply).count() <= UPDATERS {
        return;
    }
    let mut updaters: Vec<_> = entries.iter().filter(|entry| !entry.apply).cloned().collect();
    updaters.sort_by(|a, b| (&a.time, &a.manager).cmp(&(&b.time, &b.manager)));
    let mut first: BTreeMap<String, Entry> = BTreeMap::new();
    let mut count = updaters.len();
    for updater in updaters {
        if count <= UPDATERS {
            break;
        }
        let Some(known) = first.get_mut(&updater.api_version) else {
            first.insert(updater.api_version.clone(), updater);
            continue;
        };
        entries.retain(|entry| *entry != updater && entry != known);
        ANCIENT.clone_into(&mut known.manager);
        known.subresource.clear();
        known.fields.union(&updater.fields);
        known.time = updater.time;
        entries.push(known.clone());
        count -= 1;
    }
}
