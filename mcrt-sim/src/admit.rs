//! What the server checks, fills in and keeps when an object is written.

use serde_json::{Map, Value, json};

use crate::lifecycle;
use crate::object::{Object, field_mut, meta_mut, name_suffix, new_uid, now, object_mut};
use crate::secret;
use crate::status::Status;
use crate::write::{Target, WriteOptions};

/// Checks the type and place of a body against the path and completes both.
pub(crate) fn admit(
    target: &Target,
    namespace: Option<&str>,
    name: Option<&str>,
    value: &mut Value,
) -> Result<(), Status> {
    let Some(fields) = value.as_object_mut() else {
        return Err(Status::bad_request(
            "the body of the request is not a JSON object",
        ));
    };
    complete(
        fields,
        "apiVersion",
        &target.version.api_version,
        target.kind.builtin,
    )?;
    complete(fields, "kind", &target.kind.kind, target.kind.builtin)?;
    let metadata = meta_mut(value);
    if let Some(name) = name {
        complete(metadata, "name", name, true)?;
    }
    match namespace {
        Some(namespace) => complete(metadata, "namespace", namespace, true)?,
        None => {
            metadata.remove("namespace");
        }
    }
    check_shape(metadata)
}

/// Requires a field to be what the path says; fills it in where it may be left out.
fn complete(
    fields: &mut Map<String, Value>,
    field: &str,
    expected: &str,
    optional: bool,
) -> Result<(), Status> {
    match fields
        .get(field)
        .and_then(Value::as_str)
        .filter(|given| !given.is_empty())
    {
        Some(given) if given != expected => Err(Status::bad_request(format!(
            "the {field} of the provided object ({given}) does not match the {field} sent on the request ({expected})"
        ))),
        Some(_) => Ok(()),
        None if optional => {
            fields.insert(field.into(), expected.into());
            Ok(())
        }
        None => Err(Status::bad_request(format!("Object '{field}' is missing"))),
    }
}

/// Refuses metadata that a real server could not decode.
fn check_shape(metadata: &Map<String, Value>) -> Result<(), Status> {
    let fits = |field: &str, fits: fn(&Value) -> bool| {
        let message = || format!("unable to decode metadata.{field}: it has another type");
        match metadata.get(field) {
            Some(value) if !value.is_null() && !fits(value) => Err(Status::bad_request(message())),
            _ => Ok(()),
        }
    };
    let texts: fn(&Value) -> bool = |value| {
        value
            .as_object()
            .is_some_and(|map| map.values().all(|text| text.is_string() || text.is_null()))
    };
    fits("labels", texts)?;
    fits("annotations", texts)?;
    fits("finalizers", |value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().all(Value::is_string))
    })?;
    fits("ownerReferences", |value| {
        value
            .as_array()
            .is_some_and(|list| list.iter().all(|owner| owner["uid"].is_string()))
    })
}

pub(crate) fn choose_name(target: &Target, value: &mut Value) -> Result<String, Status> {
    let metadata = meta_mut(value);
    let text = |field: &str| {
        metadata
            .get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let name = match (text("name"), text("generateName")) {
        (Some(name), _) => name.to_owned(),
        (None, Some(prefix)) => format!("{prefix}{}", name_suffix()),
        (None, None) => {
            return Err(target.invalid(
                "",
                "metadata.name",
                "Required value: name or generateName is required",
            ));
        }
    };
    // RBAC names are path segments; all others are at most subdomains.
    let loose = target.kind.group == "rbac.authorization.k8s.io";
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let valid = if loose {
        !name.contains(['/', '%'])
    } else {
        name.bytes().all(letter)
    };
    if !valid || name.len() > 253 || (!loose && name.starts_with(['-', '.'])) || name.ends_with('/') {
        let why = "Invalid value: a lowercase RFC 1123 subdomain is required";
        return Err(target.invalid(&name, "metadata.name", why));
    }
    metadata.insert("name".into(), name.clone().into());
    if target.kind.is_crd() {
        check_crd_name(target, value, &name)?;
    }
    Ok(name)
}

fn check_crd_name(target: &Target, crd: &Value, name: &str) -> Result<(), Status> {
    let spec = &crd["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let expected = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if name == expected {
        return Ok(());
    }
    let why = format!("Invalid value: \"{name}\": must be spec.names.plural+\".\"+spec.group");
    Err(target.invalid(name, "metadata.name", &why))
}

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
    default_new(target, value);
}

/// Defaults that other parts of a cluster rely on.
fn default_new(target: &Target, value: &mut Value) {
    match &*target.kind.id {
        "namespaces" => {
            let name = value["metadata"]["name"].clone();
            let labels = object_mut(field_mut(field_mut(value, "metadata"), "labels"));
            labels.insert("kubernetes.io/metadata.name".into(), name);
            object_mut(value).insert("spec".into(), json!({"finalizers": ["kubernetes"]}));
            object_mut(value).insert("status".into(), json!({"phase": "Active"}));
        }
        "secrets" => {
            object_mut(value).entry("type").or_insert_with(|| "Opaque".into());
        }
        _ if target.kind.is_crd() => {
            let status = lifecycle::established(value);
            object_mut(value).insert("status".into(), status);
        }
        _ => {}
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
            .is_some_and(|map| map.as_object().is_none_or(serde_json::Map::is_empty))
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
}

/// Drops null fields, as decoding into a type does.
pub(crate) fn prune_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(prune_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(prune_nulls),
        _ => {}
    }
}

pub(crate) fn check_preconditions(target: &Target, old: &Object, value: &Value) -> Result<(), Status> {
    let metadata = &value["metadata"];
    let given = metadata["resourceVersion"]
        .as_str()
        .filter(|version| !version.is_empty());
    if given.is_some_and(|given| *given != old.version.to_string()) {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        return Err(target.conflict(&old.key.name, why));
    }
    if let Some(uid) = metadata["uid"]
        .as_str()
        .filter(|uid| !uid.is_empty() && *uid != &*old.uid)
    {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            old.uid
        );
        return Err(target.conflict(&old.key.name, &why));
    }
    Ok(())
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
    let reset = value["metadata"]["managedFields"] == json!([{}]);
    let metadata = meta_mut(value);
    let kept = KEPT
        .iter()
        .copied()
        .chain((!options.apply && !reset).then_some("managedFields"));
    for field in kept {
        match before["metadata"].get(field) {
            Some(known) => metadata.insert(field.into(), known.clone()),
            None => metadata.remove(field),
        };
    }
    if reset {
        metadata.remove("managedFields");
    }
    metadata.remove("selfLink");
}

/// Whether two versions differ in nothing that makes a write. An apply that changes owners only is a write.
pub(crate) fn same_content(before: &Value, after: &Value, applied: bool) -> bool {
    if applied {
        return before == after;
    }
    let stripped = |value: &Value| {
        let mut value = value.clone();
        meta_mut(&mut value).remove("managedFields");
        value
    };
    before == after || stripped(before) == stripped(after)
}

/// Whether anything but metadata and, where it is a part of its own, status differs.
pub(crate) fn desired_differs(target: &Target, before: &Value, after: &Value) -> bool {
    let desired = |value: &Value| {
        let mut value = value.clone();
        let fields = object_mut(&mut value);
        fields.remove("metadata");
        if target.version.status || target.kind.builtin {
            fields.remove("status");
        }
        value
    };
    desired(before) != desired(after)
}

pub(crate) fn finalizers(value: &Value) -> impl Iterator<Item = &str> {
    value["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Whether anything keeps a deleted object from going.
pub(crate) fn is_held(target: &Target, value: &Value) -> bool {
    let content = value["spec"]["finalizers"].as_array();
    finalizers(value).next().is_some()
        || (target.kind.is_namespace() && content.is_some_and(|content| !content.is_empty()))
}

pub(crate) fn adds_finalizers(before: &Value, after: &Value) -> bool {
    finalizers(after).any(|new| finalizers(before).all(|known| known != new))
}
