//! Deadlines, headers and addresses of the transport.
use super::{
    super::{Access, ConnectError, Connection, Deadline, Life, TransportSettings},
    SOON, access, kubeconfig, limits,
    server::{Server, response},
    yaml,
};
use http::{Method, Request, Response};
use kube::client::Body;
use std::{convert::Infallible, time::Duration};
use tokio::time::{Instant, timeout};

fn request(method: &Method, path: &str) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(path)
        .body(Body::empty())
        .unwrap()
}

fn ours(error: kube::Error) -> ConnectError {
    match error {
        kube::Error::Service(error) => *error.downcast().expect("an error of this crate"),
        other => panic!("not ours: {other}"),
    }
}

#[tokio::test]
async fn a_server_that_never_answers_fails_at_the_first_byte_deadline_whatever_the_verb() {
    let server = Server::silent().await;
    let life = Life::new();
    let client = access(&format!("http://{}", server.address))
        .connect(&limits(5000, 200), &life)
        .unwrap()
        .client();
    for (method, path) in [
        (Method::GET, "/api/v1/pods"),
        (Method::GET, "/api/v1/pods?watch=true"),
        (Method::POST, "/api/v1/namespaces/a/pods"),
        (Method::PATCH, "/api/v1/namespaces/a/pods/b"),
        (Method::DELETE, "/api/v1/namespaces/a/pods/b"),
    ] {
        let began = Instant::now();
        let error = timeout(SOON, client.send(request(&method, path)))
            .await
            .unwrap()
            .unwrap_err();
        assert!(
            matches!(
                ours(error),
                ConnectError::Overdue {
                    deadline: Deadline::FirstByte,
                    ..
                }
            ),
            "{method}"
        );
        assert!(began.elapsed() >= Duration::from_millis(200), "{method}");
    }
    timeout(SOON, life.end()).await.unwrap();
}

#[tokio::test]
async fn a_handshake_that_never_ends_fails_at_the_connect_deadline() {
    let server = Server::silent().await;
    let life = Life::new();
    let client = access(&format!("https://{}", server.address))
        .connect(&limits(200, 60_000), &life)
        .unwrap()
        .client();
    let failed = timeout(SOON, client.send(request(&Method::GET, "/version")))
        .await
        .expect("the deadline holds");
    assert!(failed.is_err());
    server.all_closed().await;
    timeout(SOON, life.end()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_service_that_never_answers_fails_after_thirty_seconds_by_default() {
    let never =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let life = Life::new();
    let client = Access::service("never", never)
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let began = Instant::now();
    let error = client.send(request(&Method::GET, "/version")).await.unwrap_err();
    assert!(
        matches!(ours(error), ConnectError::Overdue { verb: "GET", within, .. } if within == Duration::from_secs(30))
    );
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test]
async fn the_path_of_the_server_and_the_credentials_go_with_every_request() {
    let basic = "Basic dXNlcjpwYXNz";
    for (user, expected) in [
        (&["token: abc"][..], "Bearer abc"),
        (&["username: user", "password: pass"][..], basic),
    ] {
        let mut server = Server::answering(response("200 OK", "{}")).await;
        let yaml = yaml(&format!("http://{}/k8s/clusters/x/", server.address), &[], user);
        let access = Access::from(Connection::from_kubeconfig(&kubeconfig(&yaml), "c").unwrap());
        let life = Life::new();
        let client = access
            .connect(&TransportSettings::default(), &life)
            .unwrap()
            .client();
        client.send(request(&Method::GET, "/version")).await.unwrap();
        let seen = server.request().await;
        assert!(
            seen.starts_with("GET /k8s/clusters/x/version HTTP/1.1\r\n"),
            "{seen}"
        );
        assert!(seen.contains(&format!("authorization: {expected}\r\n")), "{seen}");
    }
}

#[tokio::test]
async fn requests_one_after_another_share_a_connection() {
    let server = Server::answering(response("200 OK", "{}")).await;
    let life = Life::new();
    let client = access(&format!("http://{}", server.address))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    for _ in 0..5 {
        let request = Request::builder().uri("/version").body(Vec::new()).unwrap();
        client.request_text(request).await.unwrap();
    }
    assert_eq!(server.open(), 1);
}

#[test]
fn a_client_outside_a_runtime_is_an_error_not_a_panic() {
    let life = Life::new();
    let built = access("http://127.0.0.1:1").connect(&TransportSettings::default(), &life);
    assert!(matches!(built, Err(ConnectError::NoRuntime)));
}
