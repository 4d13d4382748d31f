//! The listener: protocols, and faults of sockets.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use std::io;
use std::time::Duration;

use bytes::Bytes;
use common::{config_map_json, eventually, within};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcrt_sim::{Fault, Faults, Listen, Listener, Requests, Server, Sockets};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const LIST: &str = "/api/v1/namespaces/default/configmaps";

fn get(listener: &Listener, path: &str) -> http::Request<Empty<Bytes>> {
    let uri = format!("{}{path}", listener.url());
    http::Request::get(uri)
        .header("host", "localhost")
        .body(Empty::new())
        .unwrap()
}

async fn connect(listener: &Listener) -> TcpStream {
    within(TcpStream::connect(listener.addr())).await.unwrap()
}

/// The code of a list over a connection of its own; nothing if there is no answer.
async fn list(listener: &Listener) -> Option<u16> {
    let stream = TcpStream::connect(listener.addr()).await.ok()?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let task = tokio::spawn(connection);
    let answer = within(sender.send_request(get(listener, LIST))).await;
    task.abort();
    Some(answer.ok()?.status().as_u16())
}

/// How a socket ends, as its client sees it.
async fn end(stream: &mut TcpStream) -> io::Result<usize> {
    within(async {
        loop {
            match stream.read(&mut [0; 1024]).await {
                Ok(1..) => {}
                ended => return ended,
            }
        }
    })
    .await
}

#[tokio::test]
async fn requests_and_watches_share_one_http2_connection() {
    let server = Server::new("one");
    let listener = server.listen().await.unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(connect(&listener).await))
            .await
            .unwrap();
    let task = tokio::spawn(connection);
    let mut watches = Vec::new();
    for _ in 0..20 {
        let watch = format!("{LIST}?watch=1&resourceVersion={}", server.resource_version());
        let answer = within(sender.send_request(get(&listener, &watch))).await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.version()),
            (200, http::Version::HTTP_2)
        );
        watches.push(answer.into_body());
    }
    let listed = within(sender.send_request(get(&listener, LIST))).await.unwrap();
    assert_eq!(listed.status(), 200);
    server.create(config_map_json("a", &json!({}))).unwrap();
    for watch in &mut watches {
        let frame = within(watch.frame()).await.unwrap().unwrap();
        assert!(String::from_utf8_lossy(frame.data_ref().unwrap()).contains("ADDED"));
    }
    let counters = server.counters();
    assert_eq!((counters.open_connections, counters.open_watches), (1, 20));
    drop((watches, sender, listed));
    eventually(|| server.counters(), |it| it.open_requests == 0).await;
    task.abort();
    eventually(|| server.counters(), |it| it.open_connections == 0).await;
}

#[tokio::test]
async fn a_request_without_an_answer_breaks_its_whole_http2_connection() {
    let server = Server::new("one");
    let listener = server.listen().await.unwrap();
    let (mut sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(connect(&listener).await))
            .await
            .unwrap();
    let task = tokio::spawn(connection);
    let watch = format!("{LIST}?watch=1&resourceVersion={}", server.resource_version());
    let mut events = within(sender.send_request(get(&listener, &watch)))
        .await
        .unwrap()
        .into_body();
    server.faults(Faults::none().on(Requests::lists(), Fault::reset()));
    assert!(within(sender.send_request(get(&listener, LIST))).await.is_err());
    assert!(
        within(events.frame()).await.is_none_or(|frame| frame.is_err()),
        "the watch goes with it"
    );
    within(task).await.unwrap().unwrap_err();
    eventually(
        || server.counters(),
        |it| (it.open_requests, it.open_connections) == (0, 0),
    )
    .await;
}

#[tokio::test]
async fn http2_can_be_left_out() {
    let server = Server::new("one");
    let listener = server.listen_with(Listen::new().http1_only()).await.unwrap();
    assert_eq!(list(&listener).await, Some(200));
    let stream = TokioIo::new(connect(&listener).await);
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let task = tokio::spawn(connection);
    assert!(within(sender.send_request(get(&listener, LIST))).await.is_err());
    task.abort();
}

#[tokio::test]
async fn a_refusing_port_is_closed_and_opens_again() {
    let server = Server::new("one");
    let listener = server.listen().await.unwrap();
    assert_eq!(list(&listener).await, Some(200));
    listener.sockets(Sockets::Refuse);
    let refused = async || match TcpStream::connect(listener.addr()).await {
        Ok(_) => None,
        Err(error) => Some(error.kind()),
    };
    within(async {
        while refused().await != Some(io::ErrorKind::ConnectionRefused) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    listener.sockets(Sockets::Serve);
    within(async {
        while list(&listener).await != Some(200) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn ignored_connections_are_open_and_dumb_until_they_are_broken() {
    let server = Server::new("one");
    let listener = server.listen().await.unwrap();
    listener.sockets(Sockets::Ignore);
    let mut stream = connect(&listener).await;
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .unwrap();
    let silent = tokio::time::timeout(Duration::from_millis(100), stream.read(&mut [0; 1])).await;
    assert!(silent.is_err());
    assert_eq!(
        (server.counters().open_connections, server.counters().requests),
        (1, 0)
    );
    listener.reset_connections();
    assert_eq!(
        end(&mut stream).await.unwrap_err().kind(),
        io::ErrorKind::ConnectionReset
    );
    eventually(|| server.counters().open_connections, |open| *open == 0).await;
}

#[tokio::test]
async fn connections_are_reset_or_closed_at_their_time() {
    let server = Server::new("one");
    let listener = server.listen().await.unwrap();
    listener.sockets(Sockets::Reset);
    let mut stream = connect(&listener).await;
    assert_eq!(
        end(&mut stream).await.unwrap_err().kind(),
        io::ErrorKind::ConnectionReset
    );
    listener.sockets(Sockets::CloseAfter(Duration::from_millis(80)));
    let start = std::time::Instant::now();
    let mut stream = connect(&listener).await;
    let watch = format!("GET {LIST}?watch=1 HTTP/1.1\r\nhost: a\r\n\r\n");
    stream.write_all(watch.as_bytes()).await.unwrap();
    assert_eq!(end(&mut stream).await.unwrap(), 0, "closed, not broken");
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert_eq!(server.counters().watches, 1);
    within(listener.shutdown()).await;
    assert_eq!(server.counters().open_connections, 0);
}

#[tokio::test]
async fn through_the_sockets_of_a_server_that_is_cut_off_no_byte_passes() {
    let server = Server::new("one");
    let listener = server.listen().await.unwrap();
    let mut stream = connect(&listener).await;
    let watch = format!(
        "GET {LIST}?watch=1&resourceVersion={} HTTP/1.1\r\nhost: a\r\n\r\n",
        server.resource_version()
    );
    stream.write_all(watch.as_bytes()).await.unwrap();
    eventually(|| server.counters().open_watches, |open| *open == 1).await;
    let mut seen = String::new();
    while !seen.contains("\r\n\r\n") {
        seen.push(char::from(within(stream.read_u8()).await.unwrap()));
    }
    server.partition();
    server.create(config_map_json("a", &json!({}))).unwrap();
    let other = tokio::time::timeout(Duration::from_millis(100), list(&listener));
    let (other, watched) = tokio::join!(
        other,
        tokio::time::timeout(Duration::from_millis(100), stream.read_u8())
    );
    assert!(other.is_err() && watched.is_err());
    assert_eq!(server.counters().lists, 0, "not even the request has arrived");
    server.heal();
    while !seen.contains("ADDED") {
        seen.push(char::from(within(stream.read_u8()).await.unwrap()));
    }
    assert_eq!(list(&listener).await, Some(200));
}
