//! What the server fills in and keeps when an object is written.

use serde_json::{Map, Value, json};

use crate::crd::fill;
use crate::merge::zero;
use crate::schema::builtin;
use crate::state::object::{field_mut, meta_mut, new_uid, now, object_mut};
use crate::state::target::Target;
use crate::write::defaults;
use crate::write::namespace;
use crate::write::operation::WriteOptions;
use crate::write::secret;

/// Gives a new object its identity and its defaults.
pub(crate) fn prepare_new(target: &Target, value: &mut Value) {
    let metadata = meta_mut(value);
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
    ] {
        metadata.remove(field);
    }
    metadata.insert("uid".into(), new_uid().into());
    metadata.insert("creationTimestamp".into(), now().into());
    if target.kind.generation {
        metadata.insert("generation".into(), 1.into());
    }
    if target.version.status {
        object_mut(value).remove("status");
    }
    normalise(target, value);
}

/// What the server adds to a new object and nobody owns.
pub(crate) fn complete_new(target: &Target, value: &mut Value) {
    if target.kind.is_namespace() {
        let spec = namespace::initial_spec(value);
        object_mut(value).insert("spec".into(), spec);
        object_mut(value).insert("status".into(), json!({"phase": "Active"}));
    } else if &*target.kind.id == "pods" {
        defaults::pod_status(value);
    }
}

/// Brings an object into the form in which it is stored.
pub(crate) fn normalise(target: &Target, value: &mut Value) {
    if &*target.kind.id == "secrets" {
        secret::fold_string_data(value);
    }
    prune_nulls(value);
    let metadata = meta_mut(value);
    for field in ["labels", "annotations"] {
        if metadata
            .get(field)
            .is_some_and(|map| map.as_object().is_none_or(Map::is_empty))
        {
            metadata.remove(field);
        }
    }
    for field in ["finalizers", "ownerReferences"] {
        if metadata
            .get(field)
            .is_some_and(|list| list.as_array().is_none_or(Vec::is_empty))
        {
            metadata.remove(field);
        }
    }
    if target.kind.builtin {
        zero::complete(target.version.schema.cursor(), value);
        defaults::fill(target, value);
        zero::complete(target.version.schema.cursor(), value);
    } else if let Some(node) = target.version.schema.node() {
        fill::fill(node, value);
    }
}

/// Drops nulls from the metadata, as decoding into its type does.
fn prune_nulls(value: &mut Value) {
    zero::complete(builtin::cursor(builtin::metadata()), field_mut(value, "metadata"));
}

/// Metadata that only the server writes.
const KEPT: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "generateName",
    "resourceVersion",
];

/// Puts back what a client cannot change: identity, lifecycle, and the half it did not address.
pub(crate) fn keep_server_fields(target: &Target, before: &Value, value: &mut Value, options: &WriteOptions) {
    if options.status {
        let status = value.get("status").cloned();
        let managed = value["metadata"].get("managedFields").cloned();
        *value = before.clone();
        match status {
            Some(status) => object_mut(value).insert("status".into(), status),
            None => object_mut(value).remove("status"),
        };
        if let (true, Some(managed)) = (options.apply, managed) {
            meta_mut(value).insert("managedFields".into(), managed);
        }
        return;
    }
    if target.version.status {
        match before.get("status") {
            Some(status) => object_mut(value).insert("status".into(), status.clone()),
            None => object_mut(value).remove("status"),
        };
    }
    if target.kind.is_namespace() {
        // The spec of a namespace is the hold on its content, which clients change by `finalize` only.
        object_mut(value).insert("spec".into(), before["spec"].clone());
    }
    let metadata = meta_mut(value);
    for field in KEPT {
        match before["metadata"].get(field) {
            Some(known) => metadata.insert(field.into(), known.clone()),
            None => metadata.remove(field),
        };
    }
    metadata.remove("selfLink");
}

/// Whether two versions differ in nothing but perhaps in who owns what.
pub(crate) fn same_content(before: &Value, after: &Value) -> bool {
    let (others, owners) = (&["metadata"], &["managedFields"]);
    beside(before, others).eq(beside(after, others))
        && beside(&before["metadata"], owners).eq(beside(&after["metadata"], owners))
}

/// The fields of a value beside some.
fn beside<'a>(value: &'a Value, names: &'a [&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let fields = value.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !names.contains(&name.as_str()))
}

/// Whether anything but metadata and, where it is a part of its own, status differs.
pub(crate) fn desired_differs(target: &Target, before: &Value, after: &Value) -> bool {
    let others: &[&str] = if target.version.status || target.kind.builtin {
        &["metadata", "status"]
    } else {
        &["metadata"]
    };
    beside(before, others).ne(beside(after, others))
}
