//! Watches: the event log of a resource as one client sees it through its selectors.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde_json::json;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use crate::read::filter::Filter;
use crate::read::options::ListOptions;
use crate::refusal::status::{Status, TOO_OLD};
use crate::request::info::RequestInfo;
use crate::server::Inner;
use crate::state::log::{Batch, Event, Signal, Told};
use crate::state::object::Object;
use crate::state::target::Target;

/// How often a watch that allows bookmarks gets one.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// How long before the end of a watch its last bookmark comes.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// How long a watch lasts that names no timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(45);
/// Seconds after which a watch ends whatever it asked for; keeps the sum with the clock in range.
const MAX_TIMEOUT: u64 = 24 * 60 * 60;
/// How many events go out in one frame.
const FRAME: usize = 64;

/// One running watch.
struct Watch {
    server: Arc<Inner>,
    target: Target,
    filter: Filter,
    metadata_only: bool,
    initial: std::vec::IntoIter<Arc<Object>>,
    /// The version that the mark at the end of the initial events carries.
    initial_end: Option<u64>,
    bookmarks: bool,
    /// Events up to this version were known to the client when it began.
    start: u64,
    sequence: u64,
    told: Arc<Told>,
    signal: Receiver<Signal>,
    started: Signal,
    deadline: Instant,
    bookmark_at: Instant,
    ended: bool,
}

/// Starts a watch, or says why it cannot start.
pub(crate) fn watch(
    server: &Arc<Inner>,
    target: Target,
    info: &RequestInfo,
) -> Result<impl Stream<Item = Bytes> + Send + use<>, Status> {
    let options = ListOptions::read(info, &target.kind, &target.version)?;
    // Unlike a list, a watch fails for this as if it were the server's fault.
    let asked = options.asked().map_err(|why| Status::new(500, "", why))?;
    let streaming = options.initial_events;
    let bookmarks = options.bookmarks;
    let now = Instant::now();
    let mut store = server.store();
    let current = store.seen(&target.kind, info.view());
    if store.registry.by_id(&target.kind.id).is_none() {
        // It went between the look at the path and this one; its watches have been ended already.
        return Err(Status::not_served());
    }
    let resource = store.resource(&target.kind);
    let from_now = streaming == Some(true) || asked == 0;
    let start = resource.sequence_after(if from_now { current } else { asked });
    let initial = if from_now && streaming != Some(false) {
        resource
            .snapshot(current, options.filter.namespace.as_deref(), None)
            .unwrap_or_default()
    } else {
        Vec::new()
    };
    let signal = resource.subscribe();
    let started = *signal.borrow();
    let told = resource.follow();
    drop(store);
    let timeout = match options.timeout {
        0 => DEFAULT_TIMEOUT,
        seconds => Duration::from_secs(seconds.min(MAX_TIMEOUT)),
    };
    let mut watch = Watch {
        server: Arc::clone(server),
        target,
        filter: options.filter,
        metadata_only: info.metadata_only(),
        initial: initial.into_iter(),
        initial_end: (streaming == Some(true) && bookmarks).then_some(current),
        bookmarks,
        start: if from_now { current } else { asked },
        sequence: start.unwrap_or_default(),
        told,
        signal,
        started,
        deadline: now + timeout,
        bookmark_at: next_bookmark(now, now + timeout),
        ended: false,
    };
    // A real server answers a start that cannot be with 200 and an error inside the stream.
    let impossible = if start.is_none() {
        Some(Status::expired(format!("{TOO_OLD}: {asked} ({current})")))
    } else {
        let ahead = streaming == Some(true) && asked > current;
        ahead.then(|| Status::version_too_large(asked, current))
    };
    watch.ended = impossible.is_some();
    let refused = impossible.as_ref().map(Status::to_event);
    let rest = futures::stream::unfold(watch, |mut watch| async move {
        let frame = watch.next().await?;
        Some((frame, watch))
    });
    Ok(futures::StreamExt::chain(futures::stream::iter(refused), rest))
}

/// Every minute, and shortly before the end, so that the next watch need not start far back.
fn next_bookmark(now: Instant, deadline: Instant) -> Instant {
    let regular = now + BOOKMARKS;
    let last = deadline.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
    last.map_or(regular, |last| regular.min(last))
}

/// What to do after a look at the log.
enum Step {
    Send(Vec<u8>),
    Again,
    /// All events up to this version have been seen.
    Wait(u64),
}

impl Watch {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.ended {
                return None;
            }
            let signal = *self.signal.borrow_and_update();
            if signal.cut != self.started.cut {
                return None;
            }
            if signal.expired != self.started.expired {
                self.ended = true;
                return Some(Status::expired(TOO_OLD).to_event());
            }
            let version = match self.step() {
                Step::Send(frame) => return Some(frame.into()),
                Step::Again => continue,
                Step::Wait(version) => version,
            };
            if let Some(frame) = self.wait(version).await {
                return Some(frame);
            }
        }
    }

    /// Waits for the next change, for the time of a bookmark, which it gives, or for the end.
    async fn wait(&mut self, version: u64) -> Option<Bytes> {
        let next = if self.bookmarks {
            self.deadline.min(self.bookmark_at)
        } else {
            self.deadline
        };
        tokio::select! {
            biased;
            changed = self.signal.changed() => {
                // The sender lives as long as the store, which this watch keeps alive.
                self.ended = changed.is_err();
                return None;
            }
            () = tokio::time::sleep_until(next) => {}
        }
        if next == self.deadline {
            self.ended = true;
            return None;
        }
        self.bookmark_at = next_bookmark(Instant::now(), self.deadline);
        // Nothing has happened since the watch began: there is nothing to tell.
        (version > self.start).then(|| self.bookmark(version, false).into())
    }

    fn step(&mut self) -> Step {
        let mut out = Vec::new();
        for object in self
            .initial
            .by_ref()
            .filter(|object| self.filter.matches(object))
            .take(FRAME)
        {
            write_event("ADDED", &object, &self.target, self.metadata_only, &mut out);
        }
        if !out.is_empty() {
            return Step::Send(out);
        }
        if let Some(version) = self.initial_end.take() {
            return Step::Send(self.bookmark(version, true));
        }
        let (batch, version) = {
            let mut store = self.server.store();
            if self.signal.borrow().cut != self.started.cut {
                // Since the last look; the store may be that of another life by now.
                return Step::Again;
            }
            let version = store.version;
            (
                store.resource(&self.target.kind).events(self.sequence, FRAME),
                version,
            )
        };
        let events = match batch {
            Batch::Events(events) => events,
            Batch::Lagged => {
                self.ended = true;
                return Step::Send(Status::expired(TOO_OLD).to_event().into());
            }
        };
        if events.is_empty() {
            self.told.up_to(self.sequence);
            return Step::Wait(version.max(self.start));
        }
        self.sequence += events.len() as u64;
        for event in events.iter().filter(|event| event.version > self.start) {
            self.write(event, &mut out);
        }
        if out.is_empty() {
            Step::Again
        } else {
            Step::Send(out)
        }
    }

    /// Writes an event as the selectors show it: an object that stops matching is deleted for this client.
    fn write(&self, event: &Event, out: &mut Vec<u8>) {
        let before = event.old.as_ref().filter(|old| self.filter.matches(old));
        let after = !event.removed && self.filter.matches(&event.new);
        let mut write = |kind, object: &Object| {
            write_event(kind, object, &self.target, self.metadata_only, out);
        };
        match (before, after) {
            (None, true) => write("ADDED", &event.new),
            (Some(_), true) => write("MODIFIED", &event.new),
            (Some(_), false) if event.removed => write("DELETED", &event.new),
            (Some(old), false) => write("DELETED", &old.at_version(event.version)),
            (None, false) => {}
        }
    }

    fn bookmark(&self, version: u64, initial_end: bool) -> Vec<u8> {
        let (kind, api_version) = if self.metadata_only {
            ("PartialObjectMetadata", "meta.k8s.io/v1")
        } else {
            (
                self.target.kind.kind.as_str(),
                self.target.version.api_version.as_str(),
            )
        };
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        format!("{}\n", json!({"type": "BOOKMARK", "object": object})).into_bytes()
    }
}

fn write_event(kind: &str, object: &Object, target: &Target, metadata_only: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    if metadata_only {
        object.write_metadata(out);
    } else {
        object.write(&target.version, out);
    }
    out.extend_from_slice(b"}\n");
}
