//! The question whether an API server answers.
use super::{breaker::Probing, error::ConnectError};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde::Deserialize;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Largest answer to `/version` that is read.
const MAX_ANSWER: usize = 64 << 10;

/// What an API server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerVersion {
    /// Such as `v1.37.2`; absent if the answer was something else.
    pub git_version: Option<String>,
    /// The status of the answer. 401 and 403 come from a server that is well; 502 to 504 from something before it.
    pub status: StatusCode,
}

impl ServerVersion {
    /// Whether the server does not accept who we are.
    pub fn is_unauthorized(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED
    }
}

/// Asks for `/version`. Any answer counts as reached, also a refusal.
pub async fn probe(client: &kube::Client, deadline: Duration) -> Result<ServerVersion, ConnectError> {
    let until = Instant::now() + deadline;
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = http::Uri::from_static("/version");
    request.extensions_mut().insert(Probing);
    let answer = timeout_at(until, client.send(request)).await;
    let answer = answer.map_err(|_| ConnectError::NoResponse { within: deadline })?;
    let answer = answer.map_err(classify)?;
    let status = answer.status();
    // A server that answers is reached, whatever becomes of the body.
    let body = timeout_at(until, Limited::new(answer.into_body(), MAX_ANSWER).collect()).await;
    let body = body
        .ok()
        .and_then(Result::ok)
        .map(http_body_util::Collected::to_bytes);
    let said: Option<Said> = body.and_then(|body| serde_json::from_slice(&body).ok());
    Ok(ServerVersion {
        git_version: said.map(|said| said.git_version),
        status,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    git_version: String,
}

/// Our own errors come back wrapped; they say more than their wrapping.
fn classify(error: kube::Error) -> ConnectError {
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
