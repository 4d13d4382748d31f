//! Ways to a server that a kubeconfig asks for: a proxy before it, another user at it.
use super::{
    super::{Access, ConnectError, Life, TransportSettings, connection::Impersonate, probe},
    SOON,
    http2_server::Http2Server,
    kubeconfig,
    server::{Server, response},
    yaml,
};
use crate::connect::Connection;
use http::Request;
use kube::client::Body;
use std::time::Duration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::timeout,
};

/// A proxy that passes everything on; tells the heads of what it was asked.
async fn proxy(tasks: &mut JoinSet<()>) -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (heads, asked) = mpsc::unbounded_channel();
    tasks.spawn(async move {
        let mut passing = JoinSet::new();
        while let Ok((client, _)) = listener.accept().await {
            passing.spawn(pass(client, heads.clone()));
        }
    });
    (address, asked)
}

async fn pass(mut client: TcpStream, heads: mpsc::UnboundedSender<String>) {
    let mut head = vec![0; 4096];
    let length = client.read(&mut head).await.unwrap();
    let head = String::from_utf8_lossy(&head[..length]).into_owned();
    let target = head.split(' ').nth(1).unwrap().to_owned();
    heads.send(head).unwrap();
    let mut server = TcpStream::connect(target).await.unwrap();
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}

#[tokio::test]
async fn a_server_behind_a_proxy_is_reached_over_http2_and_its_certificate_checked() {
    let mut tasks = JoinSet::new();
    let (address, mut heads) = proxy(&mut tasks).await;
    let mut server = Http2Server::start(250).await;
    let mut connection = server.connection();
    connection.proxy = Some(format!("http://user:secret@{address}").parse().unwrap());
    let life = Life::new();
    let client = Access::from(connection)
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let asking = tokio::spawn(async move { client.send(Request::new(Body::empty())).await.map(drop) });
    server.asked().await.ok();
    timeout(SOON, asking).await.unwrap().unwrap().unwrap();
    let head = heads.recv().await.unwrap();
    assert!(
        head.starts_with(&format!("CONNECT {} HTTP/1.1\r\n", server.address)),
        "{head}"
    );
    assert!(
        head.to_lowercase().contains("proxy-authorization: basic "),
        "the proxy is told who asks"
    );
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_as_the_cause_without_its_password() {
    let proxy = Server::answering(response("407 Proxy Authentication Required", "")).await;
    let text = yaml("https://a.test", &["insecure-skip-tls-verify: true"], &[]);
    let mut connection = Connection::from_kubeconfig(&kubeconfig(&text), "c").unwrap();
    connection.proxy = Some(format!("http://user:secret@{}", proxy.address).parse().unwrap());
    let life = Life::new();
    let client = Access::from(connection)
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    let error = probe(&client, Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Dial { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("through the proxy") && !text.contains("secret"),
        "{text}"
    );
}

#[tokio::test]
async fn who_is_impersonated_is_said_with_every_request() {
    let mut server = Server::answering(response("200 OK", "{}")).await;
    let text = yaml(&format!("http://{}", server.address), &[], &[]);
    let mut connection = Connection::from_kubeconfig(&kubeconfig(&text), "c").unwrap();
    connection.impersonate = Some(Impersonate {
        user: "jane".into(),
        uid: None,
        groups: vec!["a".into(), "b".into()],
        extra: vec![("Scope".into(), vec!["x".into()])],
    });
    let life = Life::new();
    let client = Access::from(connection)
        .connect(&TransportSettings::default(), &life)
        .unwrap()
        .client();
    for _ in 0..2 {
        client.send(Request::new(Body::empty())).await.unwrap();
        let seen = server.request().await;
        for line in [
            "impersonate-user: jane\r\n",
            "impersonate-group: a\r\n",
            "impersonate-group: b\r\n",
            "impersonate-extra-scope: x\r\n",
        ] {
            assert!(seen.contains(line), "{seen}");
        }
    }
}
