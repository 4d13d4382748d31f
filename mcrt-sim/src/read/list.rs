//! Lists: a consistent snapshot, in pages.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use crate::api::request::RequestInfo;
use crate::api::status::Status;
use crate::door::hook::TOO_OLD;
use crate::read::selector::Filter;
use crate::server::Inner;
use crate::state::object::{Object, ObjectKey};
use crate::write::operation::Target;

/// Where the next page starts, and the version that all pages show.
struct Position {
    version: u64,
    after: Option<ObjectKey>,
}

/// Answers a list.
pub(crate) fn list(server: &Inner, target: &Target, info: &RequestInfo) -> Result<Vec<u8>, Status> {
    let filter = filter(info)?;
    let limit = number(info, "limit")?.filter(|limit| *limit > 0);
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let (position, objects) = snapshot(server, target, info)?;
    let mut matching = objects.iter().filter(|object| filter.matches(object));
    let page: Vec<_> = matching.by_ref().take(limit).collect();
    let remaining = matching.count();
    let mut metadata = json!({"resourceVersion": position.version.to_string()});
    if let Some(last) = page.last().filter(|_| remaining > 0) {
        metadata["continue"] = encode(position.version, &last.key).into();
        if !filter.selects() {
            metadata["remainingItemCount"] = remaining.into();
        }
    }
    Ok(render(target, info.metadata_only(), &metadata.to_string(), &page))
}

/// The filter in a request's path and query.
pub(crate) fn filter(info: &RequestInfo) -> Result<Filter, Status> {
    Filter::parse(
        info.namespace(),
        info.query("labelSelector"),
        info.query("fieldSelector"),
    )
}

pub(crate) fn number(info: &RequestInfo, parameter: &str) -> Result<Option<u64>, Status> {
    let text = info.query(parameter).filter(|text| !text.is_empty());
    text.map(|text| {
        text.parse()
            .map_err(|_| Status::bad_request(format!("invalid {parameter}: \"{text}\" is not a number")))
    })
    .transpose()
}

fn snapshot(
    server: &Inner,
    target: &Target,
    info: &RequestInfo,
) -> Result<(Position, Vec<Arc<Object>>), Status> {
    let asked = number(info, "resourceVersion")?;
    let matching = info.query("resourceVersionMatch");
    if matching.is_some() && asked.is_none() {
        let why = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
        return Err(Status::invalid(
            "meta.k8s.io",
            "ListOptions",
            "",
            "resourceVersionMatch",
            why,
        ));
    }
    let exact = matching == Some("Exact");
    let mut store = server.store();
    let current = store.seen(&target.kind, info);
    let position = match info.continue_token() {
        Some(_) if asked.is_some_and(|asked| asked > 0) => {
            let why = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(why));
        }
        Some(token) => decode(token).ok_or_else(|| Status::bad_request("continue key is not valid"))?,
        None => match asked {
            Some(asked) if asked > current => return Err(Status::version_too_large(asked, current)),
            Some(asked) if exact && asked > 0 => Position {
                version: asked,
                after: None,
            },
            _ => Position {
                version: current,
                after: None,
            },
        },
    };
    let objects = store
        .resource(&target.kind)
        .snapshot(position.version, position.after.as_ref());
    let objects = objects.ok_or_else(|| match info.continue_token() {
        Some(_) => Status::expired(
            "The provided continue parameter is too old to display a consistent list result. You must \
             start a new list without the continue parameter.",
        ),
        None => Status::expired(format!("{TOO_OLD}: {} ({current})", position.version)),
    })?;
    Ok((position, objects))
}

fn render(target: &Target, metadata_only: bool, metadata: &str, page: &[&Arc<Object>]) -> Vec<u8> {
    let (kind, api_version) = if metadata_only {
        ("PartialObjectMetadata", "meta.k8s.io/v1")
    } else {
        (target.kind.kind.as_str(), target.version.api_version.as_str())
    };
    let size: usize = page.iter().map(|object| object.size() + 64).sum();
    let mut out = Vec::with_capacity(if metadata_only { 256 * page.len() } else { size } + 256);
    let head = format!("{{\"kind\":\"{kind}List\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},");
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(b"\"items\":[");
    for (index, object) in page.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match (metadata_only, target.kind.builtin) {
            (true, _) => object.write_metadata(&mut out),
            (false, true) => object.write_untyped(&mut out),
            (false, false) => object.write(&target.version, &mut out),
        }
    }
    out.extend_from_slice(b"]}");
    out
}

fn encode(version: u64, last: &ObjectKey) -> String {
    URL_SAFE_NO_PAD.encode(format!("{version}/{}/{}", last.namespace, last.name))
}

fn decode(token: &str) -> Option<Position> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let mut parts = text.splitn(3, '/');
    let version = parts.next()?.parse().ok()?;
    Some(Position {
        version,
        after: Some(ObjectKey::new(parts.next()?, parts.next()?)),
    })
}
