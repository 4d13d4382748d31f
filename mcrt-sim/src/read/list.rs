//! Lists: a consistent snapshot, in pages.

use std::sync::Arc;

use serde_json::json;

use crate::read::options::{ListOptions, Matching};
use crate::read::page::Position;
use crate::refusal::status::Status;
use crate::request::info::RequestInfo;
use crate::server::Inner;
use crate::state::object::{Object, ObjectKey};
use crate::state::store::Store;
use crate::state::target::Target;

/// One page of a list.
pub(crate) struct Page {
    pub(crate) objects: Vec<Arc<Object>>,
    version: u64,
    /// The token of the next page.
    next: Option<String>,
    /// How many objects follow; not told where selectors would make counting expensive.
    remaining: Option<usize>,
}

impl Page {
    /// What the list says about itself.
    pub(crate) fn metadata(&self) -> serde_json::Value {
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if let Some(next) = &self.next {
            metadata["continue"] = next.as_str().into();
        }
        if let Some(remaining) = self.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
        metadata
    }
}

/// Answers a list.
pub(crate) fn list(server: &Inner, target: &Target, info: &RequestInfo) -> Result<Vec<u8>, Status> {
    let options = ListOptions::read(info, &target.kind, &target.version)?;
    let mut store = server.store();
    let newest = store.seen(&target.kind, info.view());
    let page = page(&mut store, target, &options, newest)?;
    drop(store);
    let metadata = page.metadata().to_string();
    Ok(render(target, info.metadata_only(), &metadata, &page.objects))
}

/// What a list is to show.
struct Wanted {
    /// Nothing for the present.
    version: Option<u64>,
    after: Option<ObjectKey>,
    limit: usize,
}

/// Reads the page that the options ask for, from a server whose newest version this is.
pub(crate) fn page(
    store: &mut Store,
    target: &Target,
    options: &ListOptions,
    newest: u64,
) -> Result<Page, Status> {
    let wanted = wanted(options, newest)?;
    let namespace = options.filter.namespace.as_deref();
    let version = wanted.version.unwrap_or(newest);
    let after = wanted.after.as_ref();
    let objects = store.resource(&target.kind).snapshot(version, namespace, after);
    let mut here = objects.ok_or_else(|| expired(after, namespace))?.into_iter();
    let matching = here.by_ref().filter(|object| options.filter.matches(object));
    let objects: Vec<_> = matching.take(wanted.limit).collect();
    // What is left may match nothing: like a real server, this one does not look ahead.
    let left = here.count();
    let next = objects.last().filter(|_| left > 0).map(|last| {
        let position = Position {
            version: Some(version),
            after: last.key.clone(),
        };
        position.encode(namespace)
    });
    let counted = next.is_some() && !options.filter.selects();
    Ok(Page {
        objects,
        version,
        next,
        remaining: counted.then_some(left),
    })
}

fn wanted(options: &ListOptions, current: u64) -> Result<Wanted, Status> {
    let limit = match options.limit {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    if let Some(token) = &options.token {
        let position = Position::decode(token, options.filter.namespace.as_deref())
            .map_err(|why| Status::bad_request(format!("invalid continue token: {why}")))?;
        if options.version.as_deref().is_some_and(|version| version != "0") {
            let why = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(why));
        }
        return Ok(Wanted {
            version: position.version,
            after: Some(position.after),
            limit,
        });
    }
    let asked = options
        .asked()
        .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
    if asked > current {
        return Err(Status::version_too_large(asked, current));
    }
    // An old client that names a version and a limit means exactly that version.
    let exact = options.matching == Matching::Exact
        || options.matching == Matching::Unset && options.limit > 0 && asked > 0;
    // Version 0 is answered from memory, where nobody counts.
    let from_memory = options.version.as_deref() == Some("0");
    Ok(Wanted {
        version: exact.then_some(asked),
        after: None,
        limit: if from_memory { usize::MAX } else { limit },
    })
}

fn expired(after: Option<&ObjectKey>, namespace: Option<&str>) -> Status {
    let Some(after) = after else {
        return Status::expired("The resourceVersion for the provided list is too old.");
    };
    let rest = Position {
        version: None,
        after: after.clone(),
    };
    Status::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of \
         the results. Continuing with the provided token results in an inconsistent list - objects that were \
         created, modified, or deleted between the time the first chunk was returned and now may show up in the \
         list.",
    )
    .with_next(&rest.encode(namespace))
}

/// Writes objects as a list of their kind.
pub(crate) fn render(
    target: &Target,
    metadata_only: bool,
    metadata: &str,
    objects: &[Arc<Object>],
) -> Vec<u8> {
    let (kind, api_version) = if metadata_only {
        ("PartialObjectMetadata", "meta.k8s.io/v1")
    } else {
        (target.kind.kind.as_str(), target.version.api_version.as_str())
    };
    let size: usize = objects.iter().map(|object| object.size() + 64).sum();
    let mut out = Vec::with_capacity(if metadata_only { 256 * objects.len() } else { size } + 256);
    let head = format!("{{\"kind\":\"{kind}List\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},");
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(b"\"items\":[");
    for (index, object) in objects.iter().enumerate() {
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
