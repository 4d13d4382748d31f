//! Response bodies: a block of bytes, a stream of events, or silence.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};
use tower::BoxError;

use crate::door::counters::Open;
use crate::faults::gate::Gate;
use crate::faults::stream::Frames;

type Events = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The body of an answer. Dropping it ends the request, a watch included.
pub struct Body {
    content: Content,
    guards: Guards,
}

/// What lasts until the body is dropped.
pub(crate) struct Guards {
    /// The request is counted as open.
    pub(crate) _request: Open,
    /// So is the watch, if it is one.
    pub(crate) _watch: Option<Open>,
    /// Nothing leaves while it is closed.
    pub(crate) gate: Arc<Gate>,
}

enum Content {
    Whole(Option<Bytes>),
    Events(Events),
    Frames(Frames),
    Silence,
}

impl Body {
    pub(crate) fn whole(bytes: Bytes, guards: Guards) -> Self {
        Self {
            content: Content::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())),
            guards,
        }
    }

    pub(crate) fn events(events: impl Stream<Item = Bytes> + Send + 'static, guards: Guards) -> Self {
        Self {
            content: Content::Events(Box::pin(events)),
            guards,
        }
    }

    /// A body under faults.
    pub(crate) fn frames(frames: Frames, guards: Guards) -> Self {
        Self {
            content: Content::Frames(frames),
            guards,
        }
    }

    pub(crate) fn silence(guards: Guards) -> Self {
        Self {
            content: Content::Silence,
            guards,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.guards.gate.poll(cx).is_pending() {
            return Poll::Pending;
        }
        match &mut self.content {
            Content::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Events(events) => events
                .as_mut()
                .poll_next(cx)
                .map(|next| next.map(|bytes| Ok(Frame::data(bytes)))),
            Content::Frames(frames) => frames
                .as_mut()
                .poll_next(cx)
                .map(|next| next.map(|frame| frame.map(Frame::data))),
            // Nothing will ever come, so there is nothing to be woken for.
            Content::Silence => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.content, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            _ => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.content {
            Content::Whole(_) => "Body(whole)",
            Content::Events(_) => "Body(events)",
            Content::Frames(_) => "Body(frames)",
            Content::Silence => "Body(silence)",
        })
    }
}
