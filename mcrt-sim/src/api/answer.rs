//! From a request that may pass to its answer: which resource, which operation.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use http::HeaderValue;
use serde_json::{Value, json};

use crate::api::accept::Form;
use crate::api::discovery;
use crate::api::options::{delete_options, write_options};
use crate::api::request::{RequestInfo, Verb};
use crate::api::status::Status;
use crate::api::table::Table;
use crate::merge::apply::check_config;
use crate::merge::patch::PatchType;
use crate::read::list;
use crate::read::options::{ListOptions, parse_version};
use crate::read::watch;
use crate::server::Inner;
use crate::state::object::{Object, ObjectKey, meta_mut};
use crate::write::admit::admit;
use crate::write::delete::Deleted;
use crate::write::operation::Target;
use crate::write::tend::tend;

/// A successful answer.
pub(crate) enum Answer {
    Json(u16, Vec<u8>),
    /// JSON under a media type of its own.
    Typed(HeaderValue, Vec<u8>),
    Text(u16, String),
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Answer {
    pub(crate) fn json(value: &Value) -> Self {
        Self::Json(200, value.to_string().into_bytes())
    }
}

pub(crate) fn answer(server: &Arc<Inner>, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    let answer = carry_out(server, info, body);
    if !matches!(info.verb(), Verb::Get | Verb::List | Verb::Watch | Verb::Raw) {
        tend(server);
    }
    answer
}

fn carry_out(server: &Arc<Inner>, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    if info.verb() == Verb::Raw {
        return discovery::answer(server, info);
    }
    if !info.takes_json() {
        return Err(Status::not_acceptable());
    }
    let target = match find_target(server, info) {
        Ok(target) => target,
        Err(None) => return Ok(page_not_found()),
        Err(Some(status)) => return Err(status),
    };
    info.form().check()?;
    info.form().check_list(info.verb() == Verb::List)?;
    let is_table = info.form() == Form::Table;
    let table = is_table.then(|| Table::new(server, &target, info)).transpose()?;
    let answer = operate(server, target, info, body)?;
    Ok(match table {
        Some(table) => table.show(answer),
        None => answer,
    })
}

fn operate(server: &Arc<Inner>, target: Target, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    match info.verb() {
        Verb::List => list::list(server, &target, info).map(|list| Answer::Json(200, list)),
        Verb::Watch => {
            let events = watch::watch(server, target, info)?;
            Ok(Answer::Events(Box::pin(events)))
        }
        Verb::Get => {
            let key = key(info);
            let mut store = server.store();
            let asked = parse_version(info.resource_version().unwrap_or_default());
            let asked = asked.map_err(|why| Status::new(500, "", why))?;
            let newest = store.seen(&target.kind, info);
            if asked > newest {
                return Err(Status::version_too_large(asked, newest));
            }
            let found = store.find_seen(&target.kind, &key, info);
            let found = found.ok_or_else(|| target.not_found(&key.name))?;
            Ok(one(200, &target, info, &found))
        }
        Verb::Create => create(server, &target, info, body),
        Verb::Update => update(server, &target, info, body),
        Verb::Patch => patch(server, &target, info, body),
        Verb::Delete => delete(server, &target, info, body),
        Verb::DeleteCollection => delete_collection(server, &target, info, body),
        Verb::Raw => Ok(page_not_found()),
    }
}

/// What paths outside every served group get; not a `Status`, as on a real server.
pub(crate) fn page_not_found() -> Answer {
    Answer::Text(404, "404 page not found\n".to_owned())
}

/// The resource of a path. No status in the error: the path lies outside every served group.
fn find_target(server: &Inner, info: &RequestInfo) -> Result<Target, Option<Status>> {
    let store = server.store();
    let kind = store.registry.by_plural(info.group(), info.plural());
    let found = kind.and_then(|kind| Some((kind, kind.version(info.version())?)));
    let Some((kind, version)) = found else {
        // The core group answers for all of its versions, also for those that there are not.
        let known = info.group().is_empty() || store.registry.has_builtin(info.group(), info.version());
        return Err(known.then(Status::not_served));
    };
    let status = match info.subresource() {
        None => false,
        Some("status") if version.status => true,
        Some("finalize") if kind.is_namespace() => match info.verb() {
            Verb::Update => false,
            _ => return Err(Some(Status::method_not_allowed())),
        },
        Some(_) => return Err(Some(Status::not_served())),
    };
    let crosses = info.namespace().is_none() && matches!(info.verb(), Verb::List | Verb::Watch);
    if kind.namespaced != info.namespace().is_some() && !(kind.namespaced && crosses) {
        // Writing to all namespaces at once is refused as a method, not as a path.
        let spans = kind.namespaced && info.name().is_none();
        return Err(Some(if spans {
            Status::method_not_allowed()
        } else {
            Status::not_served()
        }));
    }
    let collection = info.name().is_none() && matches!(info.verb(), Verb::Update | Verb::Patch);
    let on_object = info.name().is_some() && info.verb() == Verb::Create;
    // Namespaces go one by one: their content has to go first.
    let all_namespaces = kind.is_namespace() && info.verb() == Verb::DeleteCollection;
    if collection || on_object || all_namespaces || status && info.verb() == Verb::Delete {
        return Err(Some(Status::method_not_allowed()));
    }
    Ok(Target {
        kind: Arc::clone(kind),
        version: version.clone(),
    })
}

fn key(info: &RequestInfo) -> ObjectKey {
    ObjectKey::new(
        info.namespace().unwrap_or_default(),
        info.name().unwrap_or_default(),
    )
}

fn one(code: u16, target: &Target, info: &RequestInfo, object: &Object) -> Answer {
    let mut out = Vec::with_capacity(object.size() + 64);
    if info.metadata_only() {
        object.write_metadata(&mut out);
    } else {
        object.write(&target.version, &mut out);
    }
    Answer::Json(code, out)
}

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

fn create(server: &Inner, target: &Target, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    let mut value = parse(target, info, body)?;
    admit(target, info.namespace(), None, &mut value)?;
    let options = write_options(info)?;
    let object = server.store().create(target, value, &options)?;
    Ok(one(201, target, info, &object))
}

fn update(server: &Inner, target: &Target, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    let mut value = parse(target, info, body)?;
    admit(target, info.namespace(), info.name(), &mut value)?;
    let key = key(info);
    let options = write_options(info)?;
    let mut store = server.store();
    let Some(old) = store.find(&target.kind, &key) else {
        if !target.kind.is_made_by_update() {
            return Err(target.not_found(&key.name));
        }
        meta_mut(&mut value).remove("resourceVersion");
        let object = store.create(target, value, &options)?;
        return Ok(one(201, target, info, &object));
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
    Ok(one(200, target, info, &object))
}

fn patch(server: &Inner, target: &Target, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    let kind = PatchType::parse(info.content_type())?;
    let options = write_options(info)?;
    let mut value = parse(target, info, body)?;
    let key = key(info);
    if kind != PatchType::Apply {
        let object = server.store().patch(target, &key, kind, &value, &options)?;
        return Ok(one(200, target, info, &object));
    }
    check_config(target, &value)?;
    admit(target, info.namespace(), info.name(), &mut value)?;
    let applied = server
        .store()
        .apply(target, &key, value, &options, info.flag("force"));
    let (object, created) = applied?;
    Ok(one(if created { 201 } else { 200 }, target, info, &object))
}

fn delete(server: &Inner, target: &Target, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
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

fn delete_collection(
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
