//! One HTTP/2 connection, and the requests that are under way on it.
use super::super::{
    super::{life::Ward, settings::Http2Settings},
    stream::Stream,
};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::client::Body;
use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
};
use tokio::time::Instant;

/// How much of an answer a server may send before it is read, for each request. A reader that has stopped holds no
/// more than this. At 50 ms of distance it lets 5 MB/s through, for each stream.
const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all requests of a connection together: more than a hundred streams can hold, so those whose readers
/// have stopped never starve the others. It is a promise, not memory.
const CONNECTION_WINDOW: u32 = 128 * STREAM_WINDOW;

/// A connection that many requests share. Dropped, it ends when the last of them has.
pub(super) struct Http2 {
    send: http2::SendRequest<Body>,
    /// Requests that count, from their start to the end of their answers.
    open: AtomicUsize,
    /// Whether a request was given a place on it since it was asked last.
    used: AtomicBool,
    /// How many streams the server allows, as far as it is known.
    allowed: Arc<AtomicUsize>,
    /// Set when the connection has refused a request: it is closing, also if it does not say so yet.
    retired: AtomicBool,
    /// What was shown in its handshake.
    generation: u64,
    made: Instant,
}

impl Http2 {
    /// Exchanges the first frames. The tasks of the connection belong to the life.
    pub(super) async fn begin(
        stream: Stream,
        generation: u64,
        settings: &Http2Settings,
        ward: &Ward,
    ) -> hyper::Result<Self> {
        let (send, connection) = http2::Builder::new(ward.clone())
            .timer(TokioTimer::new())
            .keep_alive_interval(settings.ping_interval)
            .keep_alive_timeout(settings.ping_timeout)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream))
            .await?;
        let allowed = Arc::new(AtomicUsize::new(connection.current_max_send_streams()));
        let told = Arc::clone(&allowed);
        ward.spawn(async move {
            let mut connection = pin!(connection);
            // How it ended is told to each of its requests.
            _ = poll_fn(|cx| {
                let polled = connection.as_mut().poll(cx);
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
        })
    }

    /// Whether it may take requests of this generation.
    pub(super) fn takes(&self, generation: u64) -> bool {
        self.generation == generation && !self.retired.load(Relaxed) && !self.send.is_closed()
    }

    /// Whether it has room for one more, of at most `share`.
    pub(super) fn has_room(&self, share: usize) -> bool {
        self.open() < share.min(self.allowed.load(Relaxed))
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
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.counted {
            self.connection.open.fetch_sub(1, Relaxed);
        }
    }
}
