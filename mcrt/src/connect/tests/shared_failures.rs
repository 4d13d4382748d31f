//! What fails many requests at once counts once, and bursts of requests find places.
use super::{
    super::{Access, Life, Transport, TransportSettings, probe},
    SOON,
    http2_server::{Conduct, Http2Server},
};
use futures::future::join_all;
use http::{Method, Request};
use kube::client::Body;
use std::time::Duration;
use tokio::time::timeout;

fn connect(access: &Access, settings: &TransportSettings, life: &Life) -> Transport {
    access.connect(settings, life).unwrap()
}

fn request(method: Method, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    request.body(Body::empty()).unwrap()
}

fn watch() -> Request<Body> {
    request(Method::GET, "/api/v1/pods?watch=true&timeoutSeconds=60")
}

/// How many of so many requests that are sent at once fail.
async fn failing(transport: &Transport, number: usize, one: impl Fn() -> Request<Body>) -> usize {
    let client = transport.client();
    let asking = join_all((0..number).map(|_| client.send(one())));
    let answers = timeout(SOON, asking).await.expect("all end soon");
    answers.iter().filter(|answer| answer.is_err()).count()
}

#[tokio::test]
async fn a_dial_that_fails_counts_once_however_many_wait_for_it() {
    let server = super::server::Server::silent().await;
    let life = Life::new();
    let access = super::access(&format!("https://{}", server.address));
    let transport = connect(&access, &super::limits(100, 5000), &life);
    for dials in 1..5 {
        assert_eq!(failing(&transport, 6, watch).await, 6);
        assert_eq!(server.made(), dials);
        assert!(transport.breaker().circuit().is_closed(), "after {dials} dials");
    }
    assert_eq!(failing(&transport, 6, watch).await, 6);
    assert!(!transport.breaker().circuit().is_closed());
}

#[tokio::test]
async fn a_connection_that_breaks_counts_once_however_many_requests_are_under_way() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let transport = connect(&server.access(), &TransportSettings::default(), &life);
    let breaking = async {
        let mut asked = Vec::new();
        for _ in 0..6 {
            asked.push(server.asked().await);
        }
        server.conduct(Conduct::Break);
        server.opens(0).await;
    };
    let write = || request(Method::PUT, "/api/v1/namespaces/a/pods/b");
    let (failed, ()) = futures::future::join(failing(&transport, 6, write), breaking).await;
    assert_eq!(failed, 6);
    assert!(transport.breaker().circuit().is_closed());
}

#[tokio::test]
async fn a_burst_of_watches_gets_as_many_connections_as_the_server_wants_it_to() {
    let mut server = Http2Server::start(10).await;
    let life = Life::new();
    let transport = connect(&server.access(), &TransportSettings::default(), &life);
    let client = transport.client();
    let watches = join_all((0..60).map(|_| client.send(watch())));
    let serving = async {
        let mut events = Vec::new();
        for _ in 0..60 {
            events.push(server.asked().await.begin());
        }
        events
    };
    let (watches, _events) = futures::future::join(watches, serving).await;
    assert!(watches.iter().all(Result::is_ok), "{watches:?}");
    // Nine watches and a place for a probe on each.
    assert_eq!(server.made(), 7);
    let asking = async { probe(&client, SOON).await };
    let answering = async { server.asked().await.ok() };
    let (probed, ()) = futures::future::join(asking, answering).await;
    probed.unwrap();
    assert_eq!(server.made(), 7);
}

#[tokio::test]
async fn a_server_that_does_not_greet_fails_the_dial_at_its_deadline() {
    let server = Http2Server::start(250).await;
    server.conduct(Conduct::Freeze);
    let life = Life::new();
    let transport = connect(&server.access(), &super::limits(300, 5000), &life);
    let error = timeout(SOON, transport.client().send(watch()))
        .await
        .unwrap()
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("GET: no connection (connect deadline)"), "{text}");
}

#[tokio::test]
async fn a_server_that_closes_each_connection_at_once_gets_few_dials() {
    let server = Http2Server::start(250).await;
    server.conduct(Conduct::Break);
    let life = Life::new();
    let transport = connect(&server.access(), &TransportSettings::default(), &life);
    let began = tokio::time::Instant::now();
    assert_eq!(failing(&transport, 20, watch).await, 20);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(server.made() <= 24, "{} dials", server.made());
}
