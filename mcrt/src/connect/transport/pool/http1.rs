//! HTTP/1.1: a connection for each request under way, for servers without HTTP/2 and for upgrades.
use super::super::{
    super::life::Ward,
    dial::{DialError, Dialer, Offer},
    stream::Stream,
};
use futures::future::BoxFuture;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Builder, Client, Error},
    rt::{TokioIo, TokioTimer},
};
use kube::client::Body;
use parking_lot::Mutex;
use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower::Service;

/// Load balancers drop idle connections without a word, none known before 60 s.
const POOL_IDLE: Duration = Duration::from_secs(30);
/// HTTP/1.1 takes a connection per request under way: as many are kept as a busy lane uses at once.
const POOL_SIZE: usize = 32;
/// A connection keeps its buffer at the size that its longest list made it, hundreds of KiB if nothing bounds it, and
/// a watch keeps its connection. Twice a TLS record: more is never read at once. Bounds response headers too.
const READ_BUFFER: usize = 32 * 1024;

/// hyper's pool, renewed when what its connections have shown is no longer current.
pub(super) struct Http1 {
    dialer: Arc<Dialer>,
    ward: Ward,
    spare: Spare,
    client: Mutex<Option<(u64, Client<Connector, Body>)>>,
}

/// A connection that was dialled for HTTP/2, to a server that does not speak it; under which generation, and when.
type Spare = Arc<Mutex<Option<(u64, Instant, Stream)>>>;

impl Http1 {
    pub(super) fn new(dialer: Arc<Dialer>, ward: Ward) -> Self {
        Self {
            dialer,
            ward,
            spare: Spare::default(),
            client: Mutex::new(None),
        }
    }

    /// Gives a connection to the next request that would dial one.
    pub(super) fn give(&self, generation: u64, stream: Stream) {
        *self.spare.lock() = Some((generation, Instant::now(), stream));
    }

    pub(super) async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, Error> {
        let client = self.client();
        client.request(request).await
    }

    fn client(&self) -> Client<Connector, Body> {
        let generation = self.dialer.generation();
        let mut client = self.client.lock();
        if let Some((made_for, client)) = &*client
            && *made_for == generation
        {
            return client.clone();
        }
        let connector = Connector {
            dialer: Arc::clone(&self.dialer),
            spare: Arc::clone(&self.spare),
        };
        let new = Builder::new(self.ward.clone())
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(POOL_SIZE)
            .http1_max_buf_size(READ_BUFFER)
            .build(connector);
        *client = Some((generation, new.clone()));
        new
    }
}

#[derive(Clone)]
struct Connector {
    dialer: Arc<Dialer>,
    spare: Spare,
}

impl Connector {
    fn spare(&self) -> Option<Stream> {
        let (generation, made, stream) = self.spare.lock().take()?;
        (generation == self.dialer.generation() && made.elapsed() < POOL_IDLE).then_some(stream)
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = DialError;
    type Future = BoxFuture<'static, Result<TokioIo<Stream>, DialError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let stream = match this.spare() {
                Some(stream) => stream,
                None => this.dialer.dial(Offer::Http1).await?,
            };
            Ok(TokioIo::new(stream))
        })
    }
}
