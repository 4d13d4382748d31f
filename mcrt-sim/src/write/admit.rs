//! What the server refuses when an object is written.

use serde_json::{Map, Value};

use crate::refusal::status::Status;
use crate::state::object::{Object, meta_mut, name_suffix};
use crate::state::target::Target;
use crate::write::shape;

/// How many bytes of a prefix a generated name keeps.
const GENERATED: usize = 58;

/// Checks the type and place of a body against the path and completes both.
pub(crate) fn admit(
    target: &Target,
    namespace: Option<&str>,
    name: Option<&str>,
    value: &mut Value,
) -> Result<(), Status> {
    if value.is_null() && target.kind.builtin {
        *value = Value::Object(Map::new());
    }
    let Some(fields) = value.as_object_mut() else {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind: it is not a JSON object",
            target.kind.kind
        )));
    };
    check_type(target, fields)?;
    shape::check_shape(target, value)?;
    let metadata = meta_mut(value);
    let given = |field: &str| {
        let text = metadata.get(field).and_then(Value::as_str);
        text.filter(|text| !text.is_empty())
    };
    if let Some((name, given)) = name.zip(given("name")).filter(|(name, given)| name != given) {
        return Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        )));
    }
    if namespace
        .zip(given("namespace"))
        .is_some_and(|(namespace, given)| namespace != given)
    {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(why));
    }
    if let Some(name) = name {
        metadata.insert("name".into(), name.into());
    }
    match namespace {
        Some(namespace) => metadata.insert("namespace".into(), namespace.into()),
        None => metadata.remove("namespace"),
    };
    Ok(())
}

/// Requires the type that an object names to be the path's; built-in kinds may leave it out.
fn check_type(target: &Target, fields: &mut Map<String, Value>) -> Result<(), Status> {
    let (kind, version) = (&target.kind.kind, &target.version.api_version);
    for (field, expected) in [("kind", kind), ("apiVersion", version)] {
        let given = fields
            .get(field)
            .and_then(Value::as_str)
            .filter(|given| !given.is_empty());
        match given {
            None if target.kind.builtin => drop(fields.insert(field.to_owned(), expected.as_str().into())),
            None => return Err(Status::bad_request(format!("Object '{field}' is missing"))),
            Some(given) if given == expected => {}
            Some(given) => {
                let (given_kind, given_version) = if field == "kind" {
                    (given, version.as_str())
                } else {
                    (kind.as_str(), given)
                };
                return Err(Status::bad_request(format!(
                    "{given_kind} in version {given_version:?} cannot be handled as a {kind}: no kind {given_kind:?} of \
                     version {given_version:?} is served here"
                )));
            }
        }
    }
    Ok(())
}

/// Gives a new object that asks for it a generated name, and gives the name it has then: empty if there is none.
pub(crate) fn choose_name(value: &mut Value) -> String {
    let metadata = meta_mut(value);
    let text = |field: &str| {
        metadata
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (name, prefix) = (text("name"), text("generateName"));
    if !name.is_empty() || prefix.is_empty() {
        return name;
    }
    let cut = (0..=GENERATED.min(prefix.len()))
        .rev()
        .find(|at| prefix.is_char_boundary(*at));
    let name = format!("{}{}", &prefix[..cut.unwrap_or_default()], name_suffix());
    metadata.insert("name".into(), name.as_str().into());
    name
}

pub(crate) fn check_crd_name(target: &Target, crd: &Value, name: &str) -> Result<(), Status> {
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
    if let Some(odd) = given.filter(|given| given.parse::<u64>().is_err()) {
        // A real server takes the blame for this one.
        return Err(Status::new(
            500,
            "",
            format!("strconv.ParseUint: parsing {odd:?}: invalid syntax"),
        ));
    }
    if given.is_some_and(|given| given.parse() != Ok(old.version) && given != "0") {
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
    let grace = value["metadata"]["deletionGracePeriodSeconds"].as_i64();
    finalizers(value).next().is_some()
        // Whatever runs the pod deletes it at last, without any more time.
        || grace.is_some_and(|grace| grace > 0)
        || (target.kind.is_namespace() && content.is_some_and(|content| !content.is_empty()))
}
