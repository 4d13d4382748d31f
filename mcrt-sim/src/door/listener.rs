//! A server on a TCP port, for clients that need a socket, and what can go wrong with sockets.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

#[cfg(feature = "tls")]
use crate::door::authority::Authority;
use crate::door::connection;
use crate::door::service::Service;
use crate::door::socket::Socket;
use crate::server::Server;

/// How a server is to be served on a port.
#[derive(Clone, Debug)]
pub struct Listen {
    addr: SocketAddr,
    pub(crate) http1_only: bool,
    #[cfg(feature = "tls")]
    pub(crate) authority: Option<Authority>,
}

impl Listen {
    /// Plain HTTP/1.1 and HTTP/2 (by prior knowledge) on a free port of 127.0.0.1.
    pub fn new() -> Self {
        Self {
            addr: (Ipv4Addr::LOCALHOST, 0).into(),
            http1_only: false,
            #[cfg(feature = "tls")]
            authority: None,
        }
    }

    /// On this address.
    #[must_use]
    pub fn on(mut self, addr: SocketAddr) -> Self {
        self.addr = addr;
        self
    }

    /// Without HTTP/2.
    #[must_use]
    pub fn http1_only(mut self) -> Self {
        self.http1_only = true;
        self
    }

    /// Over TLS, with a certificate of this authority for `localhost` and the loopback addresses.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        self.authority = Some(authority.clone());
        self
    }

    #[cfg_attr(
        not(feature = "tls"),
        expect(clippy::unused_self, reason = "without TLS there is one scheme")
    )]
    fn scheme(&self) -> &'static str {
        #[cfg(feature = "tls")]
        if self.authority.is_some() {
            return "https";
        }
        "http"
    }
}

impl Default for Listen {
    fn default() -> Self {
        Self::new()
    }
}

/// What happens to connections, before any request is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sockets {
    /// They are served.
    #[default]
    Serve,
    /// New ones are refused: the port is closed. Open ones go on.
    Refuse,
    /// New ones are accepted and never read: no handshake, no answer.
    Ignore,
    /// New ones are accepted and broken at once.
    Reset,
    /// New ones are served this long, then closed, whatever is going on.
    CloseAfter(Duration),
}

impl Server {
    /// Serves plain HTTP/1.1 and HTTP/2 on a free port of 127.0.0.1.
    pub async fn listen(&self) -> io::Result<Listener> {
        self.listen_with(Listen::new()).await
    }

    /// Serves on a port, as is said.
    pub async fn listen_with(&self, listen: Listen) -> io::Result<Listener> {
        self.service().listen_with(listen).await
    }
}

impl Service {
    pub(crate) async fn listen_with(&self, listen: Listen) -> io::Result<Listener> {
        let socket = TcpListener::bind(listen.addr).await?;
        let addr = socket.local_addr()?;
        let stop = CancellationToken::new();
        let (control, controlled) = watch::channel(Control::default());
        let url = format!("{}://{addr}", listen.scheme());
        let port = Port {
            service: self.clone(),
            listen: Arc::new(listen.on(addr)),
            control: controlled,
            connections: JoinSet::new(),
        };
        let task = tokio::spawn(port.run(socket, stop.clone()));
        Ok(Listener {
            addr,
            url,
            stop,
            control,
            task,
        })
    }
}

/// What a listener is told while it runs.
#[derive(Clone, Copy, Debug, Default)]
struct Control {
    sockets: Sockets,
    /// Counts up when all open connections are to break.
    breaks: u64,
}

/// A port that serves a server. Dropping it closes the port and every connection.
#[derive(Debug)]
pub struct Listener {
    addr: SocketAddr,
    url: String,
    stop: CancellationToken,
    control: watch::Sender<Control>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where it listens, as a client is told: `http://127.0.0.1:1234`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Treats connections like this from now on.
    pub fn sockets(&self, sockets: Sockets) {
        self.control.send_modify(|control| control.sockets = sockets);
    }

    /// Breaks every open connection, without a word to its client.
    pub fn reset_connections(&self) {
        self.control.send_modify(|control| control.breaks += 1);
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

/// What the listener's task works with.
struct Port {
    service: Service,
    listen: Arc<Listen>,
    control: watch::Receiver<Control>,
    connections: JoinSet<()>,
}

impl Port {
    async fn run(mut self, socket: TcpListener, stop: CancellationToken) {
        let mut socket = Some(socket);
        let mut control = self.control.clone();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                Some(_) = self.connections.join_next() => {}
                changed = control.changed() => match changed {
                    Ok(()) => self.open_or_close(&mut socket).await,
                    // Nobody holds the listener any more; its drop ends this task.
                    Err(_) => break,
                },
                accepted = accept(socket.as_ref()) => match accepted {
                    Ok(stream) => self.take(stream),
                    // Out of file descriptors, most likely: let others close some before the next try.
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
            }
        }
        drop(socket);
        self.connections.shutdown().await;
    }

    /// Closes the port while it is to refuse, and opens it again.
    async fn open_or_close(&self, socket: &mut Option<TcpListener>) {
        if self.control.borrow().sockets == Sockets::Refuse {
            *socket = None;
        } else if socket.is_none() {
            match TcpListener::bind(self.listen.addr).await {
                Ok(again) => *socket = Some(again),
                Err(error) => {
                    tracing::warn!(addr = %self.listen.addr, %error, "the port cannot be opened again");
                }
            }
        }
    }

    fn take(&mut self, stream: TcpStream) {
        let (gate, counting) = self.service.sockets();
        let socket = Socket::new(stream, gate);
        let control = *self.control.borrow();
        let service = self.service.clone();
        let counted = counting.connect();
        let life = {
            let (socket, listen) = (socket.clone(), Arc::clone(&self.listen));
            async move {
                match control.sockets {
                    Sockets::Ignore => std::future::pending().await,
                    Sockets::Reset => socket.break_off(),
                    Sockets::CloseAfter(after) => {
                        // In time or not, it is closed now.
                        let _ = tokio::time::timeout(after, connection::serve(service, socket, listen)).await;
                    }
                    Sockets::Serve | Sockets::Refuse => connection::serve(service, socket, listen).await,
                }
            }
        };
        let mut controlled = self.control.clone();
        self.connections.spawn(async move {
            let _counted = counted;
            tokio::select! {
                biased;
                changed = controlled.wait_for(|now| now.breaks != control.breaks) => {
                    if changed.is_ok() {
                        socket.break_off();
                    }
                }
                () = life => {}
            }
        });
    }
}

/// The next connection; never, while the port is closed.
async fn accept(socket: Option<&TcpListener>) -> io::Result<TcpStream> {
    match socket {
        Some(socket) => Ok(socket.accept().await?.0),
        None => std::future::pending().await,
    }
}
