//! The layer between the breaker and the wire: a budget, deadlines, and a few retries that count as one request.
use super::{
    super::{
        error::{ConnectError, Deadline},
        settings::{Limits, RetrySettings, TransportSettings},
    },
    budget::Budget,
    call::{Call, Shape},
    deadlines::{self, TimedBody, Until},
    retry,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::Body;
use kube::client::Body as KubeBody;
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tokio::time::{Instant, sleep};
use tower::{BoxError, Service, ServiceExt as _};

/// Clones share the budget.
#[derive(Clone)]
pub(in crate::connect) struct Bounded<S> {
    inner: S,
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    retry: RetrySettings,
    budget: Option<Budget>,
}

impl<S> Bounded<S> {
    pub(in crate::connect) fn new(inner: S, settings: &TransportSettings) -> Self {
        Self {
            inner,
            shared: Arc::new(Shared {
                limits: settings.limits,
                retry: settings.retry,
                budget: settings.budget.map(Budget::new),
            }),
        }
    }
}

impl<S, B> Service<Request<KubeBody>> for Bounded<S>
where
    S: Service<Request<KubeBody>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<TimedBody<B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    /// A service that is not ready is waited for within the deadline of the request.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<KubeBody>) -> Self::Future {
        let (inner, shared) = (self.inner.clone(), Arc::clone(&self.shared));
        Box::pin(async move { shared.send(inner, request).await })
    }
}

impl Shared {
    async fn send<S, B>(
        &self,
        inner: S,
        mut request: Request<KubeBody>,
    ) -> Result<Response<TimedBody<B>>, BoxError>
    where
        S: Service<Request<KubeBody>, Response = Response<B>> + Clone,
        S::Error: Into<BoxError>,
        B: Body<Data = Bytes> + Unpin,
    {
        let call = Call::of(&request);
        // All attempts together wait no longer for their answer than one may.
        let until = Instant::now() + self.limits.first_byte;
        if request.extensions().get::<Until>().is_none() {
            request.extensions_mut().insert(Until(until));
        }
        let mut attempt = 1;
        loop {
            let again = (attempt < self.retry.attempts)
                .then(|| retry::copy_of(&request))
                .flatten();
            let answer = self.attempt(inner.clone(), request, call, until).await;
            let pause = retry::pause(call, attempt, &answer, &self.retry);
            match (pause, again) {
                (Some(pause), Some(again)) if Instant::now() + pause < until => {
                    drop(answer);
                    sleep(pause).await;
                    request = again;
                    attempt += 1;
                }
                _ => return answer.map(|answer| answer.map(|body| TimedBody::new(body, call, &self.limits))),
            }
        }
    }

    async fn attempt<S, B>(
        &self,
        inner: S,
        request: Request<KubeBody>,
        call: Call,
        until: Instant,
    ) -> Result<Response<B>, BoxError>
    where
        S: Service<Request<KubeBody>, Response = Response<B>>,
        S::Error: Into<BoxError>,
    {
        if let Some(budget) = &self.budget
            && budgeted(call)
            && !budget.turn(until).await
        {
            return Err(ConnectError::Overdue {
                verb: call.verb,
                deadline: Deadline::Budget,
                within: self.limits.first_byte,
            }
            .into());
        }
        let answer = async { inner.oneshot(request).await.map_err(Into::into) };
        deadlines::first_byte(answer, call, &self.limits, until).await
    }
}

/// Watches are few and last; probes tell whether the cluster lives.
fn budgeted(call: Call) -> bool {
    !call.probing && matches!(call.shape, Shape::Whole)
}
