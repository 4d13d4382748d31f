//! The HTTP face of a server: hooks, authentication, and the way from a request to its answer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower::BoxError;

use crate::api::answer::{self, Answer};
use crate::api::body::{Body, Guards};
use crate::api::request::{RequestInfo, Verb};
use crate::api::status::Status;
use crate::door::counters::Open;
use crate::door::hook::Verdict;
use crate::read::watch::error_event;
use crate::server::Server;

/// How large a request's body may be; what a real server allows.
const LARGEST_BODY: usize = 3 << 20;

/// A server as a `tower` service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    server: Server,
}

impl Service {
    pub(crate) fn new(server: Server) -> Self {
        Self { server }
    }
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.server.clone();
        // Counted from here, not from the first poll: a request that is never polled is open as well.
        let open = server.0.counting.open();
        Box::pin(serve(server, request, open))
    }
}

async fn serve<B>(server: Server, request: Request<B>, open: Open) -> Result<Response<Body>, BoxError>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let (parts, body) = request.into_parts();
    let info = RequestInfo::read(&parts);
    let open = (open, server.0.counting.count(&info));
    let verdict = server.0.hook().map_or(Verdict::Pass, |hook| hook(&info));
    match verdict {
        Verdict::Pass => {}
        Verdict::Delay(delay) => tokio::time::sleep(delay).await,
        Verdict::Hang => match std::future::pending::<Infallible>().await {},
        Verdict::HangBody => return Ok(response(200, JSON, Body::silence(open))),
        Verdict::Fail {
            code,
            reason,
            message,
        } => {
            return Ok(refuse(&Status::new(code, reason, message), open));
        }
        Verdict::WatchError {
            code,
            reason,
            message,
        } => {
            let status = Status::new(code, reason, message);
            if info.verb() != Verb::Watch {
                return Ok(refuse(&status, open));
            }
            return Ok(response(200, JSON, Body::whole(error_event(&status), open)));
        }
        Verdict::Reset => return Err("connection reset by peer".into()),
    }
    let public = matches!(info.path(), "/healthz" | "/livez" | "/readyz" | "/version");
    if !server.0.allows(info.token(), public) {
        server.0.counting.refuse();
        return Ok(refuse(&Status::unauthorized(), open));
    }
    let answer = match read_body(body).await? {
        Ok(body) => answer::answer(&server.0, &info, &body),
        Err(status) => Err(status),
    };
    Ok(match answer {
        Ok(Answer::Json(code, bytes)) => response(code, JSON, Body::whole(bytes.into(), open)),
        Ok(Answer::Typed(media_type, bytes)) => response(200, media_type, Body::whole(bytes.into(), open)),
        Ok(Answer::Text(code, text)) => response(code, TEXT, Body::whole(text.into(), open)),
        Ok(Answer::Events(events)) => response(200, JSON, Body::events(events, open)),
        Err(status) => refuse(&status, open),
    })
}

/// Reads a body; the outer error is a broken connection, the inner one an answer.
async fn read_body<B>(body: B) -> Result<Result<Bytes, Status>, BoxError>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    match Limited::new(body, LARGEST_BODY).collect().await {
        Ok(body) => Ok(Ok(body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Ok(Err(Status::too_large(LARGEST_BODY))),
        Err(error) => Err(error),
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

fn refuse(status: &Status, open: Guards) -> Response<Body> {
    let body = Body::whole(status.to_value().to_string().into(), open);
    response(status.code(), JSON, body)
}

fn response(code: u16, content_type: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
