//! A connection to a server, with or without TLS.
use super::tls;
use futures::task::AtomicWaker;
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// Bytes to and from a server.
pub(super) enum Stream {
    Plain(TcpStream),
    /// A kilobyte that would be moved with every step.
    Tls(Box<TlsStream<TcpStream>>, Arc<Opening>),
}

/// How a connection begins, for whoever waits for that while another task reads and writes.
///
/// Under TLS 1.3 a server tells only after the handshake that it refuses a client certificate; and errors that have
/// gone through HTTP/2 no longer say so.
#[derive(Default)]
pub(super) struct Opening {
    written: AtomicWaker,
    refused: OnceLock<String>,
}

impl Opening {
    /// Wakes the task after the next write.
    pub(super) fn wake_after_write(&self, cx: &Context<'_>) {
        self.written.register(cx.waker());
    }

    /// Why the server broke off, if TLS told.
    pub(super) fn refused(&self) -> Option<String> {
        self.refused.get().cloned()
    }

    fn note<T>(&self, read: &Poll<io::Result<T>>) {
        if let Poll::Ready(Err(error)) = read
            && let Some(reason) = tls::refused(error)
        {
            // The first is the reason, should there be several.
            _ = self.refused.set(reason);
        }
    }
}

impl Stream {
    /// Whether the server chose HTTP/2.
    pub(super) fn is_http2(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(stream, _) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// How it begins; of no use without TLS.
    pub(super) fn opening(&self) -> Arc<Opening> {
        match self {
            Self::Plain(_) => Arc::default(),
            Self::Tls(_, opening) => Arc::clone(opening),
        }
    }
}

/// Tells hyper's pool nothing: it never sees a connection that could be shared.
impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream, opening) => {
                let read = Pin::new(stream).poll_read(cx, buf);
                opening.note(&read);
                read
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream, opening) => {
                let written = Pin::new(stream).poll_write(cx, buf);
                opening.written.wake();
                written
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Tls(stream, opening) => {
                let written = Pin::new(stream).poll_write_vectored(cx, bufs);
                opening.written.wake();
                written
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream, _) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream, _) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream, _) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
