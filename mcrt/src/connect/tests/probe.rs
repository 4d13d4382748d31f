//! What counts as alive.
use super::{
    super::{Answered, ConnectError, Life, TransportSettings, probe},
    access,
    server::{Server, endless, response},
};
use std::time::Duration;

async fn probed(answer: String, deadline: u64) -> Result<Answered, ConnectError> {
    probed_at(&Server::answering(answer).await.address, deadline).await
}

async fn probed_at(address: &str, deadline: u64) -> Result<Answered, ConnectError> {
    let life = Life::new();
    let client = access(&format!("http://{address}"))
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    probe(&client, Duration::from_millis(deadline)).await
}

#[tokio::test]
async fn every_answer_of_an_api_server_says_that_it_is_alive() {
    let cases = [
        ("200 OK", Answered::Ready),
        ("429 Too Many Requests", Answered::Ready),
        ("404 Not Found", Answered::Ready),
        ("500 Internal Server Error", Answered::Unready { status: 500 }),
        ("302 Found", Answered::Unready { status: 302 }),
        ("401 Unauthorized", Answered::Refused { status: 401 }),
        ("403 Forbidden", Answered::Refused { status: 403 }),
    ];
    for (status, expected) in cases {
        let answered = probed(response(status, "<html>"), 5000).await.unwrap();
        assert_eq!(answered, expected, "{status}");
    }
}

#[tokio::test]
async fn a_gateway_that_cannot_reach_the_server_is_told_from_a_server_that_is_not_available() {
    for status in [
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
    ] {
        let error = probed(response(status, "<html>"), 5000).await.unwrap_err();
        assert!(matches!(error, ConnectError::Gateway { .. }), "{error}");
        for header in ["content-type: application/json", "audit-id: 4c9e"] {
            let answer = response(&format!("{status}\r\n{header}"), "{}");
            let answered = probed(answer, 5000).await.unwrap();
            assert!(matches!(answered, Answered::Unready { .. }), "{answered:?}");
        }
    }
}

#[tokio::test]
async fn a_body_that_never_ends_does_not_undo_the_answer() {
    assert_eq!(probed(endless("o"), 200).await.unwrap(), Answered::Ready);
}

#[tokio::test]
async fn silence_is_no_response() {
    let error = probed_at(&Server::silent().await.address, 100).await.unwrap_err();
    assert!(matches!(error, ConnectError::NoResponse { within } if within == Duration::from_millis(100)));
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = probed_at(&address.to_string(), 5000).await.unwrap_err();
    assert!(matches!(error, ConnectError::Dial { .. }), "{error}");
}
