//! From a request that may pass to its answer: which resource, which operation.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use http::HeaderValue;
use serde_json::Value;

use crate::api::discovery;
use crate::api::table::Table;
use crate::api::writes;
use crate::read::list;
use crate::read::options::parse_version;
use crate::read::watch;
use crate::refusal::status::Status;
use crate::request::accept::Form;
use crate::request::info::{RequestInfo, Verb};
use crate::server::Inner;
use crate::state::object::{Object, ObjectKey};
use crate::state::target::Target;
use crate::tend::tend;
use crate::write::scale::Scale;
use crate::write::warnings::Warnings;

/// A successful answer.
pub(crate) enum Answer {
    Json(u16, Vec<u8>),
    /// JSON under a media type of its own.
    Typed(HeaderValue, Vec<u8>),
    Text(u16, String),
    Events(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
    /// An answer with something to tell beside it.
    Warned(Vec<String>, Box<Answer>),
}

impl Answer {
    pub(crate) fn json(value: &Value) -> Self {
        Self::Json(200, value.to_string().into_bytes())
    }

    pub(crate) fn warned(self, warnings: &Warnings) -> Self {
        let warnings = warnings.take();
        if warnings.is_empty() {
            return self;
        }
        Self::Warned(warnings, Box::new(self))
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
    if info.subresource() == Some("scale") {
        return writes::scale(server, &target, info, body);
    }
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
            let newest = store.seen(&target.kind, info.view());
            if asked > newest {
                return Err(Status::version_too_large(asked, newest));
            }
            let found = store.find_seen(&target.kind, &key, info.view());
            let found = found.ok_or_else(|| target.not_found(&key.name))?;
            Ok(one(200, &target, info, &found))
        }
        Verb::Create => writes::create(server, &target, info, body),
        Verb::Update => writes::update(server, &target, info, body),
        Verb::Patch => writes::patch(server, &target, info, body),
        Verb::Delete => writes::delete(server, &target, info, body),
        Verb::DeleteCollection => writes::delete_collection(server, &target, info, body),
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
    let target = Target {
        kind: Arc::clone(kind),
        version: version.clone(),
    };
    let status = match info.subresource() {
        None => false,
        Some("status") if version.status => true,
        Some("finalize") if kind.is_namespace() => match info.verb() {
            Verb::Update => false,
            _ => return Err(Some(Status::method_not_allowed())),
        },
        Some("scale") if Scale::of(&store, &target).is_some() => match info.verb() {
            Verb::Get | Verb::Update | Verb::Patch => false,
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
    Ok(target)
}

pub(crate) fn key(info: &RequestInfo) -> ObjectKey {
    ObjectKey::new(
        info.namespace().unwrap_or_default(),
        info.name().unwrap_or_default(),
    )
}

pub(crate) fn one(code: u16, target: &Target, info: &RequestInfo, object: &Object) -> Answer {
    let mut out = Vec::with_capacity(object.size() + 64);
    if info.metadata_only() {
        object.write_metadata(&mut out);
    } else {
        object.write(&target.version, &mut out);
    }
    Answer::Json(code, out)
}
