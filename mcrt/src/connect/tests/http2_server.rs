//! An HTTP/2 server over TLS that does what a test tells it to.
use super::{
    SOON, kubeconfig,
    tls::{Authority, data},
    yaml,
};
use crate::connect::{Access, Connection};
use bytes::Bytes;
use h2::{Reason, server::SendResponse};
use http::{Request, Response};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{mpsc, watch},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

/// What connections do beside taking requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conduct {
    Serve,
    /// Says GOAWAY to those up to this number, and lets what is under way end.
    LeaveGracefully(usize),
    /// Breaks them off.
    Break,
    /// Neither reads nor writes; to new connections it says nothing.
    Freeze,
}

/// Ends with the test that holds it.
pub(super) struct Http2Server {
    pub(super) address: String,
    authority: Authority,
    asked: mpsc::UnboundedReceiver<Asked>,
    made: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    conduct: watch::Sender<Conduct>,
    _accepting: JoinSet<()>,
}

/// A request, to be answered.
pub(super) struct Asked {
    /// The how manieth connection it came on.
    pub(super) connection: usize,
    pub(super) request: Request<h2::RecvStream>,
    pub(super) answer: SendResponse<Bytes>,
}

impl Asked {
    pub(super) fn path(&self) -> &str {
        self.request.uri().path()
    }

    /// A whole answer.
    pub(super) fn ok(mut self) {
        let mut body = self.answer.send_response(Response::new(()), false).unwrap();
        body.send_data(Bytes::from_static(b"{}"), true).unwrap();
    }

    /// The beginning of a watch.
    pub(super) fn begin(mut self) -> h2::SendStream<Bytes> {
        self.answer.send_response(Response::new(()), false).unwrap()
    }

    /// Not looked at.
    pub(super) fn refuse(mut self) {
        self.answer.send_reset(Reason::REFUSED_STREAM);
    }
}

impl Http2Server {
    pub(super) async fn start(streams: u32) -> Self {
        Self::speaking(&["h2", "http/1.1"], streams).await
    }

    /// What it offers; HTTP/1.1 it answers with 200, and upgrades with 101.
    pub(super) async fn speaking(protocols: &[&str], streams: u32) -> Self {
        let authority = Authority::new();
        let acceptor = acceptor(&authority, protocols);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, asked) = mpsc::unbounded_channel();
        let (conduct, told) = watch::channel(Conduct::Serve);
        let (made, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut accepting = JoinSet::new();
        let counters = (Arc::clone(&made), Arc::clone(&open));
        accepting.spawn(async move {
            let mut serving = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let number = counters.0.fetch_add(1, SeqCst);
                counters.1.fetch_add(1, SeqCst);
                let (acceptor, sender, told) = (acceptor.clone(), sender.clone(), told.clone());
                let open = Arc::clone(&counters.1);
                serving.spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, number, streams, &sender, told).await;
                    }
                    open.fetch_sub(1, SeqCst);
                });
            }
        });
        Self {
            address,
            authority,
            asked,
            made,
            open,
            conduct,
            _accepting: accepting,
        }
    }

    pub(super) fn connection(&self) -> Connection {
        let ca = data("certificate-authority-data", &self.authority.pem());
        let yaml = yaml(&format!("https://{}", self.address), &[&ca], &["token: t"]);
        Connection::from_kubeconfig(&kubeconfig(&yaml), "c").unwrap()
    }

    pub(super) fn access(&self) -> Access {
        self.connection().into()
    }

    pub(super) async fn asked(&mut self) -> Asked {
        timeout(SOON, self.asked.recv())
            .await
            .expect("a request comes")
            .unwrap()
    }

    /// Whether nobody has asked for anything so far.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.asked.try_recv().is_err()
    }

    pub(super) fn conduct(&self, conduct: Conduct) {
        self.conduct.send_replace(conduct);
    }

    /// How many connections there have been.
    pub(super) fn made(&self) -> usize {
        self.made.load(SeqCst)
    }

    /// How many are open.
    pub(super) fn open(&self) -> usize {
        self.open.load(SeqCst)
    }

    /// Waits until that many are open.
    pub(super) async fn opens(&self, number: usize) {
        let waiting = async {
            while self.open() != number {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        timeout(SOON, waiting)
            .await
            .unwrap_or_else(|_| panic!("{} connections are open, not {number}", self.open()));
    }
}

fn acceptor(authority: &Authority, protocols: &[&str]) -> TlsAcceptor {
    let (certificate, key) = authority.sign("127.0.0.1");
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(
    stream: TlsStream<TcpStream>,
    number: usize,
    streams: u32,
    asked: &mpsc::UnboundedSender<Asked>,
    mut told: watch::Receiver<Conduct>,
) {
    if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
        return serve_http1(stream).await;
    }
    if *told.borrow() == Conduct::Freeze {
        return std::future::pending().await;
    }
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(streams);
    let Ok(mut connection) = builder.handshake(stream).await else {
        return;
    };
    loop {
        tokio::select! {
            biased;
            changed = told.changed() => match changed.map(|()| *told.borrow()) {
                Ok(Conduct::LeaveGracefully(up_to)) if number < up_to => connection.graceful_shutdown(),
                Ok(Conduct::Serve | Conduct::LeaveGracefully(_)) => {}
                Ok(Conduct::Freeze) => std::future::pending().await,
                Ok(Conduct::Break) | Err(_) => return,
            },
            accepted = connection.accept() => match accepted {
                Some(Ok((request, answer))) => {
                    _ = asked.send(Asked { connection: number, request, answer });
                }
                Some(Err(_)) | None => return,
            },
        }
    }
}

async fn serve_http1(mut stream: TlsStream<TcpStream>) {
    let mut buffer = vec![0; 8 << 10];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let answer: &[u8] = if String::from_utf8_lossy(&buffer[..length]).contains("upgrade:") {
            b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n"
        } else {
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
        };
        _ = stream.write_all(answer).await;
    }
}
