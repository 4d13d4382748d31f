//! What counts as reached.
use super::{
    super::{ConnectError, Life, TransportSettings, probe},
    access,
    server::{Server, endless, response},
};
use std::time::Duration;

async fn probed(answer: String, deadline: u64) -> Result<super::super::ServerVersion, ConnectError> {
    probed_at(&Server::answering(answer).await, deadline).await
}

async fn probed_at(server: &Server, deadline: u64) -> Result<super::super::ServerVersion, ConnectError> {
    let life = Life::new();
    let client = access(&format!("http://{}", server.address))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    probe(&client, Duration::from_millis(deadline)).await
}

#[tokio::test]
async fn a_server_that_tells_its_version_is_reached() {
    let version = probed(
        response("200 OK", r#"{"gitVersion":"v1.37.2","major":"1"}"#),
        5000,
    )
    .await
    .unwrap();
    assert_eq!(version.git_version.as_deref(), Some("v1.37.2"));
    assert_eq!(version.status, 200);
}

#[tokio::test]
async fn refusals_and_nonsense_count_as_reached() {
    for status in [
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "503 Service Unavailable",
    ] {
        let version = probed(response(status, "<html>"), 5000).await.unwrap();
        assert_eq!(version.git_version, None);
        assert_eq!(version.is_unauthorized(), status.starts_with("401"));
    }
}

#[tokio::test]
async fn a_body_that_never_ends_does_not_undo_the_answer() {
    let version = probed(endless("{"), 200).await.unwrap();
    assert_eq!(version.git_version, None);
}

#[tokio::test]
async fn silence_is_no_response() {
    let error = probed_at(&Server::silent().await, 100).await.unwrap_err();
    assert!(matches!(error, ConnectError::NoResponse { within } if within == Duration::from_millis(100)));
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let life = Life::new();
    let client = access(&format!("http://{address}"))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let error = probe(&client, Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Dial { .. }), "{error}");
}
