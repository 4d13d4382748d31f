//! The layer that says who we are, and asks again once where that had become stale.
use super::{
    credentials::Material,
    error::ConnectError,
    transport::{Until, copy_of},
};
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, header::AUTHORIZATION};
use kube::client::Body;
use std::{
    mem,
    task::{Context, Poll},
};
use tokio::time::timeout_at;
use tower::{BoxError, Service, ServiceExt};

/// Adds the `Authorization` header.
///
/// A request that is answered with 401 is sent once more if there is something else to show by then. That is safe for
/// every verb: who is not known has had nothing done. Bodies that are streams are not repeated.
///
/// Waits for credentials shorter than the sender waits for its answer, so that it learns what was waited for.
#[derive(Clone, Debug)]
pub(super) struct Authorize<S> {
    inner: S,
    material: Material,
}

impl<S> Authorize<S> {
    pub(super) fn new(inner: S, material: Material) -> Self {
        Self { inner, material }
    }
}

impl<S, B> Service<Request<Body>> for Authorize<S>
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<B>, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        // The service that was polled ready is the one to call.
        let next = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, next);
        let material = self.material.clone();
        Box::pin(async move {
            let again = copy_of(&request);
            let until = request.extensions().get::<Until>().copied();
            let (request, shown) = sign(request, &material, until).await?;
            let generation = material.generation();
            let answer = inner.call(request).await.map_err(Into::into)?;
            if answer.status() != StatusCode::UNAUTHORIZED {
                return Ok(answer);
            }
            let renewed = material.refused(shown.as_ref(), generation);
            if !by(until, renewed).await.unwrap_or(false) {
                return Ok(answer);
            }
            let Some(again) = again else {
                return Ok(answer);
            };
            drop(answer);
            let (again, _) = sign(again, &material, until).await?;
            let ready = inner.ready().await.map_err(Into::into)?;
            ready.call(again).await.map_err(Into::into)
        })
    }
}

async fn sign(
    mut request: Request<Body>,
    material: &Material,
    until: Option<Until>,
) -> Result<(Request<Body>, Option<HeaderValue>), ConnectError> {
    let header = match by(until, material.header()).await {
        Some(header) => header?,
        None => return Err(material.overdue()),
    };
    if let Some(header) = &header {
        request.headers_mut().insert(AUTHORIZATION, header.clone());
    }
    Ok((request, header))
}

/// None if it would take so long that the sender gives up.
async fn by<T>(until: Option<Until>, waiting: impl Future<Output = T>) -> Option<T> {
    match until {
        Some(until) => timeout_at(until.for_credentials(), waiting).await.ok(),
        None => Some(waiting.await),
    }
}
