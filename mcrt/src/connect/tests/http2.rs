//! How requests share connections, and what becomes of them when a connection ends.
use super::{
    super::{Access, ConnectError, Life, TransportSettings, transport::Housekeeping},
    SOON,
    http2_server::{Asked, Conduct, Http2Server},
};
use bytes::Bytes;
use futures::future::join_all;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use std::{collections::BTreeMap, time::Duration};
use tokio::{task::JoinHandle, time::timeout};

type Asking = JoinHandle<kube::Result<Response<Body>>>;

fn connect(access: &Access, life: &Life) -> kube::Client {
    connect_with(access, life, &TransportSettings::default())
}

fn connect_with(access: &Access, life: &Life, settings: &TransportSettings) -> kube::Client {
    access.connect(settings, life).unwrap().client()
}

fn request(method: &Method, path: &str, body: &'static str) -> Request<Body> {
    let body = Body::from(Bytes::from_static(body.as_bytes()));
    Request::builder().method(method).uri(path).body(body).unwrap()
}

fn ask(client: &kube::Client, path: &str) -> Asking {
    send(client, request(&Method::GET, path, ""))
}

fn send(client: &kube::Client, request: Request<Body>) -> Asking {
    let client = client.clone();
    tokio::spawn(async move { client.send(request).await })
}

fn watch(client: &kube::Client) -> Asking {
    ask(client, "/api/v1/pods?watch=true&timeoutSeconds=60")
}

async fn done(asking: Asking) -> Response<Body> {
    timeout(SOON, asking).await.unwrap().unwrap().unwrap()
}

async fn text(answer: Response<Body>) -> String {
    let body = timeout(SOON, answer.into_body().collect())
        .await
        .unwrap()
        .unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

/// How many of the next requests came on each connection.
async fn on_connections(server: &mut Http2Server, number: usize) -> (BTreeMap<usize, usize>, Vec<Asked>) {
    let (mut connections, mut all) = (BTreeMap::new(), Vec::new());
    for _ in 0..number {
        let asked = server.asked().await;
        *connections.entry(asked.connection).or_default() += 1;
        all.push(asked);
    }
    (connections, all)
}

#[tokio::test]
async fn watches_share_one_connection_and_all_other_requests_another() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let watches: Vec<_> = (0..6).map(|_| watch(&client)).collect();
    let (connections, asked) = on_connections(&mut server, 6).await;
    assert_eq!(connections, BTreeMap::from([(0, 6)]));
    let streams: Vec<_> = asked.into_iter().map(Asked::begin).collect();
    join_all(watches.into_iter().map(done)).await;

    let others: Vec<_> = (0..40).map(|_| ask(&client, "/api/v1/pods")).collect();
    let (connections, asked) = on_connections(&mut server, 40).await;
    assert_eq!(connections, BTreeMap::from([(1, 40)]));
    asked.into_iter().for_each(Asked::ok);
    for other in others {
        assert_eq!(text(done(other).await).await, "{}");
    }
    assert_eq!(server.made(), 2);
    drop(streams);
}

#[tokio::test]
async fn lists_of_caches_share_the_connection_of_watches_until_there_is_another() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let list = || {
        let mut list = request(&Method::GET, "/api/v1/pods", "");
        list.extensions_mut().insert(Housekeeping);
        send(&client, list)
    };
    let watching = watch(&client);
    let stream = server.asked().await.begin();
    let watching = done(watching).await;
    for others in [0, 1] {
        let other = (others == 1).then(|| ask(&client, "/api/v1/pods"));
        if let Some(other) = other {
            let asked = server.asked().await;
            assert_eq!(asked.connection, 1);
            asked.ok();
            done(other).await;
        }
        let lists: Vec<_> = (0..4).map(|_| list()).collect();
        let (connections, asked) = on_connections(&mut server, 4).await;
        assert_eq!(connections, BTreeMap::from([(others, 4)]));
        asked.into_iter().for_each(Asked::ok);
        join_all(lists.into_iter().map(done)).await;
    }
    drop((watching, stream));
}

#[tokio::test]
async fn a_list_does_not_wait_for_a_place_that_a_watch_has() {
    let mut server = Http2Server::start(4).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let watches: Vec<_> = (0..3).map(|_| watch(&client)).collect();
    let (_, asked) = on_connections(&mut server, 3).await;
    let streams: Vec<_> = asked.into_iter().map(Asked::begin).collect();
    let watches = join_all(watches.into_iter().map(done)).await;
    let mut list = request(&Method::GET, "/api/v1/pods", "");
    list.extensions_mut().insert(Housekeeping);
    let list = send(&client, list);
    let asked = server.asked().await;
    assert_eq!(
        asked.connection, 1,
        "the last place of the first is left to probes"
    );
    asked.ok();
    done(list).await;
    drop((watches, streams));
}

#[tokio::test]
async fn a_connection_without_requests_is_dropped_and_another_is_dialled_for_the_next() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let mut settings = TransportSettings::default();
    settings.http2.idle_timeout = Duration::from_millis(50);
    let client = connect_with(&server.access(), &life, &settings);
    let watching = watch(&client);
    let stream = server.asked().await.begin();
    let watching = done(watching).await;
    let slow = ask(&client, "/api/v1/pods");
    let asked = server.asked().await;
    tokio::time::sleep(settings.http2.idle_timeout * 4).await;
    assert_eq!(server.open(), 2, "a request is under way");

    asked.ok();
    assert_eq!(text(done(slow).await).await, "{}");
    server.opens(1).await;
    let again = ask(&client, "/api/v1/pods");
    server.asked().await.ok();
    assert_eq!(text(done(again).await).await, "{}");
    assert_eq!(server.made(), 3);
    drop((watching, stream));
}

#[tokio::test]
async fn a_further_connection_is_made_for_each_ninety_watches() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let watches: Vec<_> = (0..200).map(|_| watch(&client)).collect();
    let (connections, _asked) = on_connections(&mut server, 200).await;
    assert_eq!(connections, BTreeMap::from([(0, 90), (1, 90), (2, 20)]));
    drop(watches);
}

#[tokio::test]
async fn a_watch_that_has_ended_leaves_its_place_to_another() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    for _ in 0..200 {
        let watching = watch(&client);
        server.asked().await.ok();
        assert_eq!(text(done(watching).await).await, "{}");
    }
    assert_eq!(server.made(), 1);
}

#[tokio::test]
async fn a_server_that_allows_fewer_streams_gets_more_connections_for_watches() {
    let mut server = Http2Server::start(10).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let mut watches = Vec::new();
    let mut asked = Vec::new();
    for _ in 0..25 {
        watches.push(watch(&client));
        asked.push(server.asked().await);
    }
    assert_eq!(server.made(), 3);
}

#[tokio::test]
async fn requests_beyond_what_the_server_allows_wait_their_turn() {
    let mut server = Http2Server::start(5).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let asking: Vec<_> = (0..100).map(|_| ask(&client, "/api/v1/pods")).collect();
    for _ in 0..100 {
        server.asked().await.ok();
    }
    for asking in asking {
        done(asking).await;
    }
    assert_eq!(server.made(), 1);
}

#[tokio::test]
async fn after_goaway_what_is_under_way_ends_well_and_what_is_new_goes_elsewhere() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let watching = watch(&client);
    let mut events = server.asked().await.begin();
    let mut body = done(watching).await.into_body();

    server.conduct(Conduct::LeaveGracefully(1));
    events.send_data(Bytes::from_static(b"one"), false).unwrap();
    let frame = timeout(SOON, body.frame()).await.unwrap().unwrap().unwrap();
    assert_eq!(frame.into_data().unwrap(), "one");

    let again = watch(&client);
    let asked = server.asked().await;
    assert_eq!(asked.connection, 1);
    asked.ok();
    assert_eq!(text(done(again).await).await, "{}");

    events.send_data(Bytes::from_static(b"two"), true).unwrap();
    assert_eq!(
        timeout(SOON, body.collect()).await.unwrap().unwrap().to_bytes(),
        "two"
    );
    server.opens(1).await;
}

#[tokio::test]
async fn a_request_that_the_server_did_not_look_at_is_sent_again_whatever_its_verb() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let asking = send(&client, request(&Method::POST, "/api/v1/pods", "a body"));
    server.asked().await.refuse();
    let mut again = server.asked().await;
    let body = again.request.body_mut().data().await.unwrap().unwrap();
    assert_eq!(body, "a body");
    again.ok();
    done(asking).await;
}

#[tokio::test]
async fn a_read_is_sent_again_when_its_connection_breaks_and_a_write_is_not() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    for (method, again) in [(Method::GET, true), (Method::PUT, false)] {
        let asking = send(&client, request(&method, "/api/v1/namespaces/a/pods/b", ""));
        let first = server.asked().await;
        server.conduct(Conduct::Break);
        server.opens(0).await;
        server.conduct(Conduct::Serve);
        if again {
            server.asked().await.ok();
            done(asking).await;
        } else {
            assert!(timeout(SOON, asking).await.unwrap().unwrap().is_err());
            assert!(server.is_quiet());
        }
        drop(first);
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_is_replaced_without_an_error() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    for number in 1..5 {
        let asking = ask(&client, "/api/v1/pods");
        server.asked().await.ok();
        text(done(asking).await).await;
        assert_eq!(server.made(), number);
        server.conduct(Conduct::Break);
        server.opens(0).await;
        server.conduct(Conduct::Serve);
    }
}

#[tokio::test]
async fn a_reader_that_stops_holds_a_bounded_part_of_its_answer_and_starves_nobody() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let watches: Vec<_> = (0..80).map(|_| watch(&client)).collect();
    let mut streams = Vec::new();
    for _ in 0..80 {
        let mut stream = server.asked().await.begin();
        stream.reserve_capacity(4 << 20);
        streams.push(stream);
    }
    let bodies = join_all(watches.into_iter().map(done)).await;
    // As much as each stream may send, to readers that do not read.
    let mut sent = 0;
    for stream in &mut streams {
        while let Ok(Some(Ok(room))) = timeout(
            Duration::from_millis(50),
            std::future::poll_fn(|cx| stream.poll_capacity(cx)),
        )
        .await
        {
            if room == 0 {
                break;
            }
            stream.send_data(Bytes::from(vec![b' '; room]), false).unwrap();
            sent += room;
        }
    }
    assert_eq!(sent, 80 * 256 * 1024);

    let watching = watch(&client);
    let asked = server.asked().await;
    assert_eq!(asked.connection, 0);
    asked.ok();
    assert_eq!(text(done(watching).await).await, "{}");
    drop(bodies);
}

#[tokio::test]
async fn a_server_that_stops_answering_is_noticed_by_pings() {
    let mut settings = TransportSettings::default();
    settings.http2.ping_interval = Duration::from_millis(100);
    settings.http2.ping_timeout = Duration::from_millis(100);
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect_with(&server.access(), &life, &settings);
    let watching = watch(&client);
    let _events = server.asked().await.begin();
    let mut body = done(watching).await.into_body();
    server.conduct(Conduct::Freeze);
    let frame = timeout(SOON, body.frame()).await.expect("the watch fails");
    assert!(frame.unwrap().is_err());
}

#[tokio::test]
async fn a_server_without_http2_is_spoken_to_without_it_and_no_dial_is_wasted() {
    let server = Http2Server::speaking(&["http/1.1"], 250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    for _ in 0..5 {
        assert_eq!(text(done(ask(&client, "/version")).await).await, "{}");
    }
    assert_eq!(server.made(), 1);
}

#[tokio::test]
async fn an_upgrade_has_a_connection_of_its_own_over_http1() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let asking = ask(&client, "/api/v1/pods");
    server.asked().await.ok();
    text(done(asking).await).await;
    let mut upgrade = request(&Method::GET, "/api/v1/namespaces/a/pods/b/exec", "");
    upgrade
        .headers_mut()
        .insert("connection", "upgrade".parse().unwrap());
    upgrade.headers_mut().insert("upgrade", "test".parse().unwrap());
    let answer = done(send(&client, upgrade)).await;
    assert_eq!(answer.status(), 101);
    timeout(SOON, hyper::upgrade::on(answer)).await.unwrap().unwrap();
    assert_eq!(server.made(), 2);
}

#[tokio::test]
async fn many_requests_wait_for_one_dial_and_learn_of_its_failure() {
    let server = super::server::Server::silent().await;
    let life = Life::new();
    let access = super::access(&format!("https://{}", server.address));
    let client = connect_with(&access, &life, &super::limits(300, 5000));
    let asking: Vec<_> = (0..50).map(|_| watch(&client)).collect();
    for asking in asking {
        let error = timeout(SOON, asking).await.unwrap().unwrap().unwrap_err();
        let ours = ConnectError::within(&error).unwrap();
        assert_eq!(
            ours.to_string(),
            "GET: no connection (connect deadline): not within 300ms"
        );
    }
    assert!(server.made() <= 2, "{} dials", server.made());
}

#[tokio::test]
async fn a_life_that_ends_closes_every_connection() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let client = connect(&server.access(), &life);
    let (watching, asking) = (watch(&client), ask(&client, "/api/v1/pods"));
    let mut events = Vec::new();
    for _ in 0..2 {
        let asked = server.asked().await;
        if asked.path().ends_with("pods") {
            events.push(asked.begin());
        }
    }
    let mut body = done(watching).await.into_body();
    let _other = done(asking).await;
    assert_eq!(server.open(), 2);
    timeout(Duration::from_secs(1), life.end()).await.unwrap();
    assert_eq!(life.tasks(), 0);
    server.opens(0).await;
    let error = timeout(SOON, body.frame()).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(ConnectError::within(&error), Some(ConnectError::Ended)));
}

#[tokio::test]
async fn an_opened_breaker_breaks_off_watches_and_nothing_else() {
    let mut server = Http2Server::start(250).await;
    let life = Life::new();
    let transport = server
        .access()
        .connect(&TransportSettings::default(), &life)
        .unwrap();
    let client = transport.client();
    let watching = watch(&client);
    let _events = server.asked().await.begin();
    let mut watched = done(watching).await.into_body();
    let listing = ask(&client, "/api/v1/pods");
    let mut list = server.asked().await.begin();
    let listed = done(listing).await;

    transport.breaker().open();
    let error = timeout(SOON, watched.frame())
        .await
        .unwrap()
        .unwrap()
        .unwrap_err();
    assert!(matches!(
        ConnectError::within(&error),
        Some(ConnectError::BreakerOpen { .. })
    ));
    list.send_data(Bytes::from_static(b"all"), true).unwrap();
    assert_eq!(text(listed).await, "all");

    transport.breaker().close();
    let again = watch(&client);
    server.asked().await.ok();
    assert_eq!(text(done(again).await).await, "{}");
}
