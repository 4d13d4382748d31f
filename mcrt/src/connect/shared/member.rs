//! A member's way to its part of the server.
use super::{
    super::{
        breaker::{Circuit, Probing},
        error::ConnectError,
        service::Answer,
        transport::Tallied,
    },
    base::Base,
    division::Route,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use kube::client::Body as KubeBody;
use serde_json::json;
use std::{
    sync::Arc,
    task::{Context, Poll},
};
use tower::{BoxError, Service};

/// A member's place at its server while it is engaged: the service behind its client.
#[derive(Clone)]
pub(in crate::connect) struct Seat {
    base: Arc<Base>,
    key: Arc<str>,
}

impl Seat {
    pub(super) fn new(base: Arc<Base>, key: Arc<str>) -> Self {
        Self { base, key }
    }

    pub(in crate::connect) fn base(&self) -> &Arc<Base> {
        &self.base
    }

    pub(in crate::connect) fn key(&self) -> &Arc<str> {
        &self.key
    }

    /// What a client calls its own namespace.
    pub(in crate::connect) fn namespace(&self) -> String {
        match self.base.division() {
            super::Division::Namespaces => self.key.to_string(),
            super::Division::Workspaces => "default".to_owned(),
        }
    }
}

impl Service<Request<KubeBody>> for Seat {
    type Response = Answer;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Answer, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<KubeBody>) -> Self::Future {
        let route = self
            .base
            .division()
            .route(&self.key, request.method(), request.uri());
        match route {
            Route::Refused(reason) => Box::pin(std::future::ready(Ok(forbidden(&reason)))),
            Route::Together => Arc::clone(&self.base.questions).ask(request),
            Route::Own(prefix) => self.own(&prefix, request),
        }
    }
}

impl Seat {
    /// Whoever waits for a server that is known to be down is told at once. Neither an answer nor a failure counts for
    /// the server as a whole: it may be about this member alone.
    fn own(&self, prefix: &str, request: Request<KubeBody>) -> BoxFuture<'static, Result<Answer, BoxError>> {
        let probing = request.extensions().get::<Probing>().is_some();
        if let (Circuit::Open { since }, false) = (self.base.breaker().circuit(), probing) {
            return Box::pin(std::future::ready(
                Err(ConnectError::BreakerOpen { since }.into()),
            ));
        }
        let answer = self.base.send(prefix, request);
        // What many fail with at once counts once for the server, but once for each of its members too.
        Box::pin(async move { answer.await.map_err(|error| Tallied::apart(error).0) })
    }
}

fn forbidden(reason: &str) -> Answer {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {},
        "status": "Failure", "reason": "Forbidden", "code": 403, "message": reason,
    });
    let body = Full::new(Bytes::from(status.to_string())).map_err(BoxError::from);
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = StatusCode::FORBIDDEN;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}
