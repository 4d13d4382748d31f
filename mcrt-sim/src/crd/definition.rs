//! Whether a definition of a kind is one: its names, its versions and their schemas.

use serde_json::{Value, json};

use crate::crd::structural::check_schema;
use crate::refusal::cause::Cause;

/// What is wrong with a definition.
pub(crate) fn check(crd: &Value, before: Option<&Value>) -> Vec<Cause> {
    let spec = &crd["spec"];
    let mut causes = before.map_or_else(Vec::new, |before| changes(&before["spec"], spec));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let required = [
        ("group", &spec["group"]),
        ("names.plural", &spec["names"]["plural"]),
        ("names.kind", &spec["names"]["kind"]),
    ];
    for (field, value) in required {
        if text(value).is_empty() {
            causes.push(Cause::of(
                "FieldValueRequired",
                &format!("spec.{field}"),
                "Required value".into(),
            ));
        }
    }
    let scope = text(&spec["scope"]);
    if scope.is_empty() {
        causes.push(Cause::of(
            "FieldValueRequired",
            "spec.scope",
            "Required value".into(),
        ));
    } else if !matches!(&*scope, "Cluster" | "Namespaced") {
        causes.push(Cause::unsupported(
            "spec.scope",
            &scope,
            &["Cluster", "Namespaced"],
        ));
    }
    let versions = spec["versions"].as_array().map_or(&[][..], Vec::as_slice);
    check_versions(versions, &mut causes);
    // Schemas that all versions share are looked at once, where older definitions had theirs.
    let shared = versions
        .iter()
        .all(|version| version["schema"] == versions[0]["schema"]);
    for (index, version) in versions.iter().enumerate() {
        let schema = &version["schema"]["openAPIV3Schema"];
        let place = format!("spec.versions[{index}].schema.openAPIV3Schema");
        if !schema.is_object() {
            causes.push(Cause::of("FieldValueRequired", &place, "Required value".into()));
        } else if !shared || index == 0 {
            let place = if shared {
                "spec.validation.openAPIV3Schema"
            } else {
                &*place
            };
            causes.extend(check_schema(schema, place));
        }
    }
    causes
}

/// What a definition is bound to once it is there.
fn changes(before: &Value, after: &Value) -> Vec<Cause> {
    let fields = [
        ("group", "/group"),
        ("scope", "/scope"),
        ("names.plural", "/names/plural"),
        ("names.kind", "/names/kind"),
    ];
    let differ = |pointer: &str| before.pointer(pointer) != after.pointer(pointer);
    let changed = fields.iter().filter(|(_, pointer)| differ(pointer));
    let cause = |(field, pointer): &(&str, &str)| {
        let value = after.pointer(pointer).cloned().unwrap_or_default();
        Cause::invalid(&format!("spec.{field}"), value, "field is immutable")
    };
    changed.map(cause).collect()
}

fn check_versions(versions: &[Value], causes: &mut Vec<Cause>) {
    let storage = versions
        .iter()
        .filter(|version| version["storage"] == true)
        .count();
    if storage != 1 {
        let names: Vec<_> = versions.iter().map(|version| version["name"].clone()).collect();
        let why = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", json!(names), why));
    }
    for (index, version) in versions.iter().enumerate() {
        let name = version["name"].as_str().unwrap_or_default();
        let field = format!("spec.versions[{index}].name");
        if versions[..index].iter().any(|known| known["name"] == name) {
            causes.push(Cause::invalid_text(
                &field,
                name,
                "must contain unique version names",
            ));
        }
    }
}
