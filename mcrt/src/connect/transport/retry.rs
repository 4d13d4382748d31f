//! Which requests are sent again, and when.
use super::{
    super::{error::ConnectError, settings::RetrySettings},
    call::{Call, Shape},
};
use crate::jitter;
use http::{HeaderMap, Request, Response, StatusCode, header::RETRY_AFTER};
use kube::client::Body;
use std::{error::Error, time::Duration};
use tower::BoxError;

/// How long to wait before a request is sent again; none if its answer stands.
///
/// | answer | sent again |
/// |---|---|
/// | 429 with `Retry-After` | all but POST: the server says that it did nothing, but a refused eviction means it |
/// | 503 with `Retry-After` | reads |
/// | a connection that broke | reads |
/// | refused by HTTP/2 before anything was done | everything |
///
/// Whoever repeats a request by itself ([`Once`](super::call::Once)) has only the last of them.
///
/// Deadlines, failed dials and refusals of our own stand: where nothing answers, asking more often does not help.
pub(super) fn pause<B>(
    call: Call,
    attempt: u32,
    answer: &Result<Response<B>, BoxError>,
    settings: &RetrySettings,
) -> Option<Duration> {
    if call.probing || call.shape == Shape::Upgrade || attempt >= settings.attempts {
        return None;
    }
    match answer {
        Ok(answer) => {
            let again = match answer.status() {
                _ if call.once => false,
                StatusCode::TOO_MANY_REQUESTS => !call.posts,
                StatusCode::SERVICE_UNAVAILABLE => call.reads,
                _ => false,
            };
            let asked = again.then(|| retry_after(answer.headers())).flatten()?;
            // Those who were refused together do not come back together.
            (asked <= settings.longest_wait).then(|| asked + jitter::around(asked / 4 + settings.pause))
        }
        Err(error) => match failure(&**error) {
            Failure::Unprocessed => Some(jitter::around(settings.pause)),
            Failure::Broken if call.reads && !call.once => Some(jitter::around(settings.pause)),
            Failure::Broken | Failure::Final => None,
        },
    }
}

/// Whole seconds; servers of Kubernetes send no dates.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// The server says that it has not looked at the request.
    Unprocessed,
    /// The connection broke; the request may have been carried out.
    Broken,
    /// Anything else.
    Final,
}

fn failure(error: &(dyn Error + 'static)) -> Failure {
    let mut found = Failure::Final;
    let mut next = Some(error);
    while let Some(error) = next {
        next = error.source();
        if error.is::<ConnectError>() {
            return Failure::Final;
        }
        if let Some(error) = error.downcast_ref::<h2::Error>() {
            return of_http2(error);
        }
        if let Some(error) = error.downcast_ref::<hyper::Error>() {
            if error.is_timeout() || error.is_user() || error.is_parse() {
                return Failure::Final;
            }
            if error.is_closed() || error.is_canceled() || error.is_incomplete_message() {
                found = Failure::Broken;
            }
        }
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
            if matches!(
                error.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof
            ) {
                found = Failure::Broken;
            }
        }
    }
    found
}

fn of_http2(error: &h2::Error) -> Failure {
    let unprocessed = match error.reason() {
        Some(h2::Reason::REFUSED_STREAM) => error.is_reset(),
        // Streams that a graceful end leaves out are failed with it; those that it lets finish are not.
        Some(h2::Reason::NO_ERROR) => error.is_go_away(),
        _ => false,
    };
    if error.is_remote() && unprocessed {
        Failure::Unprocessed
    } else if error.is_io() || error.is_go_away() {
        Failure::Broken
    } else {
        Failure::Final
    }
}

/// The same request again, if its body can be sent twice.
pub(in crate::connect) fn copy_of(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    copy.method_mut().clone_from(request.method());
    copy.uri_mut().clone_from(request.uri());
    copy.headers_mut().clone_from(request.headers());
    copy.extensions_mut().clone_from(request.extensions());
    *copy.version_mut() = request.version();
    Some(copy)
}
