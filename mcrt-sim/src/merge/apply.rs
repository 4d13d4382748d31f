//! Server-side apply: merging what a manager declares, owning it, and letting go of what it no longer says.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::status::Status;
use crate::merge::fields::{self, Elem, FieldSet, Path};
use crate::merge::managed::{self, Entry, Writer};
use crate::merge::schema::{ListType, is_atomic_map, list_type};
use crate::state::object::{Object, ObjectKey, meta_mut, object_mut};
use crate::state::store::Store;
use crate::write::admit::check_uid;
use crate::write::operation::{Target, WriteOptions};
use crate::write::prepare::prune_nulls;

impl Store {
    /// Applies a configuration; says whether the object was created.
    pub(crate) fn apply(
        &mut self,
        target: &Target,
        key: &ObjectKey,
        mut config: Value,
        options: &WriteOptions,
        force: bool,
    ) -> Result<(Arc<Object>, bool), Status> {
        let options = WriteOptions {
            apply: true,
            ..options.clone()
        };
        let writer = options.writer(target);
        strip(target, &mut config, options.status)?;
        if let Some(old) = self.find(&target.kind, key) {
            check_uid(target, &old, &config)?;
            let live = target.thaw(&old);
            let merged = merge_into(&live, &config, &writer, force)?;
            return Ok((self.replace(target, &old, merged, &options)?, false));
        }
        if options.status {
            return Err(target.not_found(&key.name));
        }
        if config["metadata"]["uid"].is_string() {
            let why = "uid mismatch: the provided object specified a uid, and no existing object was found";
            return Err(target.conflict(&key.name, why));
        }
        meta_mut(&mut config).remove("resourceVersion");
        let entry = Entry::new(&writer, true, FieldSet::of(&config, writer.builtin));
        managed::write(&mut config, &[entry]);
        Ok((self.create(target, config, &options)?, true))
    }
}

/// Drops from a configuration what an apply cannot set.
fn strip(target: &Target, config: &mut Value, status: bool) -> Result<(), Status> {
    prune_nulls(target, config);
    let metadata = meta_mut(config);
    if metadata
        .get("managedFields")
        .is_some_and(|fields| !fields.is_null())
    {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    for field in ["managedFields", "creationTimestamp", "generation", "selfLink"] {
        metadata.remove(field);
    }
    if status {
        metadata
            .retain(|field, _| matches!(field.as_str(), "name" | "namespace" | "uid" | "resourceVersion"));
        object_mut(config)
            .retain(|field, _| matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
    } else if target.version.status {
        object_mut(config).remove("status");
    }
    Ok(())
}

fn merge_into(live: &Value, config: &Value, writer: &Writer<'_>, force: bool) -> Result<Value, Status> {
    let wanted = FieldSet::of(config, writer.builtin);
    let mut entries = managed::read(live);
    let conflicts = find_conflicts(live, config, &wanted, &entries, writer);
    if !conflicts.is_empty() {
        if !force {
            return Err(conflict_status(&conflicts));
        }
        for entry in entries.iter_mut().filter(|entry| !entry.belongs_to(writer, true)) {
            entry
                .fields
                .0
                .retain(|path| conflicts.iter().all(|(taken, _)| taken != path));
        }
    }
    let mut merged = live.clone();
    merge(&mut merged, config, &mut Vec::new(), writer.builtin);
    let own = entries.iter().position(|entry| entry.belongs_to(writer, true));
    if let Some(own) = own {
        let before = entries[own].fields.clone();
        let others: Vec<_> = others(&entries, writer).collect();
        let owned = |path: &Path| wanted.covers(path) || others.iter().any(|other| other.fields.covers(path));
        let dropped = before.0.difference(&wanted.0);
        let dropped = dropped.filter(|path| !fields::is_key_field(path) && !owned(path));
        // Deepest first, so that an item is emptied before it is taken out itself.
        for path in dropped.collect::<Vec<_>>().into_iter().rev() {
            remove_with_parents(&mut merged, path, &wanted, &others, writer.builtin);
        }
    }
    match own.map(|own| &mut entries[own]) {
        Some(entry) if entry.fields == wanted => {}
        Some(entry) => *entry = Entry::new(writer, true, wanted),
        None => entries.push(Entry::new(writer, true, wanted)),
    }
    managed::write(&mut merged, &entries);
    Ok(merged)
}

fn others<'a>(entries: &'a [Entry], writer: &'a Writer<'_>) -> impl Iterator<Item = &'a Entry> {
    entries.iter().filter(|entry| !entry.belongs_to(writer, true))
}

/// Removes a field, and the parents that this leaves empty unless somebody owns them as such.
fn remove_with_parents(merged: &mut Value, path: &Path, wanted: &FieldSet, others: &[&Entry], builtin: bool) {
    let mut path = path.as_slice();
    while fields::remove(merged, path, builtin) {
        let Some((_, parent)) = path.split_last() else {
            return;
        };
        let owned = wanted.covers(parent) || others.iter().any(|other| other.fields.covers(parent));
        if owned || parent.len() < 2 && parent.first() == Some(&Elem::Field("metadata".into())) {
            return;
        }
        path = parent;
    }
}

/// Fields that somebody else owns and that the configuration would change.
fn find_conflicts(
    live: &Value,
    config: &Value,
    wanted: &FieldSet,
    entries: &[Entry],
    writer: &Writer<'_>,
) -> Vec<(Path, String)> {
    let mut conflicts = Vec::new();
    for entry in others(entries, writer) {
        for path in entry.fields.0.intersection(&wanted.0) {
            let wants = fields::get(config, path, writer.builtin);
            // An item of a list is there or not, and an empty container takes nothing from its content.
            let valued = matches!(path.last(), Some(Elem::Field(_)));
            let valued = valued && !wants.is_some_and(|wants| is_empty_container(wants, path, writer));
            let differs = fields::get(live, path, writer.builtin) != wants;
            if valued && differs {
                conflicts.push((path.clone(), entry.manager.clone()));
            }
        }
    }
    conflicts
}

fn is_empty_container(value: &Value, path: &Path, writer: &Writer<'_>) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty() && list_type(writer.builtin, path) != ListType::Atomic,
        _ => false,
    }
}

fn conflict_status(conflicts: &[(Path, String)]) -> Status {
    let describe = |(path, manager): &(Path, String)| {
        let message = format!("conflict with \"{manager}\"");
        json!({"reason": "FieldManagerConflict", "message": message, "field": fields::display(path)})
    };
    let causes: Vec<_> = conflicts.iter().map(describe).collect();
    let plural = if conflicts.len() == 1 { "" } else { "s" };
    let list: Vec<_> = conflicts
        .iter()
        .map(|(path, manager)| format!("conflict with \"{manager}\": {}", fields::display(path)))
        .collect();
    let message = format!(
        "Apply failed with {} conflict{plural}: {}",
        conflicts.len(),
        list.join("; ")
    );
    Status::new(409, "Conflict", message).with_details(json!({"causes": causes}))
}

/// Lays a configuration over a live value.
fn merge(live: &mut Value, config: &Value, path: &mut Path, builtin: bool) {
    match (&mut *live, config) {
        (Value::Object(fields), Value::Object(wanted))
            if !wanted.is_empty() && !is_atomic_map(builtin, path) =>
        {
            for (name, value) in wanted {
                path.push(Elem::Field(name.clone()));
                merge(
                    fields.entry(name.as_str()).or_insert(Value::Null),
                    value,
                    path,
                    builtin,
                );
                path.pop();
            }
        }
        // An empty map owns itself, not what others have put into it.
        (Value::Object(_), Value::Object(_)) => {}
        (Value::Array(items), Value::Array(wanted)) => match list_type(builtin, path) {
            ListType::Atomic => *live = config.clone(),
            kind => merge_items(items, wanted, kind, path, builtin),
        },
        _ => *live = config.clone(),
    }
}

fn merge_items(items: &mut Vec<Value>, wanted: &[Value], kind: ListType, path: &mut Path, builtin: bool) {
    for item in wanted {
        let elem = fields::item_elem(kind, item);
        match items
            .iter_mut()
            .find(|known| fields::item_elem(kind, known) == elem)
        {
            Some(known) if kind != ListType::Set => {
                path.push(elem);
                merge(known, item, path, builtin);
                path.pop();
            }
            Some(_) => {}
            None => items.push(item.clone()),
        }
    }
}
