//! Listeners that speak TLS.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use std::sync::Arc;

use bytes::Bytes;
use common::within;
use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use mcrt_sim::{Authority, Listen, Server, User};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

fn connector(authority: &Authority, protocols: &[&str]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap())
        .unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn the_protocol_is_agreed_on_and_spoken() {
    let server = Server::new("one");
    let authority = Authority::new("test").unwrap();
    let listener = server.listen_with(Listen::new().tls(&authority)).await.unwrap();
    let agree = async |listener: &mcrt_sim::Listener, protocols: &[&str]| {
        let stream = TcpStream::connect(listener.addr()).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        within(connector(&authority, protocols).connect(name, stream))
            .await
            .unwrap()
    };
    let stream = agree(&listener, &["h2", "http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let task = tokio::spawn(connection);
    let request = http::Request::get(format!("{}/readyz", listener.url()))
        .body(Empty::<Bytes>::new())
        .unwrap();
    assert_eq!(within(sender.send_request(request)).await.unwrap().status(), 200);
    task.abort();
    let old = server
        .listen_with(Listen::new().tls(&authority).http1_only())
        .await
        .unwrap();
    let stream = agree(&old, &["h2", "http/1.1"]).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
}

#[tokio::test]
async fn clients_that_trust_the_authority_get_in_and_others_do_not() {
    let server = Server::new("one");
    server.add_token("s3cret", User::new("reader").may(["list"], ["configmaps"]));
    let authority = Authority::new("test").unwrap();
    assert!(!format!("{authority:?}").contains("KEY"));
    let listener = server.listen_with(Listen::new().tls(&authority)).await.unwrap();
    let reach = async |authority: &Authority| {
        let kubeconfig: Kubeconfig = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": listener.url(),
                "certificate-authority-data": base64::Engine::encode(
                    &base64::engine::general_purpose::STANDARD, authority.pem())}}],
            "users": [{"name": "c", "user": {"token": "s3cret"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        }))
        .unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = kube::Client::try_from(config.unwrap()).unwrap();
        let api: Api<ConfigMap> = Api::all(client);
        within(api.list(&ListParams::default()))
            .await
            .map(|list| list.items.len())
    };
    assert!(reach(&authority).await.unwrap() > 0);
    assert!(reach(&Authority::new("test").unwrap()).await.is_err());
    assert_eq!(server.counters().user("reader"), 1);
}
