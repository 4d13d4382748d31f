//! From a request that may pass to its answer: which resource, which operation.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use serde_json::{Value, json};

use crate::api::discovery;
use crate::api::request::{RequestInfo, Verb};
use crate::api::status::Status;
use crate::merge::patch::PatchType;
use crate::read::list;
use crate::read::watch;
use crate::server::Inner;
use crate::state::object::{Object, ObjectKey};
use crate::write::admit::admit;
use crate::write::delete::{DeleteOptions, Deleted, Propagation};
use crate::write::operation::{Target, WriteOptions};
use crate::write::tend::tend;

/// A successful answer.
pub(crate) enum Answer {
    Json(u16, Vec<u8>),
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
    let target = match find_target(server, info) {
        Ok(target) => target,
        Err(None) => return Ok(page_not_found()),
        Err(Some(status)) => return Err(status),
    };
    match info.verb() {
        Verb::List => list::list(server, &target, info).map(|list| Answer::Json(200, list)),
        Verb::Watch => {
            let events = watch::watch(server, target, info)?;
            Ok(Answer::Events(Box::pin(events)))
        }
        Verb::Get => {
            let key = key(info);
            let found = server.store().find_seen(&target.kind, &key, info);
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
        let known = store.registry.has_builtin(info.group(), info.version());
        return Err(known.then(Status::not_served));
    };
    let status = match info.subresource() {
        None => false,
        Some("status") if version.status => true,
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
    if collection || on_object || status && info.verb() == Verb::Delete {
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

fn options(info: &RequestInfo) -> Result<WriteOptions, Status> {
    let dry_run = match info.query("dryRun") {
        None | Some("") => false,
        Some("All") => true,
        Some(other) => {
            return Err(Status::new(
                422,
                "Invalid",
                format!("dryRun: Unsupported value: \"{other}\""),
            ));
        }
    };
    let status = info.subresource() == Some("status");
    Ok(WriteOptions {
        dry_run,
        status,
        ..WriteOptions::by(info.manager())
    })
}

fn parse(body: &[u8]) -> Result<Value, Status> {
    serde_json::from_slice(body).map_err(|error| {
        // Position only: the text of the error may quote the body, and the body may be a Secret.
        let (line, column) = (error.line(), error.column());
        Status::bad_request(format!(
            "the body of the request is not JSON: line {line}, column {column}"
        ))
    })
}

fn create(server: &Inner, target: &Target, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    let mut value = parse(body)?;
    admit(target, info.namespace(), None, &mut value)?;
    let object = server.store().create(target, value, &options(info)?)?;
    Ok(one(201, target, info, &object))
}

fn update(server: &Inner, target: &Target, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    let mut value = parse(body)?;
    admit(target, info.namespace(), info.name(), &mut value)?;
    let key = key(info);
    let mut store = server.store();
    let old = store
        .find(&target.kind, &key)
        .ok_or_else(|| target.not_found(&key.name))?;
    let version = value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if version.is_empty() && !target.kind.builtin {
        let why = "Invalid value: 0x0: must be specified for an update";
        return Err(target.invalid(&key.name, "metadata.resourceVersion", why));
    }
    let object = store.replace(target, &old, value, &options(info)?)?;
    Ok(one(200, target, info, &object))
}

fn patch(server: &Inner, target: &Target, info: &RequestInfo, body: &[u8]) -> Result<Answer, Status> {
    let kind = PatchType::parse(info.content_type())?;
    let mut value = parse(body)?;
    let key = key(info);
    if kind != PatchType::Apply {
        let object = server
            .store()
            .patch(target, &key, kind, &value, &options(info)?)?;
        return Ok(one(200, target, info, &object));
    }
    if info.query("fieldManager").is_none_or(str::is_empty) {
        let why = "Required value: is required for apply patch";
        return Err(Status::invalid(
            "meta.k8s.io",
            "PatchOptions",
            "",
            "fieldManager",
            why,
        ));
    }
    admit(target, info.namespace(), info.name(), &mut value)?;
    let applied = server
        .store()
        .apply(target, &key, value, &options(info)?, info.flag("force"));
    let (object, created) = applied?;
    Ok(one(if created { 201 } else { 200 }, target, info, &object))
}

fn delete_options(info: &RequestInfo, body: &[u8]) -> Result<DeleteOptions, Status> {
    let body = if body.is_empty() { json!({}) } else { parse(body)? };
    let precondition = |field: &str| body["preconditions"][field].as_str().map(str::to_owned);
    let policy = body["propagationPolicy"]
        .as_str()
        .or(info.query("propagationPolicy"));
    let propagation = match policy {
        Some("Orphan") => Propagation::Orphan,
        Some("Foreground") => Propagation::Foreground,
        None if body["orphanDependents"] == true => Propagation::Orphan,
        Some("Background") => Propagation::Background,
        None | Some("") => Propagation::Unsaid,
        Some(other) => {
            let why = format!("Unsupported value: \"{other}\"");
            return Err(Status::invalid(
                "meta.k8s.io",
                "DeleteOptions",
                "",
                "propagationPolicy",
                &why,
            ));
        }
    };
    let dry_run = body["dryRun"].as_array().is_some_and(|all| !all.is_empty()) || options(info)?.dry_run;
    Ok(DeleteOptions {
        uid: precondition("uid"),
        version: precondition("resourceVersion"),
        propagation,
        dry_run,
    })
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
    let filter = list::filter(info)?;
    let mut store = server.store();
    let objects = store.in_namespace(&target.kind.id, info.namespace());
    let mut items = Vec::new();
    for object in objects.iter().filter(|object| filter.matches(object)) {
        match store.delete(target, &object.key, &options) {
            Ok(Deleted::Gone(object) | Deleted::Pending(object)) => items.push(target.thaw(&object)),
            // The garbage collector was faster.
            Err(status) if status.code() == 404 => {}
            Err(status) => return Err(status),
        }
    }
    Ok(Answer::json(&json!({
        "kind": format!("{}List", target.kind.kind), "apiVersion": target.version.api_version,
        "metadata": {"resourceVersion": store.version.to_string()}, "items": items,
    })))
}
