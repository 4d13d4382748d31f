//! One connection of a listener, from its acceptance to its end.

use std::future::Future;
use std::io;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service as _;

use crate::door::listener::Listen;
use crate::door::service::Service;
use crate::door::socket::Socket;

/// How many requests one HTTP/2 connection may have open; what real servers allow.
const STREAMS: u32 = 100;

/// Serves a connection until its client ends it or a fault breaks it.
pub(crate) async fn serve(service: Service, socket: Socket, listen: Arc<Listen>) {
    #[cfg(feature = "tls")]
    if let Some(authority) = &listen.authority {
        match authority.acceptor(listen.http1_only).accept(socket.clone()).await {
            Ok(stream) => exchange(service, socket, stream, &listen).await,
            Err(error) => tracing::debug!(%error, "a client does not agree on TLS"),
        }
        return;
    }
    exchange(service, socket.clone(), socket, &listen).await;
}

async fn exchange<S>(service: Service, socket: Socket, stream: S, listen: &Listen)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let broken = Arc::new(Notify::new());
    let answers = service_fn(|request: Request<Incoming>| {
        let answer = service.clone().call(request);
        let broken = Arc::clone(&broken);
        // A concrete error: a boxed one is not `Send` enough for the compiler inside a spawned task.
        async move {
            answer.await.map_err(|error| {
                broken.notify_one();
                io::Error::other(error)
            })
        }
    });
    let streams = Streams::default();
    // Also when this task is aborted.
    let _stop = streams.stop.clone().drop_guard();
    let mut builder = auto::Builder::new(streams.clone());
    builder.http1().timer(TokioTimer::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS);
    if listen.http1_only {
        builder = builder.http1_only();
    }
    let running = builder.serve_connection(TokioIo::new(stream), answers);
    tokio::select! {
        biased;
        // A request without an answer takes the whole connection along, over HTTP/2 too.
        () = broken.notified() => socket.break_off(),
        ended = running => if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }
    streams.end().await;
}

/// The tasks of one connection's HTTP/2 streams: none outlives it.
#[derive(Clone, Default)]
struct Streams {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Streams {
    async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            stop.run_until_cancelled_owned(future).await;
        });
    }
}
