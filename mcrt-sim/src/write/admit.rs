//! What the server refuses when an object is written.

use serde_json::{Map, Value};

use crate::api::status::Status;
use crate::read::selector::{label_key, label_value};
use crate::state::object::{Object, meta_mut, name_suffix};
use crate::write::operation::Target;

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
    check_shape(metadata)?;
    check_labels(target, metadata)
}

fn check_labels(target: &Target, metadata: &Map<String, Value>) -> Result<(), Status> {
    let labels = metadata.get("labels").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let wrong = label_key(Some(key)).and_then(|_| label_value(value)).err();
        if let Some(wrong) = wrong {
            let name = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
            return Err(target.invalid(name, "metadata.labels", &format!("Invalid value: {wrong}")));
        }
    }
    Ok(())
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
        Some(given) if given != expected => Err(Status::bad_request(match field {
            "name" => {
                format!("the name of the object ({given}) does not match the name on the URL ({expected})")
            }
            "namespace" => {
                "the namespace of the provided object does not match the namespace sent on the request"
                    .to_owned()
            }
            _ => format!(
                "the {field} of the provided object does not match the {field} sent on the request ({expected})"
            ),
        })),
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

/// The name of a new object, generated if that is asked for.
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
        let why = format!("Invalid value: \"{name}\": a lowercase RFC 1123 subdomain is required");
        return Err(target.invalid(&name, "metadata.name", &why));
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

/// Refuses a patch or an apply that names another UID; a full replacement conflicts instead.
pub(crate) fn check_uid(target: &Target, old: &Object, value: &Value) -> Result<(), Status> {
    let given = value["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty());
    if given.is_none_or(|given| *given == *old.uid) {
        return Ok(());
    }
    let why = "Invalid value: field is immutable";
    Err(target.invalid(&old.key.name, "metadata.uid", why))
}

/// Requires the version and the UID that a value carries to be those of the object it replaces.
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
