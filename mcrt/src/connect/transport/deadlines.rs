//! Deadlines of answers: until their first byte, between any two, and until their last.
use super::{
    super::{
        error::{ConnectError, Deadline},
        settings::Limits,
    },
    call::{Call, Shape},
};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tower::BoxError;

/// By when whoever sent a request gives up, in its extensions: credentials that are not there some time before are
/// said to be the reason, else the server would be blamed.
#[derive(Clone, Copy, Debug)]
pub(in crate::connect) struct Until(pub(in crate::connect) Instant);

impl Until {
    /// By when credentials have to be there.
    pub(in crate::connect) fn for_credentials(self) -> Instant {
        let now = Instant::now();
        now + self.0.saturating_duration_since(now).mul_f64(0.9)
    }
}

/// Awaits an answer's headers.
pub(super) async fn first_byte<T>(
    answer: impl Future<Output = Result<T, BoxError>>,
    call: Call,
    limits: &Limits,
    until: Instant,
) -> Result<T, BoxError> {
    let answer = timeout_at(until, answer).await;
    answer.unwrap_or_else(|_| Err(overdue(call.verb, Deadline::FirstByte, limits.first_byte)))
}

fn overdue(verb: &'static str, deadline: Deadline, within: Duration) -> BoxError {
    ConnectError::Overdue {
        verb,
        deadline,
        within,
    }
    .into()
}

/// A response body that fails when nothing comes for too long.
///
/// Only time in which the reader waits can make it fail: what has come is handed out first, however late it is asked
/// for.
#[derive(Debug)]
pub(in crate::connect) struct TimedBody<B> {
    inner: B,
    clock: Option<Clock>,
}

/// Made for each watch, so it is small: the timer exists from the first wait on.
#[derive(Debug)]
struct Clock {
    verb: &'static str,
    idle: Duration,
    /// From the headers to the end.
    whole: Option<Duration>,
    began: Instant,
    /// When something came last.
    last: Instant,
    timer: Option<Pin<Box<Sleep>>>,
}

impl<B: Body> TimedBody<B> {
    pub(super) fn new(inner: B, call: Call, limits: &Limits) -> Self {
        let (idle, whole) = match call.shape {
            // The server ends it after its timeout, with or without events.
            Shape::Watch(Some(timeout)) => (timeout + limits.watch_margin, None),
            Shape::Watch(None) => (limits.watch_idle, None),
            Shape::Whole => (limits.body_idle, Some(limits.body_whole)),
            Shape::Logs | Shape::Upgrade => return Self { inner, clock: None },
        };
        let now = Instant::now();
        let clock = (!inner.is_end_stream()).then_some(Clock {
            verb: call.verb,
            idle,
            whole,
            began: now,
            last: now,
            timer: None,
        });
        Self { inner, clock }
    }
}

impl Clock {
    fn due(&self) -> (Instant, Deadline, Duration) {
        let idle = (self.last + self.idle, Deadline::Idle, self.idle);
        match self
            .whole
            .map(|whole| (self.began + whole, Deadline::Whole, whole))
        {
            Some(whole) if whole.0 < idle.0 => whole,
            _ => idle,
        }
    }

    /// Ready when a deadline has passed.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<BoxError> {
        loop {
            let (at, deadline, within) = self.due();
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= at {
                return Poll::Ready(overdue(self.verb, deadline, within));
            }
            // Something has come since it was set: resetting it then would cost each event a timer's lock.
            timer.as_mut().reset(at);
        }
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx).map_err(Into::into);
        let Some(clock) = &mut self.clock else {
            return frame;
        };
        match frame {
            Poll::Ready(Some(Ok(frame))) => {
                clock.last = Instant::now();
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(end) => {
                self.clock = None;
                Poll::Ready(end)
            }
            Poll::Pending => clock.poll(cx).map(|error| Some(Err(error))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
