//! The HTTP face of a server: hooks, authentication, and the way from a request to its answer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tower::BoxError;

use crate::api::answer::{self, Answer};
use crate::api::reviews;
use crate::door::body::{Body, Guards};
use crate::door::counters::{Counting, Open};
use crate::faults::effects::{Effects, Instead, Spoil};
use crate::faults::gate::Gate;
use crate::faults::stream::{broken, refused, spoil_events, spoil_whole};
use crate::kcp::front::{Front, Way};
use crate::refusal::status::Status;
use crate::request::info::{RequestInfo, Verb};
use crate::server::Server;

/// How large a request's body may be; what a real server allows.
const LARGEST_BODY: usize = 3 << 20;

/// A server as a `tower` service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Service {
    door: Door,
    /// What requests show that show nothing themselves.
    authorization: Option<HeaderValue>,
}

/// What is behind a service.
#[derive(Clone, Debug)]
enum Door {
    Server(Server),
    Front(Front),
}

impl Service {
    pub(crate) fn new(server: Server) -> Self {
        Self {
            door: Door::Server(server),
            authorization: None,
        }
    }

    pub(crate) fn to_front(front: Front) -> Self {
        Self {
            door: Door::Front(front),
            authorization: None,
        }
    }

    /// What its sockets are cut off by, and counted in.
    pub(crate) fn sockets(&self) -> (Arc<Gate>, Arc<Counting>) {
        let server = match &self.door {
            Door::Server(server) => server.clone(),
            Door::Front(front) => front.server(),
        };
        (Arc::clone(&server.0.gate), Arc::clone(&server.0.counting))
    }

    /// Shows a bearer token with every request that shows none itself, as clients do that hold one.
    ///
    /// One with characters that no header can carry is not shown, and the server refuses the requests.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.authorization = HeaderValue::from_str(&format!("Bearer {token}")).ok();
        if let Some(header) = &mut self.authorization {
            // Printed as `Sensitive`.
            header.set_sensitive(true);
        }
        self
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

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(header) = &self.authorization {
            request
                .headers_mut()
                .entry(AUTHORIZATION)
                .or_insert_with(|| header.clone());
        }
        let way = match &self.door {
            Door::Server(server) => Way::straight(server),
            Door::Front(front) => front.find(&request),
        };
        // Counted from here, not from the first poll: a request that is never polled is open as well.
        let open = way.server.0.counting.open();
        Box::pin(serve(way, request, open))
    }
}

async fn serve<B>(way: Way, request: Request<B>, open: Open) -> Result<Response<Body>, BoxError>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let server = &way.server;
    let (parts, body) = request.into_parts();
    let mut info = RequestInfo::read(&parts, way.base);
    let caller = server.0.tokens.caller(info.token());
    info.set_user(caller.name());
    let guards = Guards {
        _request: open,
        _watch: server.0.counting.count(&info),
        gate: Arc::clone(&server.0.gate),
    };
    guards.gate.pass().await;
    let faults = server.0.faults(&info);
    if !faults.is_empty() {
        server.0.counting.spoil();
    }
    let effects = Effects::of(faults);
    wait(server.0.latency() + effects.delay).await;
    if let Some(instead) = effects.instead {
        return instead_of_answer(instead, &info, guards).await;
    }
    info.set_view(effects.view);
    if effects.replay > 0 && info.verb() == Verb::Watch {
        info.start_earlier(effects.replay);
    }
    if let Err(status) = way.check(&caller, &info) {
        if matches!(status.code(), 401 | 403) {
            server.0.counting.refuse(status.code());
        }
        return Ok(refuse(&status, guards));
    }
    let answer = match read_body(body).await? {
        Ok(body) => reviews::answer(&server.0, &caller, &info, &body)
            .unwrap_or_else(|| answer::answer(&server.0, &info, &body)),
        Err(status) => Err(status),
    };
    way.follow(&info);
    if effects.lost {
        return Err(broken());
    }
    Ok(match answer {
        Ok(answer) => respond(answer, &effects.spoils, guards),
        Err(status) => refuse(&status, guards),
    })
}

fn respond(answer: Answer, spoils: &[Spoil], guards: Guards) -> Response<Body> {
    match answer {
        Answer::Json(code, bytes) => response(code, JSON, whole(bytes, spoils, guards)),
        Answer::Typed(media_type, bytes) => response(200, media_type, whole(bytes, spoils, guards)),
        Answer::Text(code, text) => response(code, TEXT, whole(text.into(), spoils, guards)),
        Answer::Events(events) if spoils.is_empty() => response(200, JSON, Body::events(events, guards)),
        Answer::Events(events) => {
            let frames = spoil_events(events, spoils);
            response(200, JSON, Body::frames(frames, guards))
        }
        Answer::Warned(warnings, answer) => {
            let mut response = respond(*answer, spoils, guards);
            for warning in warnings.iter().filter_map(|text| warning(text)) {
                response.headers_mut().append(WARNING, warning);
            }
            response
        }
    }
}

/// A warning as a header of the answer, in the form that clients of Kubernetes print.
fn warning(text: &str) -> Option<HeaderValue> {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()
}

async fn wait(delay: Duration) {
    // Even a sleep of no time would have to wait for the timer.
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

async fn instead_of_answer(
    instead: Instead,
    info: &RequestInfo,
    guards: Guards,
) -> Result<Response<Body>, BoxError> {
    match instead {
        Instead::Hang => match std::future::pending::<Infallible>().await {},
        Instead::HangBody => Ok(response(200, JSON, Body::silence(guards))),
        Instead::WatchError(refusal) if info.verb() == Verb::Watch => {
            let event = refusal.status().to_event();
            Ok(response(200, JSON, Body::whole(event, guards)))
        }
        Instead::Status(refusal) | Instead::WatchError(refusal) => Ok(refuse(&refusal.status(), guards)),
        Instead::Reset => Err(broken()),
        Instead::Refuse => Err(refused()),
    }
}

fn whole(bytes: Vec<u8>, spoils: &[Spoil], guards: Guards) -> Body {
    let bytes = bytes.into();
    match spoil_whole(&bytes, spoils) {
        Some(frames) => Body::frames(frames, guards),
        None => Body::whole(bytes, guards),
    }
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

fn refuse(status: &Status, guards: Guards) -> Response<Body> {
    let body = Body::whole(status.to_value().to_string().into(), guards);
    let mut response = response(status.code(), JSON, body);
    if let Some(seconds) = status.retry_after_seconds() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn response(code: u16, content_type: HeaderValue, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
