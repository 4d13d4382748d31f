//! One HTTP/2 connection, and the requests that are under way on it.
use super::super::{
    super::{life::Ward, settings::Http2Settings},
    dial::Reason,
    stream::{Opening, Stream},
    tally::{Tallied, Tally},
    tcp::chain,
};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::client::Body;
use std::{
    error::Error as _,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::Poll,
};
use tokio::time::Instant;
use tower::BoxError;

/// How much of an answer a server may send before it is read, for each request. A reader that has stopped holds no
/// more than this. At 50 ms of distance it lets 5 MB/s through, for each stream.
const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all requests of a connection together: more than a hundred streams can hold, so those whose readers
/// have stopped never starve the others. It is a promise, not memory.
const CONNECTION_WINDOW: u32 = 128 * STREAM_WINDOW;

/// How many streams a server allows before it has said so: no server can say this.
const NOT_SAID: usize = usize::MAX - 1;

type Connection = http2::Connection<TokioIo<Stream>, Body, Ward>;

/// A connection that many requests share. Dropped, it ends when the last of them has.
pub(super) struct Http2 {
    send: http2::SendRequest<Body>,
    /// Requests that count, from their start to the end of their answers.
    open: AtomicUsize,
    /// Whether a request was given a place on it since it was asked last.
    used: AtomicBool,
    /// How many streams the server allows.
    allowed: Arc<AtomicUsize>,
    /// Set when the connection has refused a request: it is closing, also if it does not say so yet.
    retired: AtomicBool,
    /// What was shown in its handshake.
    generation: u64,
    made: Instant,
    /// Its end, which all that is under way on it shares.
    tally: Tally,
}

impl Http2 {
    /// Exchanges the first frames, and returns once the server has said how many requests it takes: a burst beyond
    /// that would wait unseen for places. The tasks of the connection belong to the life. Has no deadline.
    pub(super) async fn begin(
        stream: Stream,
        generation: u64,
        settings: &Http2Settings,
        ward: &Ward,
    ) -> Result<Self, Reason> {
        let opening = stream.opening();
        let (send, mut connection) = http2::Builder::new(ward.clone())
            .timer(TokioTimer::new())
            .keep_alive_interval(settings.ping_interval)
            .keep_alive_timeout(settings.ping_timeout)
            .keep_alive_while_idle(true)
            .initial_max_send_streams(NOT_SAID)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| broken(&opening, Some(&error)))?;
        greeted(&mut connection, &opening).await?;
        let allowed = Arc::new(AtomicUsize::new(connection.current_max_send_streams()));
        let told = Arc::clone(&allowed);
        ward.spawn(async move {
            // How it ended is told to each of its requests.
            _ = poll_fn(|cx| {
                let polled = Pin::new(&mut connection).poll(cx);
                told.store(connection.current_max_send_streams(), Relaxed);
                polled
            })
            .await;
        });
        Ok(Self {
            send,
            open: AtomicUsize::new(0),
            used: AtomicBool::new(true),
            allowed,
            retired: AtomicBool::new(false),
            generation,
            made: Instant::now(),
            tally: Tally::default(),
        })
    }

    /// Whether it may take requests of this generation.
    pub(super) fn takes(&self, generation: u64) -> bool {
        self.generation == generation && !self.retired.load(Relaxed) && !self.send.is_closed()
    }

    /// Whether it has room for one more, of at most `share`. One place is left to probes, which do not count: they
    /// must not wait for the end of a watch.
    pub(super) fn has_room(&self, share: usize) -> bool {
        let allowed = self.allowed.load(Relaxed).saturating_sub(1);
        self.open() < share.min(allowed).max(1)
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Relaxed)
    }

    /// Whether a request was given a place on it since this was called last.
    pub(super) fn was_used(&self) -> bool {
        self.used.swap(false, Relaxed)
    }

    pub(super) fn made(&self) -> Instant {
        self.made
    }

    async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, TrySendError<Request<Body>>> {
        let sent = self.send.clone().try_send_request(request).await;
        if let Err(error) = &sent
            && error.message().is_some()
        {
            self.retired.store(true, Relaxed);
        }
        sent
    }
}

/// Resolves once the server has spoken.
async fn greeted(connection: &mut Connection, opening: &Opening) -> Result<(), Reason> {
    poll_fn(|cx| {
        // What it says is heeded before it is acknowledged, so after that write at the latest it is known here.
        opening.wake_after_write(cx);
        match Pin::new(&mut *connection).poll(cx) {
            Poll::Ready(ended) => Poll::Ready(Err(broken(opening, ended.err().as_ref()))),
            Poll::Pending if connection.current_max_send_streams() == NOT_SAID => Poll::Pending,
            Poll::Pending => Poll::Ready(Ok(())),
        }
    })
    .await
}

/// Why a connection ended before anything could be asked on it.
fn broken(opening: &Opening, error: Option<&hyper::Error>) -> Reason {
    match (opening.refused(), error) {
        (Some(refused), _) => Reason::Tls(refused),
        (None, Some(error)) => Reason::Tcp(chain(error)),
        (None, None) => Reason::Tcp("closed before the server spoke".into()),
    }
}

/// Whether the whole connection is gone, not only one request.
fn breaks_all(error: &hyper::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<h2::Error>());
    !error.is_user() && cause.is_none_or(|cause| cause.is_io() || cause.is_go_away())
}

/// A place on a connection, held from the start of a request to the end of its answer.
pub(super) struct Slot {
    connection: Arc<Http2>,
    counted: bool,
}

impl Slot {
    /// Whoever calls this holds the lock of the connection's lane.
    pub(super) fn take(connection: &Arc<Http2>, counted: bool) -> Self {
        if counted {
            connection.open.fetch_add(1, Relaxed);
        }
        connection.used.store(true, Relaxed);
        Self {
            connection: Arc::clone(connection),
            counted,
        }
    }

    /// Sends a request; gives it back if nothing of it was sent.
    pub(super) async fn send(
        &self,
        request: Request<Body>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Body>>> {
        self.connection.send(request).await
    }

    /// What a request fails with that was sent here.
    pub(super) fn failure(&self, error: hyper::Error) -> BoxError {
        if breaks_all(&error) {
            Tallied::of(&self.connection.tally, error)
        } else {
            error.into()
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.counted {
            self.connection.open.fetch_sub(1, Relaxed);
        }
    }
}
