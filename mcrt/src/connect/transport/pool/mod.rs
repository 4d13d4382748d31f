//! The connections to one server.
//!
//! ```text
//! watches, logs, probes --> lane --> HTTP/2, a further connection per 90 watches
//! the runtime's own ------> that one while there is no other, else with the
//! other requests ---------> lane --> HTTP/2, one connection
//! upgrades, servers without HTTP/2 --> HTTP/1.1, a connection per request under way
//! ```
//! Watches do not share a connection with other requests, so what is written cannot delay what is heard. Probes go
//! with the watches: they tell whether those are well, and do not wait behind other requests. A cluster that nothing is
//! asked of but to be watched needs no second connection, whose handshake is most of what engaging a cluster costs: its
//! lists, and what is asked to know how it fares, share the first.
mod http1;
mod http2;
mod lane;

use super::{
    super::{
        connection::Connection,
        credentials::Material,
        error::ConnectError,
        life::Ward,
        settings::{Http2Settings, TransportSettings},
    },
    call::{Call, Shape},
    dial::{DialError, Dialer, Offer, Reason},
    tls,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, Version};
use http_body::{Frame, SizeHint};
use http1::Http1;
use http2::{Http2, Slot};
use hyper::body::Incoming;
use kube::client::Body;
use lane::{Kind, Lane, Way};
use parking_lot::Mutex;
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;
use tower::{BoxError, Service};

/// How long a server that chose HTTP/1.1 is not asked again.
const CHOSEN: Duration = Duration::from_mins(10);
/// How often a request that was not sent is given to another connection: those of a server that is being replaced
/// may all be closing.
const PASSES: usize = 4;

/// A cheap handle.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    dialer: Arc<Dialer>,
    settings: Http2Settings,
    ward: Ward,
    lasting: Lane,
    passing: Lane,
    http1: Http1,
    /// Since when the server is known not to speak HTTP/2.
    chose_http1: Mutex<Option<Instant>>,
}

impl Pool {
    pub(super) fn new(
        connection: &Connection,
        material: &Material,
        settings: &TransportSettings,
        ward: &Ward,
    ) -> Result<Self, ConnectError> {
        let dialer = Arc::new(Dialer::new(connection, material, settings.limits.connect)?);
        Ok(Self(Arc::new(Inner {
            http1: Http1::new(Arc::clone(&dialer), ward.clone()),
            dialer,
            settings: settings.http2,
            ward: ward.clone(),
            lasting: Lane::default(),
            passing: Lane::default(),
            chose_http1: Mutex::new(None),
        })))
    }
}

impl Inner {
    fn lane(&self, kind: Kind) -> &Lane {
        match kind {
            Kind::Lasting => &self.lasting,
            Kind::Passing => &self.passing,
        }
    }

    /// Dials; none if the server chose HTTP/1.1, which is remembered.
    async fn open(&self) -> Result<Option<Http2>, DialError> {
        self.dialer.in_time(self.attempt()).await
    }

    async fn attempt(&self) -> Result<Option<Http2>, DialError> {
        let generation = self.dialer.generation();
        let stream = self.dialer.connect(Offer::Both).await?;
        if !stream.is_http2() {
            *self.chose_http1.lock() = Some(Instant::now());
            self.http1.give(generation, stream);
            return Ok(None);
        }
        let begun = Http2::begin(stream, generation, &self.settings, &self.ward).await;
        let connection = begun.map_err(|reason| self.dialer.failed(reason))?;
        Ok(Some(connection))
    }

    fn speaks_http1(&self, call: Call) -> bool {
        call.shape == Shape::Upgrade
            || !self.settings.enabled
            || !self.dialer.can_agree()
            || self.chose_http1.lock().is_some_and(|at| at.elapsed() < CHOSEN)
    }

    /// Whether the runtime asks for itself, and there is no connection but that of the watches.
    fn shares_with_watches(&self, call: Call) -> bool {
        let share = self.settings.watches_per_connection.get();
        call.housekeeping
            && !self.passing.is_in_use()
            && self.lasting.has_room(share, self.dialer.generation())
    }

    async fn send(self: Arc<Self>, mut request: Request<Body>) -> Result<Response<PoolBody>, BoxError> {
        let call = Call::of(&request);
        let with_watches = call.lasts() || call.probing || self.shares_with_watches(call);
        let kind = if with_watches {
            Kind::Lasting
        } else {
            Kind::Passing
        };
        let failed = |error: DialError| error.for_request(call.verb);
        let mut unsent = None;
        for _ in 0..PASSES {
            if self.speaks_http1(call) {
                return self.send_http1(request, call).await;
            }
            let way = Lane::way(&self, kind, call.takes_place()).await.map_err(failed)?;
            let Way::Http2(slot) = way else {
                return self.send_http1(request, call).await;
            };
            match slot.send(request).await {
                Ok(answer) => return Ok(answer.map(|body| PoolBody::new(body, Some(slot)))),
                Err(mut error) => match error.take_message() {
                    Some(back) => request = back,
                    None => return Err(slot.failure(error.into_error())),
                },
            }
            unsent = Some(slot);
        }
        drop(unsent);
        let reason = "every connection was closed before a request could be sent".into();
        Err(failed(self.dialer.failed(Reason::Tcp(reason))))
    }

    async fn send_http1(
        &self,
        mut request: Request<Body>,
        call: Call,
    ) -> Result<Response<PoolBody>, BoxError> {
        *request.version_mut() = Version::HTTP_11;
        match self.http1.send(request).await {
            Ok(answer) => Ok(answer.map(|body| PoolBody::new(body, None))),
            Err(error) => {
                let refused = || refused(&error).map(|reason| self.dialer.failed(Reason::Tls(reason)));
                Err(match dial_error(&error).or_else(refused) {
                    Some(dial) => dial.for_request(call.verb),
                    None => error.into(),
                })
            }
        }
    }
}

fn dial_error(error: &(dyn std::error::Error + 'static)) -> Option<DialError> {
    std::iter::successors(Some(error), |error| error.source())
        .find_map(|error| error.downcast_ref::<DialError>())
        .cloned()
}

/// Why the server broke off, if TLS told.
fn refused(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref())
        .find_map(tls::refused)
}

impl Service<Request<Body>> for Pool {
    type Response = Response<PoolBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<PoolBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(Arc::clone(&self.0).send(request))
    }
}

/// An answer that holds its place on its connection until it has ended.
pub(super) struct PoolBody {
    inner: Incoming,
    slot: Option<Slot>,
}

impl PoolBody {
    fn new(inner: Incoming, slot: Option<Slot>) -> Self {
        Self { inner, slot }
    }
}

impl http_body::Body for PoolBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        if let Poll::Ready(None | Some(Err(_))) = frame {
            self.slot = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
