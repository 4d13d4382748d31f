//! A TCP socket that can still be broken while somebody else reads and writes it, and that a partition cuts off.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::faults::gate::Gate;

/// Clones share the socket; it closes with the last.
#[derive(Clone)]
pub(crate) struct Socket {
    stream: Arc<TcpStream>,
    /// While it is closed not a byte passes, of pings and handshakes neither.
    gate: Arc<Gate>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream, gate: Arc<Gate>) -> Self {
        // Events are small and wanted at once. Without it they come later, which breaks nothing.
        let _ = stream.set_nodelay(true);
        Self {
            stream: Arc::new(stream),
            gate,
        }
    }

    /// Lets the peer see a broken connection (RST) rather than an ended one, once the last clone is dropped.
    pub(crate) fn break_off(&self) {
        if let Err(error) = self.stream.set_zero_linger() {
            tracing::debug!(%error, "a connection could not be reset; it is closed instead");
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.gate.poll(cx));
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            match self.stream.try_read(buf.initialize_unfilled()) {
                Ok(read) => {
                    buf.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.gate.poll(cx));
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match self.stream.try_write(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.gate.poll(cx));
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match self.stream.try_write_vectored(bufs) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: whoever is done with a connection drops it, which closes it.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
