//! The breaker before a cluster: while it is open, requests fail at once and probes alone go out.
use super::{
    error::ConnectError,
    settings::BreakerSettings,
    transport::{Housekeeping, Tallied},
    validity::Validity,
};
use futures::{TryFutureExt, future::BoxFuture};
use http::{HeaderMap, Request, Response, StatusCode, header::CONTENT_TYPE};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use tokio::{sync::watch, time::Instant};
use tower::{BoxError, Service};

/// Whether requests go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// They do.
    Closed,
    /// They fail at once.
    Open {
        /// When it opened.
        since: Instant,
    },
}

impl Circuit {
    /// Whether requests go out.
    pub fn is_closed(self) -> bool {
        self == Self::Closed
    }
}

/// The breaker of one cluster: a cheap handle, the same for all who hold it.
///
/// It opens by itself after transport failures in a row, and by the word of whoever probes; only that word closes it.
///
/// # What counts as a transport failure
/// A connection that cannot be made or that breaks before the headers of an answer, a deadline that passes, and
/// 502, 503 and 504 of something before the API server. What fails many requests at once, a dial that they all waited
/// for or the end of the HTTP/2 connection that they shared, counts once. Not an answer of the API server, whatever it
/// says; not a credential that cannot be had; not a request whose caller went away. One answer makes the count begin
/// anew.
///
/// A body that breaks off or stalls does not count either: its headers were an answer, which has made the count begin
/// anew. A server that dies in the middle of a list fails the next request, and the probes.
///
/// # Opening
/// What waits for an answer when it opens fails too: nobody has to sit out a deadline for a server that is known to
/// be down. A write may have been done then, as after any broken connection.
#[derive(Clone)]
pub struct Breaker(Arc<Inner>);

struct Inner {
    settings: BreakerSettings,
    circuit: watch::Sender<Circuit>,
    /// Past it nothing is sent at all.
    limit: OnceLock<(Validity, Limited)>,
    reasons: Mutex<Reasons>,
    failures: AtomicU32,
}

/// Why it is open, each with when that began.
#[derive(Default)]
struct Reasons {
    unreachable: Option<Instant>,
    suspended: Option<Instant>,
}

impl Breaker {
    /// A closed breaker.
    pub fn new(settings: BreakerSettings) -> Self {
        Self(Arc::new(Inner {
            settings,
            circuit: watch::Sender::new(Circuit::Closed),
            limit: OnceLock::new(),
            reasons: Mutex::default(),
            failures: AtomicU32::new(0),
        }))
    }

    /// Has requests refused past an instant that others set. Once for each breaker.
    pub(crate) fn limit(&self, validity: Validity, what: Limited) {
        // Said twice, the first word counts.
        let _ = self.0.limit.set((validity, what));
    }

    /// What a request is limited by.
    fn limit_of(&self, request: &Request<KubeBody>) -> Option<Validity> {
        let (validity, what) = self.0.limit.get()?;
        let is_of_runtime = request.extensions().get::<Housekeeping>().is_some();
        let is_limited = match what {
            Limited::All => true,
            Limited::Writes => !request.method().is_safe() && !is_of_runtime,
        };
        is_limited.then(|| validity.clone())
    }

    /// Whether requests go out now.
    pub fn circuit(&self) -> Circuit {
        *self.0.circuit.borrow()
    }

    /// Whether requests go out, as it changes.
    pub fn changes(&self) -> watch::Receiver<Circuit> {
        self.0.circuit.subscribe()
    }

    /// Refuses every request but probes, from now on: the cluster is not reachable.
    pub fn open(&self) {
        self.change(|reasons| {
            reasons.unreachable.get_or_insert_with(Instant::now);
        });
    }

    /// Lets requests out again, unless the cluster is suspended.
    pub fn close(&self) {
        self.change(|reasons| reasons.unreachable = None);
    }

    /// Refuses every request but probes until it is released, whatever the probes find.
    pub(crate) fn suspend(&self) {
        self.change(|reasons| {
            reasons.suspended.get_or_insert_with(Instant::now);
        });
    }

    /// Lets requests out again, unless the cluster is not reachable.
    pub(crate) fn release(&self) {
        self.change(|reasons| reasons.suspended = None);
    }

    /// Whether the cluster was found unreachable, by whoever probes or by the breaker itself.
    pub(crate) fn is_tripped(&self) -> bool {
        self.0.reasons.lock().unreachable.is_some()
    }

    /// Resolves once it is open.
    pub(super) fn opened(&self) -> impl Future<Output = Instant> + Send + use<> {
        let mut changes = self.changes();
        async move {
            let opened = changes.wait_for(|circuit| !circuit.is_closed()).await;
            match opened.map(|circuit| *circuit) {
                Ok(Circuit::Open { since }) => since,
                // The breaker is gone, and whoever could open it with it.
                Ok(Circuit::Closed) | Err(_) => std::future::pending().await,
            }
        }
    }

    /// Under one lock, so that the circuit is always that of the reasons.
    fn change(&self, change: impl FnOnce(&mut Reasons)) {
        let mut reasons = self.0.reasons.lock();
        change(&mut reasons);
        let since = [reasons.unreachable, reasons.suspended]
            .into_iter()
            .flatten()
            .min();
        let now = since.map_or(Circuit::Closed, |since| Circuit::Open { since });
        self.0.circuit.send_if_modified(|circuit| {
            // Going on for another reason, it has been open all along.
            let changed = circuit.is_closed() != now.is_closed();
            if changed {
                self.0.failures.store(0, Relaxed);
                *circuit = now;
            }
            changed
        });
    }

    fn note(&self, fate: Fate) {
        match fate {
            Fate::Answered => self.0.failures.store(0, Relaxed),
            Fate::Failed => {
                if self.0.failures.fetch_add(1, Relaxed) + 1 >= self.0.settings.failures {
                    self.open();
                }
            }
            Fate::Unsent => {}
        }
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Breaker").field(&self.circuit()).finish()
    }
}

/// Which requests an instant limits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limited {
    /// All of them, probes too.
    All,
    /// Those of controllers that may change something.
    Writes,
}

/// Drives a request while it may still be sent: whoever sends is driven by it, so nothing is begun past the instant.
async fn in_time<T>(
    limit: Option<Validity>,
    answer: impl Future<Output = Result<T, BoxError>>,
) -> Result<T, BoxError> {
    let mut answer = std::pin::pin!(answer);
    std::future::poll_fn(|cx| {
        if limit.as_ref().is_some_and(Validity::has_passed) {
            return Poll::Ready(Err(ConnectError::NotOurs.into()));
        }
        answer.as_mut().poll(cx)
    })
    .await
}

/// Marks a request that passes an open breaker, in its extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing;

/// What a request says of the way to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    Failed,
    /// It was not sent, or ended for a reason of ours.
    Unsent,
}

impl Fate {
    fn of<B>(answer: &Result<Response<B>, BoxError>) -> Self {
        match answer {
            Ok(answer) if is_from_gateway(answer.status(), answer.headers()) => Self::Failed,
            Ok(_) => Self::Answered,
            Err(error) => match ConnectError::within(&**error) {
                Some(error) if !error.is_of_transport() => Self::Unsent,
                _ => Self::Failed,
            },
        }
    }
}

/// Whether an answer comes from something before the API server, which could not reach it.
///
/// Every answer of an API server carries the id of its audit event; those of old ones are told by being JSON or
/// protobuf, since what a proxy sends of itself is a page or a line of text.
pub(super) fn is_from_gateway(status: StatusCode, headers: &HeaderMap) -> bool {
    let unavailable = matches!(status.as_u16(), 502..=504);
    unavailable && !headers.contains_key("audit-id") && !is_of_kubernetes(headers)
}

fn is_of_kubernetes(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| {
        kind.starts_with("application/json") || kind.starts_with("application/vnd.kubernetes.protobuf")
    })
}

/// The layer that asks the breaker.
pub(super) struct Gate<S> {
    inner: S,
    breaker: Breaker,
}

impl<S> Gate<S> {
    pub(super) fn new(inner: S, breaker: Breaker) -> Self {
        Self { inner, breaker }
    }
}

impl<S, B> Service<Request<KubeBody>> for Gate<S>
where
    S: Service<Request<KubeBody>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<KubeBody>) -> Self::Future {
        let limit = self.breaker.limit_of(&request);
        if limit.as_ref().is_some_and(Validity::has_passed) {
            return Box::pin(std::future::ready(Err(ConnectError::NotOurs.into())));
        }
        if request.extensions().get::<Probing>().is_some() {
            let answer = self.inner.call(request);
            return Box::pin(async move { answer.await.map_err(|error| Tallied::apart(error.into()).0) });
        }
        if let Circuit::Open { since } = self.breaker.circuit() {
            let refused = Err(ConnectError::BreakerOpen { since }.into());
            return Box::pin(std::future::ready(refused));
        }
        let (answer, breaker) = (self.inner.call(request), self.breaker.clone());
        Box::pin(async move {
            let answer = tokio::select! {
                biased;
                answer = in_time(limit, answer.map_err(Into::into)) => answer,
                since = breaker.opened() => return Err(ConnectError::BreakerOpen { since }.into()),
            };
            let (answer, shared) = match answer.map_err(Tallied::apart) {
                Ok(answer) => (Ok(answer), None),
                Err((error, shared)) => (Err(error), shared),
            };
            let fate = Fate::of(&answer);
            if fate != Fate::Failed || shared.is_none_or(|shared| shared.count()) {
                breaker.note(fate);
            }
            answer
        })
    }
}
