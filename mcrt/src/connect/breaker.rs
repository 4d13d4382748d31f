//! The breaker before a cluster: while it is open, requests fail at once and probes alone go out.
use super::{error::ConnectError, settings::BreakerSettings};
use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::Body as KubeBody;
use std::{
    fmt,
    sync::{
        Arc,
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
#[derive(Clone)]
pub struct Breaker(Arc<Inner>);

struct Inner {
    settings: BreakerSettings,
    circuit: watch::Sender<Circuit>,
    failures: AtomicU32,
}

impl Breaker {
    /// A closed breaker.
    pub fn new(settings: BreakerSettings) -> Self {
        Self(Arc::new(Inner {
            settings,
            circuit: watch::Sender::new(Circuit::Closed),
            failures: AtomicU32::new(0),
        }))
    }

    /// Whether requests go out now.
    pub fn circuit(&self) -> Circuit {
        *self.0.circuit.borrow()
    }

    /// Whether requests go out, as it changes.
    pub fn changes(&self) -> watch::Receiver<Circuit> {
        self.0.circuit.subscribe()
    }

    /// Refuses every request but probes, from now on.
    pub fn open(&self) {
        self.0.circuit.send_if_modified(|circuit| {
            let opens = circuit.is_closed();
            if opens {
                *circuit = Circuit::Open {
                    since: Instant::now(),
                };
            }
            opens
        });
    }

    /// Lets requests out again.
    pub fn close(&self) {
        self.0.failures.store(0, Relaxed);
        self.0
            .circuit
            .send_if_modified(|circuit| std::mem::replace(circuit, Circuit::Closed) != Circuit::Closed);
    }

    fn answered(&self) {
        self.0.failures.store(0, Relaxed);
    }

    fn failed(&self) {
        if self.0.failures.fetch_add(1, Relaxed) + 1 >= self.0.settings.failures {
            self.open();
        }
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Breaker").field(&self.circuit()).finish()
    }
}

/// Marks a request that passes an open breaker, in its extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing;

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
        if request.extensions().get::<Probing>().is_some() {
            let answer = self.inner.call(request);
            return Box::pin(async move { answer.await.map_err(Into::into) });
        }
        if let Circuit::Open { since } = self.breaker.circuit() {
            return Box::pin(std::future::ready(
                Err(ConnectError::BreakerOpen { since }.into()),
            ));
        }
        let (answer, breaker) = (self.inner.call(request), self.breaker.clone());
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into);
            match &answer {
                Ok(_) => breaker.answered(),
                Err(_) => breaker.failed(),
            }
            answer
        })
    }
}
