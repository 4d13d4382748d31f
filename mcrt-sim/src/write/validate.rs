//! The rules for metadata, and for the content of the kinds whose rules everybody meets.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::refusal::cause::Cause;
use crate::refusal::names::{self, NameRule};
use crate::refusal::status::Status;
use crate::state::target::Target;
use crate::write::admit::finalizers;
use crate::write::shape::{entries, has_data};

/// How many bytes the annotations of one object may have.
const ANNOTATIONS: usize = 256 << 10;
/// How many bytes the data of a `ConfigMap` or a `Secret` may have.
const DATA: usize = 1 << 20;
/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Requires a new object to keep the rules.
pub(crate) fn check_new(target: &Target, value: &Value) -> Result<(), Status> {
    let metadata = &value["metadata"];
    let mut causes = Vec::new();
    let rule = NameRule::of(&target.kind.group, &target.kind.plural);
    let text = |field: &str| metadata[field].as_str().filter(|text| !text.is_empty());
    if let Some(prefix) = text("generateName") {
        let wrong = rule.check(prefix, true);
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid_text("metadata.generateName", prefix, why)),
        );
    }
    match text("name") {
        None => causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        )),
        Some(name) => {
            let wrong = rule.check(name, false);
            causes.extend(
                wrong
                    .iter()
                    .map(|why| Cause::invalid_text("metadata.name", name, why)),
            );
        }
    }
    check_metadata(metadata, &mut causes);
    check_finalizers(target, metadata, &mut causes);
    check_data(target, value, &mut causes);
    target.accept(value, &causes)
}

/// Requires a changed object to keep the rules.
pub(crate) fn check_change(target: &Target, before: &Value, value: &Value) -> Result<(), Status> {
    let mut causes = Vec::new();
    if before["metadata"]["deletionTimestamp"].is_string() {
        let known: BTreeSet<_> = finalizers(before).collect();
        let added: BTreeSet<_> = finalizers(value).filter(|new| !known.contains(new)).collect();
        if !added.is_empty() {
            let added: Vec<_> = added.iter().map(|new| format!("{new:?}")).collect();
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    // What was there before stays allowed to be there: only what changes is looked at.
    if before["metadata"] != value["metadata"] {
        check_metadata(&value["metadata"], &mut causes);
        check_finalizers(target, &value["metadata"], &mut causes);
    }
    check_data(target, value, &mut causes);
    check_immutable(target, before, value, &mut causes);
    target.accept(value, &causes)
}

fn check_metadata(metadata: &Value, causes: &mut Vec<Cause>) {
    for (key, value) in entries(&metadata["labels"]) {
        let wrong = names::label_key(key);
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid_text("metadata.labels", key, why)),
        );
        let wrong = names::label_value(value);
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid_text("metadata.labels", value, why)),
        );
    }
    let mut size = 0;
    for (key, value) in entries(&metadata["annotations"]) {
        size += key.len() + value.len();
        let wrong = names::annotation_key(key);
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid_text("metadata.annotations", key, why)),
        );
    }
    if size > ANNOTATIONS {
        causes.push(Cause::too_long("metadata.annotations", ANNOTATIONS));
    }
    check_owners(&metadata["ownerReferences"], causes);
}

fn check_owners(owners: &Value, causes: &mut Vec<Cause>) {
    let mut controller: Option<String> = None;
    for (index, owner) in owners.as_array().into_iter().flatten().enumerate() {
        let path = format!("metadata.ownerReferences[{index}]");
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        for field in ["apiVersion", "kind", "name", "uid"] {
            let path = format!("{path}.{field}");
            if text(field).is_empty() {
                causes.push(Cause::required(&path, "must not be empty"));
            } else if field == "apiVersion" && text(field).split('/').count() > 2 {
                causes.push(Cause::invalid_text(
                    &path,
                    text(field),
                    "must be <group>/<version> or <version>",
                ));
            }
        }
        let (group, version) = text("apiVersion")
            .split_once('/')
            .unwrap_or(("", text("apiVersion")));
        if text("kind") == "Event" && matches!(group, "" | "events.k8s.io") {
            let why = format!("{group}/{version}, Kind=Event is disallowed from being an owner");
            causes.push(Cause::invalid(&path, owner, &why));
        }
        if owner["controller"] == true {
            let this = format!("{}/{}", text("kind"), text("name"));
            match &controller {
                None => controller = Some(this),
                Some(first) => {
                    let why = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                    );
                    causes.push(Cause::invalid("metadata.ownerReferences", owners, &why));
                }
            }
        }
    }
}

fn check_finalizers(target: &Target, metadata: &Value, causes: &mut Vec<Cause>) {
    let list: Vec<_> = metadata["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for finalizer in &list {
        let wrong = names::label_key(finalizer);
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid_text("metadata.finalizers", finalizer, why)),
        );
    }
    if list.contains(&"orphan") && list.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(
            "metadata.finalizers",
            &metadata["finalizers"],
            why,
        ));
    }
    // The older kinds ask for more.
    if target.kind.builtin && target.kind.group.is_empty() {
        for (index, finalizer) in list.iter().enumerate() {
            if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(finalizer) {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                causes.push(Cause::invalid_text(
                    &format!("metadata.finalizers[{index}]"),
                    finalizer,
                    why,
                ));
            }
        }
    }
}

/// The data of `ConfigMap`s and `Secret`s: keys and size.
fn check_data(target: &Target, value: &Value, causes: &mut Vec<Cause>) {
    if !has_data(target) {
        return;
    }
    let mut size = 0;
    for field in ["data", "binaryData"] {
        for (key, value) in entries(&value[field]) {
            let wrong = names::data_key(key);
            causes.extend(
                wrong
                    .iter()
                    .map(|why| Cause::invalid_text(&format!("{field}[{key}]"), key, why)),
            );
            let encoded = field == "binaryData" || target.kind.plural == "secrets";
            size += if encoded { value.len() / 4 * 3 } else { value.len() };
        }
    }
    if size > DATA {
        let field = if target.kind.plural == "secrets" {
            "data"
        } else {
            "[]"
        };
        causes.push(Cause::too_long(field, DATA));
    }
}

fn check_immutable(target: &Target, before: &Value, value: &Value, causes: &mut Vec<Cause>) {
    if !has_data(target) {
        return;
    }
    if target.kind.plural == "secrets" && before["type"] != value["type"] {
        causes.push(Cause::invalid("type", &value["type"], "field is immutable"));
    }
    if before["immutable"] == true {
        let why = "field is immutable when `immutable` is set";
        for field in ["immutable", "data", "binaryData"] {
            if before[field] != value[field] {
                causes.push(Cause::forbidden(field, why));
            }
        }
    }
}
