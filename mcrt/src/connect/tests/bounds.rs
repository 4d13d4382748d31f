//! Deadlines, retries and the budget of requests, in virtual time.
use super::super::{Access, Circuit, ConnectError, Deadline, Life, RequestBudget, TransportSettings};
use bytes::Bytes;
use futures::{StreamExt, channel::mpsc, stream};
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use kube::client::Body;
use std::{
    convert::Infallible,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::time::Instant;

type Piece = Result<Frame<Bytes>, Infallible>;

fn request(method: &Method, path: &str, verb: Option<&'static str>) -> Request<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .unwrap();
    if let Some(verb) = verb {
        request.extensions_mut().insert(verb);
    }
    request
}

fn list() -> Request<Body> {
    request(&Method::GET, "/api/v1/pods", Some("list"))
}

fn piece() -> Frame<Bytes> {
    Frame::data(Bytes::from_static(b"{}"))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A client whose every answer has this body, and how often it is asked.
fn streaming<S>(life: &Life, body: impl Fn() -> S + Clone + Send + 'static) -> kube::Client
where
    S: stream::Stream<Item = Piece> + Send + 'static,
{
    let service = tower::service_fn(move |_: Request<Body>| {
        let answer = Response::new(StreamBody::new(body()));
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    Access::service("s", service)
        .connect(&TransportSettings::default(), life)
        .unwrap()
        .client()
}

/// Reads an answer until it fails: how many pieces came, what it failed of, after how long.
async fn failure(client: &kube::Client, request: Request<Body>) -> (usize, Deadline, &'static str, u64) {
    let mut body = client.send(request).await.unwrap().into_body();
    let began = Instant::now();
    let mut pieces = 0;
    loop {
        match body.frame().await.expect("the answer does not end") {
            Ok(_) => pieces += 1,
            Err(error) => match ConnectError::within(&error) {
                Some(ConnectError::Overdue { deadline, verb, .. }) => {
                    return (pieces, *deadline, verb, began.elapsed().as_secs());
                }
                _ => panic!("{error}"),
            },
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_fails_a_margin_after_the_timeout_that_the_server_was_given() {
    let life = Life::new();
    let client = streaming(&life, || stream::iter([Ok(piece())]).chain(stream::pending()));
    let watch = |query: &str| {
        request(
            &Method::GET,
            &format!("/api/v1/pods?watch=true{query}"),
            Some("watch"),
        )
    };
    let after_a_minute = failure(&client, watch("&timeoutSeconds=60")).await;
    assert_eq!(after_a_minute, (1, Deadline::Idle, "watch", 65));
    let after_the_default = failure(&client, watch("")).await;
    assert_eq!(after_the_default, (1, Deadline::Idle, "watch", 300));
}

#[tokio::test(start_paused = true)]
async fn events_keep_a_watch_alive() {
    let life = Life::new();
    let client = streaming(&life, || {
        stream::unfold(0, |sent| async move {
            tokio::time::sleep(seconds(60)).await;
            (sent < 100).then(|| (Ok(piece()), sent + 1))
        })
        .chain(stream::pending())
    });
    let watch = request(&Method::GET, "/api/v1/pods?watch=1&timeoutSeconds=60", None);
    let failed = failure(&client, watch).await;
    // The hundredth event, a minute in which the stream ends for nobody, then the deadline.
    assert_eq!(failed, (100, Deadline::Idle, "GET", 6065));
}

#[tokio::test(start_paused = true)]
async fn a_list_fails_when_it_stalls_and_when_it_trickles() {
    let life = Life::new();
    let stalled = streaming(&life, || stream::iter([Ok(piece())]).chain(stream::pending()));
    assert_eq!(failure(&stalled, list()).await, (1, Deadline::Idle, "list", 30));
    let trickling = streaming(&life, || {
        stream::unfold((), |()| async {
            tokio::time::sleep(seconds(27)).await;
            Some((Ok(piece()), ()))
        })
    });
    assert_eq!(
        failure(&trickling, list()).await,
        (11, Deadline::Whole, "list", 300)
    );
}

#[tokio::test(start_paused = true)]
async fn followed_logs_may_be_silent() {
    let life = Life::new();
    let client = streaming(&life, || stream::iter([Ok(piece())]).chain(stream::pending()));
    let follow = request(
        &Method::GET,
        "/api/v1/namespaces/a/pods/b/log?follow=true",
        Some("log_stream"),
    );
    let mut body = client.send(follow).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    assert!(tokio::time::timeout(seconds(86_400), body.frame()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_comes_late_gets_what_has_come() {
    let (sender, receiver) = mpsc::unbounded();
    let receiver = Arc::new(std::sync::Mutex::new(Some(receiver)));
    let life = Life::new();
    let client = streaming(&life, move || receiver.lock().unwrap().take().unwrap());
    let body = client.send(list()).await.unwrap().into_body();
    sender.unbounded_send(Ok(piece())).unwrap();
    sender.unbounded_send(Ok(piece())).unwrap();
    drop(sender);
    tokio::time::advance(seconds(3600)).await;
    assert_eq!(body.collect().await.unwrap().to_bytes(), "{}{}");
}

/// A client whose server answers with these, one after another and the last for ever; with a counter of requests.
fn answering(
    life: &Life,
    settings: &TransportSettings,
    answers: &'static [(u16, Option<&'static str>)],
) -> (super::super::Transport, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&asked);
    let service = tower::service_fn(move |_: Request<Body>| {
        let number = counter.fetch_add(1, SeqCst) as usize;
        let (status, after) = answers[number.min(answers.len() - 1)];
        std::future::ready(if status == 0 {
            Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))
        } else {
            let mut answer = Response::builder().status(status);
            if let Some(after) = after {
                answer = answer.header("retry-after", after);
            }
            Ok(answer.body(Body::empty()).unwrap())
        })
    });
    let transport = Access::service("s", service).connect(settings, life).unwrap();
    (transport, asked)
}

/// The status, the number of requests and the time in milliseconds.
async fn outcome(
    method: &Method,
    answers: &'static [(u16, Option<&'static str>)],
) -> (Option<u16>, u32, u128) {
    let life = Life::new();
    let (transport, asked) = answering(&life, &TransportSettings::default(), answers);
    let began = Instant::now();
    let answer = transport
        .client()
        .send(request(method, "/api/v1/pods", None))
        .await;
    let status = answer.ok().map(|answer| answer.status().as_u16());
    (status, asked.load(SeqCst), began.elapsed().as_millis())
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_when_to_come_again_is_asked_again_then() {
    let busy = &[(429, Some("2")), (429, Some("2")), (200, None)];
    let (status, requests, took) = outcome(&Method::GET, busy).await;
    assert_eq!((status, requests), (Some(200), 3));
    // Twice 2 s and 0.5 s or so, plus or minus a fifth.
    assert!((4900..=5500).contains(&took), "{took}");
    assert_eq!(outcome(&Method::PATCH, busy).await.1, 3);
    assert_eq!(outcome(&Method::POST, busy).await.1, 1);

    let down = &[(503, Some("1")), (200, None)];
    assert_eq!(outcome(&Method::GET, down).await.1, 2);
    assert_eq!(outcome(&Method::PUT, down).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn attempts_and_waits_are_bounded() {
    assert_eq!(outcome(&Method::GET, &[(429, Some("1"))]).await.1, 3);
    for answer in [
        &[(429, Some("86400"))],
        &[(429, None)],
        &[(500, Some("1"))],
        &[(504, Some("1"))],
    ] {
        let (_, requests, took) = outcome(&Method::GET, answer).await;
        assert_eq!((requests, took), (1, 0), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_costs_a_read_one_more_request_and_a_write_nothing() {
    assert_eq!(outcome(&Method::GET, &[(0, None), (200, None)]).await.1, 2);
    assert_eq!(outcome(&Method::PUT, &[(0, None), (200, None)]).await.1, 1);
    assert_eq!(outcome(&Method::DELETE, &[(0, None)]).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn all_attempts_of_a_request_are_one_failure_to_the_breaker() {
    let life = Life::new();
    let mut settings = TransportSettings::default();
    settings.breaker.failures = 2;
    let (transport, asked) = answering(&life, &settings, &[(0, None)]);
    assert!(transport.client().send(list()).await.is_err());
    assert_eq!(asked.load(SeqCst), 3);
    assert_eq!(transport.breaker().circuit(), Circuit::Closed);
    assert!(transport.client().send(list()).await.is_err());
    assert!(!transport.breaker().circuit().is_closed());
    assert!(transport.client().send(list()).await.is_err());
    assert_eq!(asked.load(SeqCst), 6);
}

#[tokio::test(start_paused = true)]
async fn all_clients_of_a_cluster_share_its_budget_and_watches_are_free() {
    let life = Life::new();
    let settings = TransportSettings {
        budget: Some(RequestBudget {
            per_second: NonZeroU32::new(5).unwrap(),
            burst: NonZeroU32::new(10).unwrap(),
        }),
        ..TransportSettings::default()
    };
    let (transport, _) = answering(&life, &settings, &[(200, None)]);
    let clients = [transport.client(), transport.client()];
    let began = Instant::now();
    for number in 0..30 {
        clients[number % 2].send(list()).await.unwrap();
    }
    let took = began.elapsed().as_millis();
    assert!((4000..=4050).contains(&took), "{took}");
    let watch = request(&Method::GET, "/api/v1/pods?watch=true", Some("watch"));
    clients[0].send(watch).await.unwrap();
    super::super::probe(&clients[0], seconds(5)).await.unwrap();
    assert_eq!(began.elapsed().as_millis(), took);
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_turn_would_come_too_late_fails_at_once_and_says_so() {
    let life = Life::new();
    let one = NonZeroU32::MIN;
    let settings = TransportSettings {
        budget: Some(RequestBudget {
            per_second: one,
            burst: one,
        }),
        ..TransportSettings::default()
    };
    let (transport, _) = answering(&life, &settings, &[(200, None)]);
    let began = Instant::now();
    let client = transport.client();
    let asking = futures::future::join_all((0..50).map(|_| client.send(list()))).await;
    let refused: Vec<_> = asking.into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.len(), 19);
    assert!(matches!(
        ConnectError::within(&refused[0]),
        Some(ConnectError::Overdue {
            deadline: Deadline::Budget,
            verb: "list",
            ..
        })
    ));
    assert!(began.elapsed() <= seconds(31));
}
