//! Writes as they come in: their bodies and options, and their answers.

use serde_json::{Value, json};

use crate::api::answer::{Answer, key, one};
use crate::api::options::{delete_options, write_options};
use crate::read::list;
use crate::read::options::ListOptions;
use crate::refusal::status::Status;
use crate::request::info::{RequestInfo, Verb};
use crate::server::Inner;
use crate::state::object::meta_mut;
use crate::state::target::Target;
use crate::write::admit::admit;
use crate::write::apply::check_config;
use crate::write::delete::Deleted;
use crate::write::patch::{self, PatchType};
use crate::write::scale::Scale;

/// Reads the body of a write. Only the place of an error is told: its text may quote the body, which may be secret.
fn parse(target: &Target, info: &RequestInfo, body: &[u8]) -> Result<Value, Status> {
    let content_type = info.content_type().split(';').next().unwrap_or_default().trim();
    let known = matches!(content_type, "" | "application/json" | "application/yaml");
    if info.verb() != Verb::Patch && !known {
        return Err(Status::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: application/json, \
             application/yaml, application/vnd.kubernetes.protobuf",
        ));
    }
    serde_json::from_slice(body).map_err(|error| {
        let kind = &target.kind.kind;
        let (line, column) = (error.line(), error.column());
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
             error: line {line}, column {column}"
        ))
    })
}

pub(crate) fn create(
    server: &Inner,
    target: &Target,
    info: &RequestInfo,
    body: &[u8],
) -> Result<Answer, Status> {
    let mut value = parse(target, info, body)?;
    admit(target, info.namespace(), None, &mut value)?;
    let options = write_options(info)?;
    let object = server.store().create(target, value, &options)?;
    Ok(one(201, target, info, &object).warned(&options.warnings))
}

pub(crate) fn update(
    server: &Inner,
    target: &Target,
    info: &RequestInfo,
    body: &[u8],
) -> Result<Answer, Status> {
    let mut value = parse(target, info, body)?;
    admit(target, info.namespace(), info.name(), &mut value)?;
    let key = key(info);
    let options = write_options(info)?;
    let mut store = server.store();
    let Some(old) = store.find(&target.kind, &key) else {
        if !target.kind.is_made_by_update() || info.subresource().is_some() {
            return Err(target.not_found(&key.name));
        }
        meta_mut(&mut value).remove("resourceVersion");
        let object = store.create(target, value, &options)?;
        return Ok(one(201, target, info, &object).warned(&options.warnings));
    };
    let version = value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if version.is_empty() && !target.kind.builtin {
        let why = "Invalid value: 0x0: must be specified for an update";
        return Err(target.invalid(&key.name, "metadata.resourceVersion", why));
    }
    let object = if info.subresource() == Some("finalize") {
        store.finalize_namespace(target, &old, &value, &options)?
    } else {
        store.replace(target, &old, value, &options)?
    };
    Ok(one(200, target, info, &object).warned(&options.warnings))
}

pub(crate) fn patch(
    server: &Inner,
    target: &Target,
    info: &RequestInfo,
    body: &[u8],
) -> Result<Answer, Status> {
    let kind = PatchType::parse(info.content_type())?;
    let options = write_options(info)?;
    let mut value = parse(target, info, body)?;
    let key = key(info);
    if kind != PatchType::Apply {
        let object = server.store().patch(target, &key, kind, &value, &options)?;
        return Ok(one(200, target, info, &object).warned(&options.warnings));
    }
    check_config(target, &value)?;
    admit(target, info.namespace(), info.name(), &mut value)?;
    let applied = server
        .store()
        .apply(target, &key, value, &options, info.flag("force"));
    let (object, created) = applied?;
    Ok(one(if created { 201 } else { 200 }, target, info, &object))
}

pub(crate) fn delete(
    server: &Inner,
    target: &Target,
    info: &RequestInfo,
    body: &[u8],
) -> Result<Answer, Status> {
    let options = delete_options(info, body)?;
    let key = key(info);
    Ok(match server.store().delete(target, &key, &options)? {
        Deleted::Pending(object) => one(200, target, info, &object),
        Deleted::Gone(object) => {
            let mut details = json!({"name": &*key.name, "kind": target.kind.plural, "uid": &*object.uid});
            if !target.kind.group.is_empty() {
                details["group"] = target.kind.group.as_str().into();
            }
            Answer::json(&json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
            }))
        }
    })
}

pub(crate) fn delete_collection(
    server: &Inner,
    target: &Target,
    info: &RequestInfo,
    body: &[u8],
) -> Result<Answer, Status> {
    let options = delete_options(info, body)?;
    let selected = ListOptions::read(info, &target.kind, &target.version)?;
    let mut store = server.store();
    let newest = store.version;
    let page = list::page(&mut store, target, &selected, newest)?;
    for object in &page.objects {
        store.delete(target, &object.key, &options)?;
    }
    let metadata = page.metadata().to_string();
    Ok(Answer::Json(
        200,
        list::render(target, info.metadata_only(), &metadata, &page.objects),
    ))
}

/// Answers for the scale of an object: reads, replaces or patches it.
pub(crate) fn scale(
    server: &Inner,
    target: &Target,
    info: &RequestInfo,
    body: &[u8],
) -> Result<Answer, Status> {
    let options = write_options(info)?;
    let key = key(info);
    let mut store = server.store();
    let scale = Scale::of(&store, target).ok_or_else(Status::not_served)?;
    let old = store
        .find(&target.kind, &key)
        .ok_or_else(|| target.not_found(&key.name))?;
    let mut wanted = scale.show(&target.thaw(&old));
    match info.verb() {
        Verb::Get => return Ok(Answer::json(&wanted)),
        Verb::Patch => {
            let change = parse(target, info, body)?;
            match PatchType::parse(info.content_type())? {
                PatchType::Json => patch::json_patch(&mut wanted, &change)?,
                PatchType::Merge | PatchType::Strategic => json_patch::merge(&mut wanted, &change),
                PatchType::Apply => {
                    let why = "a scale cannot be applied to this server";
                    return Err(Status::unsupported_media_type(why));
                }
            }
        }
        _ => wanted = parse(target, info, body)?,
    }
    let object = store.rescale(target, &old, &scale, &wanted, &options)?;
    Ok(Answer::json(&scale.show(&target.thaw(&object))))
}
