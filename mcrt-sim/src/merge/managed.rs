//! `metadata.managedFields`: who last wrote which field, by which operation.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::merge::fields::{self, Elem, FieldSet};
use crate::state::object::{meta_mut, now};

/// The identity under which fields are owned.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) api_version: &'a str,
    pub(crate) builtin: bool,
    pub(crate) status: bool,
}

/// One entry of `managedFields`.
#[derive(Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    pub(crate) apply: bool,
    pub(crate) status: bool,
    api_version: String,
    time: String,
    pub(crate) fields: FieldSet,
}

impl Entry {
    pub(crate) fn new(writer: &Writer<'_>, apply: bool, fields: FieldSet) -> Self {
        Self {
            manager: writer.manager.to_owned(),
            apply,
            status: writer.status,
            api_version: writer.api_version.to_owned(),
            time: now(),
            fields,
        }
    }

    pub(crate) fn belongs_to(&self, writer: &Writer<'_>, apply: bool) -> bool {
        self.manager == writer.manager && self.apply == apply && self.status == writer.status
    }

    fn read(value: &Value) -> Self {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        Self {
            manager: text("manager"),
            apply: value["operation"] == "Apply",
            status: value["subresource"] == "status",
            api_version: text("apiVersion"),
            time: text("time"),
            fields: FieldSet::from_v1(&value["fieldsV1"]),
        }
    }

    fn write(&self) -> Value {
        let mut value = json!({
            "manager": self.manager,
            "operation": if self.apply { "Apply" } else { "Update" },
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_v1(),
        });
        if self.status {
            value["subresource"] = "status".into();
        }
        value
    }
}

pub(crate) fn read(value: &Value) -> Vec<Entry> {
    value["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
        .map(Entry::read)
        .collect()
}

pub(crate) fn write(value: &mut Value, entries: &[Entry]) {
    let mut entries: Vec<_> = entries
        .iter()
        .filter(|entry| !entry.fields.0.is_empty())
        .collect();
    entries.sort_by_key(|entry| (!entry.apply, &entry.time, &entry.manager, entry.status));
    let entries: Vec<_> = entries.into_iter().map(Entry::write).collect();
    if entries.is_empty() {
        meta_mut(value).remove("managedFields");
    } else {
        meta_mut(value).insert("managedFields".into(), entries.into());
    }
}

/// Gives the fields that an update has changed to its writer, and takes them from all others.
pub(crate) fn record_update(before: Option<&Value>, after: &mut Value, writer: &Writer<'_>) {
    let leaves = FieldSet::of(after, writer.builtin);
    let changed: BTreeSet<_> = match before {
        Some(before) => leaves
            .0
            .iter()
            .filter(|path| differs(before, after, path, writer.builtin))
            .cloned()
            .collect(),
        None => leaves.0.iter().cloned().collect(),
    };
    let mut entries = read(after);
    for entry in &mut entries {
        let own = entry.belongs_to(writer, false);
        entry.fields.0.retain(|path| {
            fields::get(after, path, writer.builtin).is_some() && (own || !changed.contains(path))
        });
    }
    if !changed.is_empty() {
        match entries.iter_mut().find(|entry| entry.belongs_to(writer, false)) {
            Some(entry) => {
                entry.fields.0.extend(changed);
                entry.time = now();
            }
            None => entries.push(Entry::new(writer, false, FieldSet(changed))),
        }
    }
    write(after, &entries);
}

/// Whether a field differs; items of lists differ only by being there.
fn differs(before: &Value, after: &Value, path: &[Elem], builtin: bool) -> bool {
    let old = fields::get(before, path, builtin);
    match path.last() {
        Some(Elem::Field(_)) => old != fields::get(after, path, builtin),
        _ => old.is_none(),
    }
}
