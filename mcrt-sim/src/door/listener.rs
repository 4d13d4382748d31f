//! A server on a TCP port, for clients that need a socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use crate::door::counters::Open;
use crate::server::Server;

impl Server {
    /// Serves plain HTTP/1.1 on a free port of 127.0.0.1.
    pub async fn listen(&self) -> io::Result<Listener> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = socket.local_addr()?;
        let stop = CancellationToken::new();
        let task = tokio::spawn(accept(self.clone(), socket, stop.clone()));
        Ok(Listener { addr, stop, task })
    }
}

/// A port that serves a server. Dropping it closes the port and every connection.
#[derive(Debug)]
pub struct Listener {
    addr: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Listener {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Closes the port and every connection, and waits until they are closed.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        if let Err(error) = (&mut self.task).await {
            tracing::warn!(addr = %self.addr, %error, "the listener's task ended badly");
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(server: Server, socket: TcpListener, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => {
                    let open = server.0.counting.connect();
                    connections.spawn(connection(server.clone(), stream, open));
                }
                // Out of file descriptors, most likely: let others close some before the next try.
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(socket);
    connections.shutdown().await;
}

async fn connection(server: Server, stream: TcpStream, _open: Open) {
    let service = server.service();
    let service = service_fn(move |request: http::Request<Incoming>| {
        let answer = service.clone().call(request);
        // A concrete error: a boxed one is not `Send` enough for the compiler inside a spawned task.
        async move { answer.await.map_err(io::Error::other) }
    });
    let running = http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = running.await {
        tracing::debug!(%error, "a connection ended early");
    }
}
