//! A way to an address that a test can cut and mend, or that leads nowhere.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Bytes pass in both directions.
    Open(SocketAddr),
    /// New connections are closed at once, those of before are gone.
    Cut,
    /// New connections are refused, those of before are gone: nothing listens.
    Refused,
    /// Connections stand, and nothing is ever answered.
    Silent,
}

/// A listener on loopback that passes connections on, closes or refuses them, or keeps silent; dropped, it is gone.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    way: watch::Sender<Way>,
    open: Arc<AtomicUsize>,
    accepted: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Passes connections on to an address.
    pub async fn to(target: SocketAddr) -> io::Result<Self> {
        Self::start(Way::Open(target)).await
    }

    /// Accepts connections, reads what comes and never answers.
    pub async fn black_hole() -> io::Result<Self> {
        Self::start(Way::Silent).await
    }

    async fn start(way: Way) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (way, seen) = watch::channel(way);
        let open = Arc::new(AtomicUsize::new(0));
        let accepted = Arc::new(AtomicUsize::new(0));
        let accepting = tokio::spawn(accept(listener, seen, open.clone(), accepted.clone()));
        Ok(Self {
            address,
            way,
            open,
            accepted,
            accepting,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that the other side holds open now.
    pub fn open(&self) -> usize {
        self.open.load(SeqCst)
    }

    /// Connections that there have been.
    pub fn accepted(&self) -> usize {
        self.accepted.load(SeqCst)
    }

    /// Breaks every connection and closes new ones at once.
    pub fn cut(&self) {
        self.way.send_replace(Way::Cut);
    }

    /// Breaks every connection and refuses new ones.
    pub fn refuse(&self) {
        self.way.send_replace(Way::Refused);
    }

    /// Keeps every connection, and passes nothing on any more.
    pub fn fall_silent(&self) {
        self.way.send_replace(Way::Silent);
    }

    /// Breaks every connection and passes new ones on to the address.
    pub fn mend(&self, target: SocketAddr) {
        self.way.send_replace(Way::Open(target));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    listener: TcpListener,
    mut way: watch::Receiver<Way>,
    open: Arc<AtomicUsize>,
    accepted: Arc<AtomicUsize>,
) {
    // Owned here: aborted with this task.
    let mut connections = JoinSet::new();
    let Ok(address) = listener.local_addr() else {
        return;
    };
    let mut listener = Some(listener);
    loop {
        let next = tokio::select! {
            changed = way.changed() => {
                if changed.is_err() {
                    return;
                }
                let refused = *way.borrow_and_update() == Way::Refused;
                listener = listening(listener, address, refused).await;
                continue;
            }
            next = next(listener.as_ref()) => next,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((client, _)) = next else { continue };
        accepted.fetch_add(1, SeqCst);
        connections.spawn(follow(client, way.clone(), Counted::new(&open)));
    }
}

/// Closes the port, or opens it again; nobody else takes it meanwhile, with any luck.
async fn listening(now: Option<TcpListener>, address: SocketAddr, refused: bool) -> Option<TcpListener> {
    match now {
        _ if refused => None,
        Some(listener) => Some(listener),
        None => TcpListener::bind(address).await.ok(),
    }
}

async fn next(listener: Option<&TcpListener>) -> io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// Serves one connection until it ends, or until the way changes to one that does not keep it.
async fn follow(mut client: TcpStream, mut way: watch::Receiver<Way>, counted: Counted) {
    loop {
        let now = *way.borrow_and_update();
        tokio::select! {
            () = serve(&mut client, now) => break,
            changed = way.changed() => if changed.is_err() || *way.borrow() != Way::Silent { break },
        }
    }
    drop(client);
    drop(counted);
}

/// One open connection.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, SeqCst);
        Self(open.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Ends with the connection; errors are how connections end.
async fn serve(client: &mut TcpStream, way: Way) {
    match way {
        Way::Cut | Way::Refused => {}
        Way::Silent => {
            let mut heard = [0; 1024];
            while client.read(&mut heard).await.is_ok_and(|read| read > 0) {}
        }
        Way::Open(target) => {
            if let Ok(mut server) = TcpStream::connect(target).await {
                let _ = tokio::io::copy_bidirectional(client, &mut server).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eventually;
    use std::time::Duration;
    use tokio::io::AsyncWriteExt as _;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn a_cut_breaks_connections_and_a_mended_way_takes_new_ones() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = server.local_addr().unwrap();
        let echo = tokio::spawn(async move {
            loop {
                let (mut peer, _) = server.accept().await.unwrap();
                tokio::spawn(async move {
                    let (mut read, mut write) = peer.split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        let proxy = Proxy::to(target).await.unwrap();
        let mut client = TcpStream::connect(proxy.address()).await.unwrap();
        client.write_all(b"a").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'a');

        proxy.cut();
        assert!(client.read_u8().await.is_err());
        proxy.mend(target);
        let mut client = TcpStream::connect(proxy.address()).await.unwrap();
        client.write_all(b"b").await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), b'b');
        echo.abort();
    }

    #[tokio::test]
    async fn a_refused_way_has_nobody_listening_until_it_is_mended() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::to(server.local_addr().unwrap()).await.unwrap();
        let mut client = TcpStream::connect(proxy.address()).await.unwrap();
        proxy.refuse();
        assert!(client.read_u8().await.is_err());
        eventually(LIMIT, "a refusal", async || {
            match TcpStream::connect(proxy.address()).await {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
        proxy.mend(server.local_addr().unwrap());
        eventually(LIMIT, "a connection", async || {
            TcpStream::connect(proxy.address()).await.map(drop)
        })
        .await;
    }

    #[tokio::test]
    async fn a_black_hole_counts_the_connections_that_are_held_open() {
        let proxy = Proxy::black_hole().await.unwrap();
        let client = TcpStream::connect(proxy.address()).await.unwrap();
        let is = async |wanted: usize| {
            eventually(LIMIT, "connections", async || {
                if proxy.open() == wanted {
                    Ok(())
                } else {
                    Err(format!("{} are open", proxy.open()))
                }
            })
            .await;
        };
        is(1).await;
        drop(client);
        is(0).await;
    }
}
