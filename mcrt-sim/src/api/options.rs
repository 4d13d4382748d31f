//! The options of writes and deletes: how they are read from query and body, and which of them go together.

use serde_json::Value;

use crate::refusal::cause::Cause;
use crate::refusal::status::Status;
use crate::request::info::{RequestInfo, Verb};
use crate::write::delete::{DeleteOptions, Propagation};
use crate::write::operation::{Unknown, WriteOptions};

/// How many bytes the name of a field manager may have.
const MANAGER: usize = 128;

/// Reads the options of a create, an update or a patch.
pub(crate) fn write_options(info: &RequestInfo) -> Result<WriteOptions, Status> {
    let kind = match info.verb() {
        Verb::Create => "CreateOptions",
        Verb::Update => "UpdateOptions",
        _ => "PatchOptions",
    };
    let mut causes = Vec::new();
    let manager = info.query("fieldManager").unwrap_or_default();
    if info.verb() == Verb::Patch
        && info.content_type().starts_with("application/apply-patch")
        && manager.is_empty()
    {
        causes.push(Cause::required("fieldManager", "is required for apply patch"));
    }
    check_manager(manager, &mut causes);
    let dry_run: Vec<_> = info
        .query_all("dryRun")
        .filter(|value| !value.is_empty())
        .collect();
    check_dry_run(&dry_run, &mut causes);
    let validation = info.query("fieldValidation").unwrap_or_default();
    let unknown = match validation {
        "Ignore" => Unknown::Ignore,
        "Strict" => Unknown::Refuse,
        _ => Unknown::Warn,
    };
    if !matches!(validation, "" | "Ignore" | "Warn" | "Strict") {
        causes.push(Cause::unsupported(
            "fieldValidation",
            validation,
            &["", "Ignore", "Strict", "Warn"],
        ));
    }
    refuse(kind, &causes)?;
    Ok(WriteOptions {
        dry_run: !dry_run.is_empty(),
        status: info.subresource() == Some("status"),
        patch: info.verb() == Verb::Patch,
        unknown,
        ..WriteOptions::by(info.manager())
    })
}

fn check_manager(manager: &str, causes: &mut Vec<Cause>) {
    if manager.len() > MANAGER {
        causes.push(Cause::too_long("fieldManager", MANAGER));
    }
    for (at, letter) in manager.char_indices().filter(|(_, letter)| letter.is_control()) {
        let code = u32::from(letter);
        let why = format!("invalid character U+{code:04X} (at position {at})");
        causes.push(Cause::invalid_text("fieldManager", manager, &why));
    }
}

fn check_dry_run(values: &[&str], causes: &mut Vec<Cause>) {
    if values.iter().any(|value| *value != "All") {
        causes.push(Cause::unsupported_list(
            "dryRun",
            format_args!("{values:?}"),
            &["All"],
        ));
    }
}

fn refuse(kind: &str, causes: &[Cause]) -> Result<(), Status> {
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid_fields("meta.k8s.io", kind, "", causes))
    }
}

/// Reads the options of a delete: those in the body, or without one those in the query.
pub(crate) fn delete_options(info: &RequestInfo, body: &[u8]) -> Result<DeleteOptions, Status> {
    let body = read_body(body)?;
    let field = |name: &str| body.as_ref().map(|body| &body[name]);
    let text = |name: &str| match field(name) {
        Some(value) => value.as_str(),
        None => info.query(name),
    };
    let dry_run: Vec<_> = match field("dryRun") {
        Some(values) => values
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect(),
        None => info
            .query_all("dryRun")
            .filter(|value| !value.is_empty())
            .collect(),
    };
    let orphans = match field("orphanDependents") {
        Some(value) => value.as_bool(),
        None => info
            .query("orphanDependents")
            .map(|_| info.flag("orphanDependents")),
    };
    let policy = text("propagationPolicy").filter(|policy| !policy.is_empty());
    let mut causes = Vec::new();
    let propagation = propagation(policy, orphans, &mut causes);
    check_dry_run(&dry_run, &mut causes);
    refuse("DeleteOptions", &causes)?;
    let precondition = |name: &str| Some(field("preconditions")?[name].as_str()?.to_owned());
    let grace = match field("gracePeriodSeconds") {
        Some(value) => value.as_i64(),
        None => info
            .query("gracePeriodSeconds")
            .and_then(|value| value.parse().ok()),
    };
    Ok(DeleteOptions {
        uid: precondition("uid"),
        version: precondition("resourceVersion"),
        propagation,
        grace,
        dry_run: !dry_run.is_empty(),
    })
}

fn read_body(body: &[u8]) -> Result<Option<Value>, Status> {
    if body.is_empty() {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Status::bad_request(format!(
            "couldn't get version/kind; json parse error: line {line}, column {column}"
        ))
    })?;
    let kind = value["kind"].as_str().filter(|kind| !kind.is_empty());
    if let Some(kind) = kind.filter(|kind| *kind != "DeleteOptions") {
        let version = value["apiVersion"].as_str().unwrap_or_default();
        return Err(Status::bad_request(format!(
            "no kind {kind:?} is registered for version {version:?} as options"
        )));
    }
    Ok(Some(value))
}

fn propagation(policy: Option<&str>, orphans: Option<bool>, causes: &mut Vec<Cause>) -> Propagation {
    const FIELD: &str = "propagationPolicy";
    if let Some(policy) = policy.filter(|_| orphans.is_some()) {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        causes.push(Cause::invalid_text(FIELD, policy, why));
    }
    match (policy, orphans) {
        (Some("Orphan"), _) | (None, Some(true)) => Propagation::Orphan,
        (Some("Foreground"), _) => Propagation::Foreground,
        (Some("Background"), _) | (None, Some(false)) => Propagation::Background,
        (None, None) => Propagation::Unsaid,
        (Some(other), _) => {
            causes.push(Cause::unsupported(
                FIELD,
                other,
                &["Foreground", "Background", "Orphan", "nil"],
            ));
            Propagation::Unsaid
        }
    }
}
