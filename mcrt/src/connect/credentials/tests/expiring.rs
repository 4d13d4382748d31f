//! A client certificate from a program that expires while requests and a watch go on: real time, real TLS.
use super::{
    super::super::connection::{Credentials, ExecPlugin},
    V1, plugin,
};
use crate::connect::{
    Access, Connection, CredentialSettings, Life, Plugins, TransportSettings,
    certificate::not_after,
    tests::{
        SOON, kubeconfig,
        tls::{Authority, data},
        yaml,
    },
};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::{body::Frame, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use parking_lot::Mutex;
use rcgen::{CertificateParams, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use std::{
    collections::BTreeSet,
    convert::Infallible,
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

/// How long each certificate is valid, and how long the test looks.
const VALID: Duration = Duration::from_secs(4);
const LOOKED: Duration = Duration::from_secs(13);

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What the server saw.
#[derive(Clone, Default)]
struct Seen {
    certificates: Arc<Mutex<BTreeSet<Vec<u8>>>>,
    refused: Arc<Mutex<usize>>,
}

fn acceptor(authority: &Authority) -> TlsAcceptor {
    let (certificate, key) = authority.sign("127.0.0.1");
    let mut clients = RootCertStore::empty();
    clients
        .add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap())
        .unwrap();
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(clients), Arc::clone(&crypto)).build();
    let mut config = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.unwrap())
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Serves as a Kubernetes API server does: a certificate that has expired is refused in the handshake, and with 401 on
/// a connection that was made while it was valid. What has been begun goes on.
async fn serve(authority: &Authority, seen: Seen, tasks: &mut JoinSet<()>) -> String {
    let acceptor = acceptor(authority);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, seen) = (acceptor.clone(), seen.clone());
            connections.spawn(async move {
                let Ok(stream) = acceptor.accept(stream).await else {
                    return;
                };
                let shown = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
                seen.certificates.lock().insert(shown.clone());
                let answers = service_fn(|request: Request<hyper::body::Incoming>| {
                    let answer = answer(request.uri().path(), &shown, &seen);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let builder = auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), answers).await;
            });
        }
    });
    address
}

fn answer(path: &str, shown: &[u8], seen: &Seen) -> Response<Body> {
    if not_after(shown).unwrap() < SystemTime::now() {
        *seen.refused.lock() += 1;
        let mut refusal = Response::new(Body::default());
        *refusal.status_mut() = StatusCode::UNAUTHORIZED;
        return refusal;
    }
    if path != "/watch" {
        return Response::new(Body::default());
    }
    let lines = futures::stream::unfold((), async |()| {
        sleep(Duration::from_millis(200)).await;
        Some((Ok(Frame::data(Bytes::from_static(b"line\n"))), ()))
    });
    Response::new(StreamBody::new(lines).boxed_unsync())
}

/// Writes a credential with a new certificate for the program to print.
fn renew(authority: &Authority, file: &Path) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["client".to_owned()]).unwrap();
    params.not_after = (SystemTime::now() + VALID).into();
    let certificate = authority.sign_params(&params, &key);
    let credential = serde_json::json!({
        "apiVersion": V1, "kind": "ExecCredential",
        "status": {"clientCertificateData": certificate, "clientKeyData": key.serialize_pem()},
    });
    let beside = file.with_extension("new");
    std::fs::write(&beside, credential.to_string()).unwrap();
    std::fs::rename(beside, file).unwrap();
}

fn access(address: &str, authority: &Authority, file: &Path) -> Access {
    let ca = data("certificate-authority-data", &authority.pem());
    let yaml = yaml(&format!("https://{address}"), &[&ca], &[]);
    let mut connection = Connection::from_kubeconfig(&kubeconfig(&yaml), "c").unwrap();
    connection.credentials = Credentials::Exec(Arc::new(ExecPlugin {
        args: vec![file.display().to_string()],
        ..plugin("cat")
    }));
    connection.into()
}

async fn get(client: &kube::Client, path: &str) -> Result<Response<kube::client::Body>, String> {
    let request = Request::get(path).body(kube::client::Body::empty()).unwrap();
    let answer = client.send(request).await.map_err(|error| format!("{error:?}"))?;
    match answer.status() {
        StatusCode::OK => Ok(answer),
        status => Err(status.to_string()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_expires_is_replaced_without_a_gap_and_the_open_watch_goes_on() {
    let authority = Authority::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("credential");
    renew(&authority, &file);
    let mut tasks = JoinSet::new();
    let seen = Seen::default();
    let address = serve(&authority, seen.clone(), &mut tasks).await;
    let settings = TransportSettings {
        credentials: CredentialSettings {
            plugins: Plugins::new(1),
            ..CredentialSettings::default()
        },
        ..TransportSettings::default()
    };
    let life = Life::new();
    let client = access(&address, &authority, &file)
        .connect(&settings, &life)
        .unwrap()
        .client();
    let mut watch = get(&client, "/watch").await.unwrap().into_body();
    let (began, mut lines) = (Instant::now(), 0);
    while began.elapsed() < LOOKED {
        // As a program does that asks somebody for a new one each time.
        renew(&authority, &file);
        let asked = timeout(SOON, get(&client, "/version")).await.expect("no gap");
        assert!(asked.is_ok(), "{:?} after the start: {asked:?}", began.elapsed());
        let told = timeout(SOON, watch.frame()).await.expect("the watch goes on");
        lines += usize::from(told.unwrap().is_ok());
    }
    assert!(lines > 20, "{lines} lines");
    let shown = seen.certificates.lock().len();
    assert!(shown >= 4, "{shown} certificates were shown");
    assert_eq!(*seen.refused.lock(), 0, "none was shown after its end");
    timeout(SOON, life.end()).await.unwrap();
    assert_eq!(settings.credentials.plugins.used(), 0);
}
