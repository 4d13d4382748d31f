//! The question whether an API server answers, and the reading of a small answer.
use super::{
    breaker::{Probing, is_from_gateway},
    error::ConnectError,
    transport::{Housekeeping, Until},
};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde::de::DeserializeOwned;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Largest answer that is read.
const MAX_ANSWER: usize = 1 << 20;

/// Largest answer to a probe that is read: so that the connection can be used again.
const MAX_LINE: usize = 4 << 10;

/// What an API server says when it is asked whether it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// It is; or is too busy to say (429), or too old to know the question (404).
    Ready,
    /// It answers, but not that it is ready: it starts, it stops, or its storage does not answer.
    Unready {
        /// The status of the answer.
        status: u16,
    },
    /// It does not accept who asks (401), or does not allow the question (403).
    Refused {
        /// 401 or 403.
        status: u16,
    },
}

impl Answered {
    fn of(status: StatusCode) -> Self {
        let code = status.as_u16();
        match code {
            401 | 403 => Self::Refused { status: code },
            404 | 429 => Self::Ready,
            _ if status.is_success() => Self::Ready,
            _ => Self::Unready { status: code },
        }
    }
}

/// Asks for `/readyz`, past an open breaker.
///
/// Any answer of an API server says that it is alive. An answer of something before it, which could not reach it
/// (502 to 504), is a failure like a connection that cannot be made.
pub async fn probe(client: &kube::Client, deadline: Duration) -> Result<Answered, ConnectError> {
    let until = Instant::now() + deadline;
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = Uri::from_static("/readyz");
    request.extensions_mut().insert(Probing);
    request.extensions_mut().insert(Until(until));
    let answer = timeout_at(until, client.send(request)).await;
    let answer = answer.map_err(|_| ConnectError::NoResponse { within: deadline })?;
    let answer = answer.map_err(classify)?;
    let status = answer.status();
    if is_from_gateway(status, answer.headers()) {
        return Err(ConnectError::Gateway {
            status: status.as_u16(),
        });
    }
    // A server that answers is alive, whatever becomes of the body.
    let _ = timeout_at(until, Limited::new(answer.into_body(), MAX_LINE).collect()).await;
    Ok(Answered::of(status))
}

/// Asks a small question of an API server, and reads its answer if it is a success: the status, and what it said.
pub(crate) async fn ask<T: DeserializeOwned>(
    client: &kube::Client,
    mut request: Request<Body>,
    deadline: Duration,
) -> Result<(StatusCode, Option<T>), ConnectError> {
    request.extensions_mut().insert(Housekeeping);
    let asking = async {
        let answer = client.send(request).await.map_err(classify)?;
        let status = answer.status();
        if is_from_gateway(status, answer.headers()) {
            return Err(ConnectError::Gateway {
                status: status.as_u16(),
            });
        }
        if !status.is_success() {
            return Ok((status, None));
        }
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let body = body.map(http_body_util::Collected::to_bytes).ok();
        Ok((status, body.and_then(|body| serde_json::from_slice(&body).ok())))
    };
    let answer = tokio::time::timeout(deadline, asking).await;
    answer.map_err(|_| ConnectError::NoResponse { within: deadline })?
}

/// Our own errors come back wrapped; they say more than their wrapping.
pub(super) fn classify(error: kube::Error) -> ConnectError {
    // The worker of a client that has ended hands out one error to all, so it cannot be taken out.
    if matches!(ConnectError::within(&error), Some(ConnectError::Ended)) {
        return ConnectError::Ended;
    }
    match error {
        kube::Error::Service(error) => match error.downcast::<ConnectError>() {
            Ok(ours) => *ours,
            Err(error) => ConnectError::Unreachable(Box::new(kube::Error::Service(error))),
        },
        error => ConnectError::Unreachable(Box::new(error)),
    }
}
