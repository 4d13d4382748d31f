//! Bodies under faults: streams that fall silent, break, lag or leave something out.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::BoxError;

use crate::faults::effects::Spoil;
use crate::refusal::status::{Status, TOO_OLD};

pub(crate) type Frames = BoxStream<'static, Result<Bytes, BoxError>>;

/// A connection that breaks.
pub(crate) fn broken() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer").into()
}

/// A connection that is refused.
pub(crate) fn refused() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused").into()
}

/// The events of a watch under faults.
pub(crate) fn spoil_events(events: BoxStream<'static, Bytes>, spoils: &[Spoil]) -> Frames {
    let frames = events.map(Ok).boxed();
    spoils.iter().fold(frames, |frames, spoil| match *spoil {
        Spoil::Stall => frames.take(1).chain(stream::pending()).boxed(),
        Spoil::Cut => frames.take(1).chain(once(Err(broken()))).boxed(),
        Spoil::SilenceAfter(after) => until(frames, after, stream::pending().boxed()),
        Spoil::CloseAfter(after) => until(frames, after, stream::empty().boxed()),
        Spoil::ResetAfter(after) => until(frames, after, once(Err(broken())).boxed()),
        Spoil::ExpireAfter(after) => {
            let event = Status::expired(TOO_OLD).to_event();
            until(frames, after, once(Ok(event)).boxed())
        }
        Spoil::Lag(lag) => later(frames, lag),
        Spoil::WithoutBookmarks => frames
            .filter_map(|frame| async { without_bookmarks(frame) })
            .boxed(),
    })
}

/// A body of known bytes under faults; nothing if they do not concern it.
pub(crate) fn spoil_whole(bytes: &Bytes, spoils: &[Spoil]) -> Option<Frames> {
    let then = spoils.iter().find_map(|spoil| match spoil {
        Spoil::Stall => Some(stream::pending().boxed()),
        Spoil::Cut => Some(once(Err(broken())).boxed()),
        _ => None,
    })?;
    Some(once(Ok(bytes.slice(..bytes.len() / 2))).chain(then).boxed())
}

fn once(frame: Result<Bytes, BoxError>) -> impl futures::Stream<Item = Result<Bytes, BoxError>> + Send {
    stream::iter([frame])
}

/// A stream that another takes the place of once its time has come; one that ends before just ends.
fn until(frames: Frames, after: Duration, then: Frames) -> Frames {
    struct Until {
        frames: Frames,
        sleep: Pin<Box<Sleep>>,
        then: Option<Frames>,
    }
    let start = Until {
        frames,
        sleep: Box::pin(sleep_until(Instant::now() + after)),
        then: Some(then),
    };
    stream::unfold(start, |mut state| async move {
        let next = if state.then.is_some() {
            tokio::select! {
                biased;
                () = &mut state.sleep => {
                    state.frames = state.then.take()?;
                    state.frames.next().await
                }
                next = state.frames.next() => next,
            }
        } else {
            state.frames.next().await
        };
        next.map(|frame| (frame, state))
    })
    .boxed()
}

/// A stream whose frames come later, the end too.
fn later(frames: Frames, lag: Duration) -> Frames {
    struct Later {
        frames: Frames,
        waiting: VecDeque<(Instant, Option<Result<Bytes, BoxError>>)>,
        ended: bool,
    }
    let start = Later {
        frames,
        waiting: VecDeque::new(),
        ended: false,
    };
    stream::unfold(start, move |mut state| async move {
        loop {
            let due = state.waiting.front().map(|(due, _)| *due);
            tokio::select! {
                biased;
                () = async {
                    match due {
                        Some(due) => sleep_until(due).await,
                        None => std::future::pending().await,
                    }
                } => {
                    let (_, frame) = state.waiting.pop_front()?;
                    return frame.map(|frame| (frame, state));
                }
                next = state.frames.next(), if !state.ended => {
                    state.ended = next.is_none();
                    state.waiting.push_back((Instant::now() + lag, next));
                }
            }
        }
    })
    .boxed()
}

fn without_bookmarks(frame: Result<Bytes, BoxError>) -> Option<Result<Bytes, BoxError>> {
    let Ok(bytes) = frame else { return Some(frame) };
    let kept: Vec<_> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !is_bookmark(line))
        .collect();
    let kept = kept.concat();
    (!kept.is_empty()).then(|| Ok(kept.into()))
}

fn is_bookmark(line: &[u8]) -> bool {
    // Only lines that may be one are worth reading in full.
    line.windows(10).any(|part| part == b"\"BOOKMARK\"")
        && serde_json::from_slice::<Value>(line).is_ok_and(|event| event["type"] == "BOOKMARK")
}
