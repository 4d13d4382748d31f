//! The outermost layer of every client: it ends with the cluster's life, and its watches with each opening of the breaker.
use super::{
    breaker::{Breaker, Circuit, Gate},
    error::ConnectError,
    life::{Life, Ward},
    settings::TransportSettings,
    transport::{Bounded, Call},
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::time::Instant;
use tokio_util::{
    sync::{CancellationToken, WaitForCancellationFutureOwned},
    task::task_tracker::TaskTrackerToken,
};
use tower::{BoxError, Service};

/// Builds a client over a service, owned by a life.
///
/// kube spawns a worker for the request buffer of each client, by `tokio::spawn` and without a handle. The guard
/// makes it ours: it counts as a task of the life while the worker holds it, and its refusal to be ready, once the
/// life has ended, is what ends the worker. A worker only asks when a request comes, so one is sent at the end.
pub(super) fn client<S, B>(
    service: S,
    namespace: String,
    settings: &TransportSettings,
    breaker: &Breaker,
    life: &Life,
) -> Result<kube::Client, ConnectError>
where
    S: Service<Request<KubeBody>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<BoxError>,
{
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(ConnectError::NoRuntime);
    }
    let ward = life.ward().clone();
    let scope = Arc::new(Scope::new(&ward, breaker));
    let service = Gate::new(Bounded::new(service, settings), breaker.clone());
    let client = kube::Client::new(Guard::new(service, Arc::clone(&scope)), namespace);
    let worker = client.clone();
    ward.spawn_to_the_end(async move {
        scope.follow().await;
        // Always fails: that is its purpose.
        let _ = worker.send(Request::new(KubeBody::empty())).await;
    });
    Ok(client)
}

/// What requests and their answers end with.
struct Scope {
    ward: Ward,
    breaker: Breaker,
    /// Cancelled when the breaker opens, or the life ends; there is another for what begins later.
    period: Mutex<CancellationToken>,
}

impl Scope {
    fn new(ward: &Ward, breaker: &Breaker) -> Self {
        Self {
            ward: ward.clone(),
            breaker: breaker.clone(),
            period: Mutex::new(ward.token().child_token()),
        }
    }

    /// Ends a period at each opening of the breaker; returns when the life ends.
    async fn follow(&self) {
        let (ended, mut changes) = (self.ward.token(), self.breaker.changes());
        // The breaker lives as long as this, so the changes do not end.
        while let Some(Ok(())) = ended.run_until_cancelled(changes.changed()).await {
            if !changes.borrow_and_update().is_closed() {
                let next = ended.child_token();
                let period = std::mem::replace(&mut *self.period.lock(), next);
                period.cancel();
            }
        }
        ended.cancelled().await;
    }

    fn period(&self) -> CancellationToken {
        self.period.lock().clone()
    }

    /// Why something of this scope was broken off.
    fn reason(&self) -> ConnectError {
        if self.ward.token().is_cancelled() {
            return ConnectError::Ended;
        }
        let since = match self.breaker.circuit() {
            Circuit::Open { since } => since,
            Circuit::Closed => Instant::now(),
        };
        ConnectError::BreakerOpen { since }
    }
}

/// See [`client`].
struct Guard<S> {
    inner: S,
    scope: Arc<Scope>,
    ended: Cancelled,
    _counted: TaskTrackerToken,
}

impl<S> Guard<S> {
    fn new(inner: S, scope: Arc<Scope>) -> Self {
        Self {
            inner,
            ended: Cancelled::of(scope.ward.token().clone()),
            _counted: scope.ward.hold(),
            scope,
        }
    }
}

impl<S, B> Service<Request<KubeBody>> for Guard<S>
where
    S: Service<Request<KubeBody>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes, Error = BoxError> + Unpin + Send + 'static,
{
    type Response = Response<GuardedBody<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if self.ended.poll(cx) {
            return Poll::Ready(Err(ConnectError::Ended.into()));
        }
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<KubeBody>) -> Self::Future {
        // Watches alone: other answers end by themselves, or are read by somebody who waits for them.
        let period = Call::of(&request).is_watch().then(|| self.scope.period());
        let answer = self.inner.call(request);
        let scope = Arc::clone(&self.scope);
        Box::pin(async move {
            let token = period.as_ref().unwrap_or(scope.ward.token());
            let Some(answer) = token.run_until_cancelled(answer).await else {
                return Err(scope.reason().into());
            };
            let answer = answer.map_err(Into::into)?;
            let ended = Cancelled::of(token.clone());
            Ok(answer.map(|inner| GuardedBody { inner, ended, scope }))
        })
    }
}

/// A response body that breaks off when the life ends, so that no watch outlives its cluster.
struct GuardedBody<B> {
    inner: B,
    ended: Cancelled,
    scope: Arc<Scope>,
}

impl<B> Body for GuardedBody<B>
where
    B: Body<Data = Bytes, Error = BoxError> + Unpin,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended.poll(cx) {
            return Poll::Ready(Some(Err(self.scope.reason().into())));
        }
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Whether a token was cancelled, remembered because a finished future may not be polled again.
struct Cancelled(Option<Pin<Box<WaitForCancellationFutureOwned>>>);

impl Cancelled {
    fn of(token: CancellationToken) -> Self {
        Self(Some(Box::pin(token.cancelled_owned())))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some(wait) = &mut self.0
            && wait.as_mut().poll(cx).is_ready()
        {
            self.0 = None;
        }
        self.0.is_none()
    }
}

impl<S> fmt::Debug for Guard<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}
