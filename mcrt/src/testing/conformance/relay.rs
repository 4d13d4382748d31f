//! A way to a real host that a check can interrupt.
use std::net::{Ipv4Addr, SocketAddr};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// A port on loopback whose connections are passed on, until an outage holds them up.
///
/// It ends when it is dropped, and its connections with it.
#[derive(Debug)]
pub(super) struct Relay {
    address: SocketAddr,
    out: watch::Sender<bool>,
    accepting: JoinHandle<()>,
}

impl Relay {
    /// To a server at `host:port`.
    ///
    /// # Panics
    /// Outside a tokio runtime, or if no port is to be had.
    pub(super) fn to(target: String) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let listener = listener.and_then(|listener| {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok((TcpListener::from_std(listener)?, address))
        });
        let (listener, address) = listener.unwrap_or_else(|error| panic!("no port can be had: {error}"));
        let (out, seen) = watch::channel(false);
        Self {
            address,
            out,
            accepting: tokio::spawn(accept(listener, target, seen)),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// While out, connections stand and nothing passes; those of before an outage end with it.
    pub(super) fn set_out(&self, out: bool) {
        self.out.send_replace(out);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, target: String, out: watch::Receiver<bool>) {
    // Owned here: they end with this task.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((client, _)) = accepted {
                    connections.spawn(pass(client, target.clone(), out.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Ends with the connection, or with an outage.
async fn pass(mut client: TcpStream, target: String, mut out: watch::Receiver<bool>) {
    let passing = async {
        if let Ok(mut server) = TcpStream::connect(target).await {
            // Errors are how connections end.
            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        }
    };
    let mut outage = out.clone();
    tokio::select! {
        biased;
        begun = outage.wait_for(|out| *out) => if begun.is_err() { return },
        () = passing => return,
    }
    // Held until it is over; the sender's end is the site's.
    let _ = out.wait_for(|out| !out).await;
}
