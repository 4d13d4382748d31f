//! What ends when a life ends.
use super::{
    super::{Access, ConnectError, Life, TransportSettings, probe},
    SOON, access,
    server::{Server, endless, response},
};
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use std::{convert::Infallible, time::Duration};
use tokio::time::timeout;

fn get() -> Request<Body> {
    Request::new(Body::empty())
}

async fn ends_within_a_second(life: &Life) {
    timeout(Duration::from_secs(1), life.end())
        .await
        .expect("a life ends within a second");
    assert_eq!(life.tasks(), 0);
}

fn has_ended(error: &kube::Error) -> bool {
    matches!(ConnectError::within(error), Some(ConnectError::Ended))
}

#[tokio::test]
async fn a_request_without_an_answer_fails_and_its_socket_closes() {
    let mut server = Server::silent().await;
    let life = Life::new();
    let client = access(&format!("http://{}", server.address))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let asking = tokio::spawn(async move { client.send(get()).await.map(drop) });
    server.request().await;
    assert!(life.tasks() > 0);
    ends_within_a_second(&life).await;
    server.all_closed().await;
    let error = timeout(SOON, asking).await.unwrap().unwrap().unwrap_err();
    assert!(has_ended(&error), "{error}");
}

#[tokio::test]
async fn a_handshake_under_way_is_broken_off() {
    let mut server = Server::silent().await;
    let life = Life::new();
    let client = access(&format!("https://{}", server.address))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let asking = tokio::spawn(async move { client.send(get()).await.map(drop) });
    server.request().await; // the client's hello
    ends_within_a_second(&life).await;
    server.all_closed().await;
    timeout(SOON, asking).await.unwrap().unwrap().unwrap_err();
}

#[tokio::test]
async fn an_open_watch_breaks_off_though_its_reader_and_client_are_kept() {
    let server = Server::answering(endless("{}\n")).await;
    let life = Life::new();
    let client = access(&format!("http://{}", server.address))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let mut body = client.send(get()).await.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_ok());
    ends_within_a_second(&life).await;
    server.all_closed().await;
    let frame = timeout(SOON, body.frame()).await.unwrap();
    assert!(frame.unwrap().is_err());
    assert!(has_ended(&client.send(get()).await.unwrap_err()));
}

#[tokio::test]
async fn an_idle_connection_in_the_pool_closes() {
    let server = Server::answering(response("200 OK", "{}")).await;
    let life = Life::new();
    let client = access(&format!("http://{}", server.address))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    client
        .send(get())
        .await
        .unwrap()
        .into_body()
        .collect()
        .await
        .unwrap();
    assert_eq!(server.open(), 1);
    ends_within_a_second(&life).await;
    server.all_closed().await;
}

#[tokio::test]
async fn dropping_a_life_ends_it_too() {
    let mut server = Server::silent().await;
    let life = Life::new();
    let client = access(&format!("http://{}", server.address))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let asking = tokio::spawn(async move { client.send(get()).await.map(drop) });
    server.request().await;
    drop(life);
    server.all_closed().await;
    timeout(SOON, asking).await.unwrap().unwrap().unwrap_err();
}

#[tokio::test]
async fn clients_over_a_service_end_the_same_way() {
    let never =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let life = Life::new();
    let client = Access::service("never", never)
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let asking = {
        let client = client.clone();
        tokio::spawn(async move { client.send(get()).await.map(drop) })
    };
    tokio::task::yield_now().await;
    ends_within_a_second(&life).await;
    assert!(has_ended(
        &timeout(SOON, asking).await.unwrap().unwrap().unwrap_err()
    ));
    assert!(has_ended(&client.send(get()).await.unwrap_err()));
}

#[tokio::test]
async fn a_service_that_is_never_ready_does_not_hold_up_the_end() {
    #[derive(Clone)]
    struct NeverReady;
    impl tower::Service<Request<Body>> for NeverReady {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = std::future::Ready<Result<Response<Body>, Infallible>>;
        fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
            std::task::Poll::Pending
        }
        fn call(&mut self, _: Request<Body>) -> Self::Future {
            unreachable!("never ready")
        }
    }
    let life = Life::new();
    let client = Access::service("never", NeverReady)
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let asking = tokio::spawn(async move { client.send(get()).await.map(drop) });
    tokio::task::yield_now().await;
    ends_within_a_second(&life).await;
    timeout(SOON, asking).await.unwrap().unwrap().unwrap_err();
}

#[tokio::test]
async fn a_life_can_end_twice_and_a_client_made_afterwards_is_closed() {
    let life = Life::new();
    ends_within_a_second(&life).await;
    ends_within_a_second(&life).await;
    let client = access("http://127.0.0.1:1")
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let asked = timeout(SOON, client.send(get())).await.unwrap();
    assert!(has_ended(&asked.unwrap_err()));
    let probed = probe(&client, SOON).await;
    assert!(matches!(probed, Err(ConnectError::Ended)));
}
