//! The outermost layer of every client: a deadline for response headers, and an end with the cluster's life.
use super::{
    breaker::{Breaker, Gate},
    error::ConnectError,
    life::{Life, Ward},
    settings::TransportSettings,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use kube::client::Body as KubeBody;
use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio_util::{sync::WaitForCancellationFutureOwned, task::task_tracker::TaskTrackerToken};
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
    S: Service<Request<KubeBody>, Response = Response<B>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(ConnectError::NoRuntime);
    }
    let ward = life.ward().clone();
    let service = Gate::new(service, breaker.clone());
    let client = kube::Client::new(Guard::new(service, settings.limits.first_byte, &ward), namespace);
    let (worker, ended) = (client.clone(), ward.token().clone());
    ward.spawn_to_the_end(async move {
        ended.cancelled().await;
        // Always fails: that is its purpose.
        let _ = worker.send(Request::new(KubeBody::empty())).await;
    });
    Ok(client)
}

/// See [`client`].
struct Guard<S> {
    inner: S,
    first_byte: Duration,
    ward: Ward,
    ended: Ended,
    _counted: TaskTrackerToken,
}

impl<S> Guard<S> {
    fn new(inner: S, first_byte: Duration, ward: &Ward) -> Self {
        Self {
            inner,
            first_byte,
            ended: Ended::of(ward),
            _counted: ward.hold(),
            ward: ward.clone(),
        }
    }
}

impl<S, B> Service<Request<KubeBody>> for Guard<S>
where
    S: Service<Request<KubeBody>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<GuardedBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if self.ended.poll(cx) {
            return Poll::Ready(Err(ConnectError::Ended.into()));
        }
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<KubeBody>) -> Self::Future {
        let within = self.first_byte;
        let answer = tokio::time::timeout(within, self.inner.call(request));
        let ward = self.ward.clone();
        Box::pin(async move {
            match ward.token().run_until_cancelled(answer).await {
                None => Err(ConnectError::Ended.into()),
                Some(Err(_)) => Err(ConnectError::NoResponse { within }.into()),
                Some(Ok(answer)) => {
                    let answer = answer.map_err(Into::into)?;
                    Ok(answer.map(|body| GuardedBody::new(body, &ward)))
                }
            }
        })
    }
}

/// A response body that breaks off when the life ends, so that no watch outlives its cluster.
struct GuardedBody {
    inner: Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>,
    ended: Ended,
}

impl GuardedBody {
    fn new<B>(body: B, ward: &Ward) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let inner = Box::pin(http_body_util::BodyExt::map_err(body, Into::into));
        Self {
            inner,
            ended: Ended::of(ward),
        }
    }
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended.poll(cx) {
            return Poll::Ready(Some(Err(ConnectError::Ended.into())));
        }
        self.inner.as_mut().poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Whether a life has ended, remembered because a finished future may not be polled again.
struct Ended(Option<Pin<Box<WaitForCancellationFutureOwned>>>);

impl Ended {
    fn of(ward: &Ward) -> Self {
        Self(Some(Box::pin(ward.token().clone().cancelled_owned())))
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
        f.debug_struct("Guard")
            .field("first_byte", &self.first_byte)
            .finish_non_exhaustive()
    }
}
