//! TLS: whom the client believes, and how it shows who it is.
use super::{
    super::{Access, Answered, ConnectError, Connection, Life, Rejected, TransportSettings, probe},
    SOON, kubeconfig, yaml,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use std::{ops::Range, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// An authority, and what it signs.
pub(in crate::connect) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(in crate::connect) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(in crate::connect) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate of one's own making.
    pub(in crate::connect) fn sign_params(&self, params: &CertificateParams, key: &KeyPair) -> String {
        params.signed_by(key, &self.0).unwrap().pem()
    }

    /// Certificate and key.
    pub(in crate::connect) fn sign(&self, name: &str) -> (String, String) {
        self.sign_for(name, 1975..4096)
    }

    /// Valid from the beginning of one year to that of another.
    fn sign_for(&self, name: &str, years: Range<i32>) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(years.start, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.end, 1, 1);
        (
            params.signed_by(&key, &self.0).unwrap().pem(),
            key.serialize_pem(),
        )
    }
}

pub(in crate::connect) fn data(field: &str, pem: &str) -> String {
    format!("{field}: {}", STANDARD.encode(pem))
}

/// Serves `/version` as `api.test` to clients that the authority signed; gives the address.
async fn serve(authority: &Authority, tasks: &mut JoinSet<()>) -> String {
    serve_with(authority, authority.sign("api.test"), &[], tasks).await
}

async fn serve_with(
    authority: &Authority,
    (certificate, key): (String, String),
    protocols: &[&str],
    tasks: &mut JoinSet<()>,
) -> String {
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
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tasks.spawn(async move {
        let mut refused = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = match acceptor.accept(stream).into_fallible().await {
                Ok(stream) => stream,
                Err((_, stream)) => {
                    // A socket that is closed with something unread takes the alert with it.
                    refused.push(stream);
                    continue;
                }
            };
            let _ = stream.read(&mut [0; 4096]).await;
            let body = r#"{"gitVersion":"v1"}"#;
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    address
}

async fn reach(server: &str, cluster: &[&str], user: &[&str]) -> Result<Answered, ConnectError> {
    let connection = Connection::from_kubeconfig(&kubeconfig(&yaml(server, cluster, user)), "c").unwrap();
    let life = Life::new();
    let client = Access::from(connection)
        .connect(&TransportSettings::default(), &life)?
        .client();
    probe(&client, SOON).await
}

#[tokio::test]
async fn authority_client_certificate_and_server_name_are_used() {
    let authority = Authority::new();
    let mut tasks = JoinSet::new();
    let server = format!("https://{}", serve(&authority, &mut tasks).await);
    let (certificate, key) = authority.sign("client");
    let ca = data("certificate-authority-data", &authority.pem());
    let name = "tls-server-name: api.test";
    let user = [
        &*data("client-certificate-data", &certificate),
        &*data("client-key-data", &key),
    ];

    assert_eq!(
        reach(&server, &[&ca, name], &user).await.unwrap(),
        Answered::Ready
    );
    assert!(
        reach(&server, &["insecure-skip-tls-verify: true"], &user)
            .await
            .is_ok()
    );
    let refused = |reached, reason: &str| {
        let Err(ConnectError::Handshake {
            server: named,
            reason: said,
        }) = reached
        else {
            panic!("{reached:?}");
        };
        assert_eq!(named, format!("{server}/"));
        assert!(said.contains(reason), "{said}");
    };
    refused(
        reach(&server, &[&ca], &user).await,
        "is for api.test, not for 127.0.0.1",
    );
    refused(
        reach(&server, &[&ca, name], &[]).await,
        "asks for a client certificate, and was shown none",
    );
    let other = data("certificate-authority-data", &Authority::new().pem());
    refused(
        reach(&server, &[&other, name], &user).await,
        "an unknown authority",
    );
}

#[tokio::test]
async fn a_server_whose_certificate_is_out_of_its_time_is_named_with_the_reason() {
    let authority = Authority::new();
    let ca = data("certificate-authority-data", &authority.pem());
    let mut tasks = JoinSet::new();
    for (years, reason) in [(2000..2001, "has expired"), (3000..3001, "is not valid yet")] {
        let shown = authority.sign_for("api.test", years);
        let server = format!("https://{}", serve_with(&authority, shown, &[], &mut tasks).await);
        let error = reach(&server, &[&ca, "tls-server-name: api.test"], &[])
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&server) && text.contains(reason), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_a_client_certificate_is_named_with_the_reason_under_http2_too() {
    let authority = Authority::new();
    let (certificate, key) = Authority::new().sign("client");
    let [ca, certificate, key] = [
        data("certificate-authority-data", &authority.pem()),
        data("client-certificate-data", &certificate),
        data("client-key-data", &key),
    ];
    let mut tasks = JoinSet::new();
    for protocol in ["h2", "http/1.1"] {
        let shown = authority.sign("api.test");
        let address = serve_with(&authority, shown, &[protocol], &mut tasks).await;
        let cluster = [&*ca, "tls-server-name: api.test"];
        let reached = reach(&format!("https://{address}"), &cluster, &[&certificate, &key]).await;
        let Err(ConnectError::Handshake { reason, .. }) = reached else {
            panic!("{protocol}: {reached:?}");
        };
        assert!(
            reason.starts_with("the server does not accept the client certificate"),
            "{protocol}: {reason}"
        );
    }
}

/// A certificate that its own key has signed, with these words on what it is.
fn self_signed(is_ca: IsCa, years: Range<i32>, uses: &[ExtendedKeyUsagePurpose]) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["api.test".to_owned()]).unwrap();
    params.is_ca = is_ca;
    params.not_before = rcgen::date_time_ymd(years.start, 1, 1);
    params.not_after = rcgen::date_time_ymd(years.end, 1, 1);
    params.extended_key_usages = uses.to_vec();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

#[tokio::test]
async fn a_server_is_believed_by_its_own_certificate_where_that_was_given() {
    let authority = Authority::new();
    let (years, no_uses) = (1975..4096, []);
    let ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let client = ExtendedKeyUsagePurpose::ClientAuth;
    let server_use = ExtendedKeyUsagePurpose::ServerAuth;
    let good = "";
    for (shown, name, expected) in [
        // Signed by an authority that nobody has given, as some inventories have it.
        (authority.sign("api.test"), "api.test", good),
        (self_signed(ca, years.clone(), &no_uses), "api.test", good),
        (self_signed(IsCa::NoCa, years.clone(), &no_uses), "api.test", good),
        (
            self_signed(IsCa::NoCa, years.clone(), &[server_use]),
            "api.test",
            good,
        ),
        (
            authority.sign("api.test"),
            "other.test",
            "is for api.test, not for other.test",
        ),
        (
            self_signed(ca, 3000..3001, &no_uses),
            "api.test",
            "is not valid yet",
        ),
        (
            self_signed(ca, years, &[client]),
            "api.test",
            "its certificate is not acceptable: InvalidPurpose",
        ),
    ] {
        let mut tasks = JoinSet::new();
        let given = data("certificate-authority-data", &shown.0);
        let server = format!("https://{}", serve_with(&authority, shown, &[], &mut tasks).await);
        let (certificate, key) = authority.sign("client");
        let user = [
            data("client-certificate-data", &certificate),
            data("client-key-data", &key),
        ];
        let name = format!("tls-server-name: {name}");
        let reached = reach(&server, &[&given, &name], &[&user[0], &user[1]]).await;
        match reached {
            Ok(_) => assert_eq!(expected, good),
            Err(error) => assert!(
                expected != good && error.to_string().contains(expected),
                "{expected}: {error}"
            ),
        }
    }
}

#[tokio::test]
async fn the_certificate_of_one_server_vouches_for_no_other() {
    let authority = Authority::new();
    let mut tasks = JoinSet::new();
    let given = data("certificate-authority-data", &authority.sign("api.test").0);
    let shown = authority.sign("api.test");
    let server = format!("https://{}", serve_with(&authority, shown, &[], &mut tasks).await);
    let error = reach(&server, &[&given, "tls-server-name: api.test"], &[])
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("signed by an unknown authority"),
        "{error}"
    );
}

#[test]
fn certificates_and_keys_in_files_are_read_from_there() {
    let authority = Authority::new();
    let (certificate, key) = authority.sign("client");
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("ca.crt", &authority.pem()),
        ("tls.crt", &certificate),
        ("tls.key", &key),
    ] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let yaml = yaml(
        "https://a.test",
        &["certificate-authority: ca.crt"],
        &["client-certificate: tls.crt", "client-key: ./tls.key"],
    );
    let path = directory.path().join("config");
    std::fs::write(&path, yaml).unwrap();
    Connection::from_files(&[&path], None).unwrap();

    std::fs::write(
        directory.path().join("tls.key"),
        "-----BEGIN EC PRIVATE KEY-----\nSECRET",
    )
    .unwrap();
    let error = Connection::from_files(&[&path], None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "context `c`: users[u].user.client-key: holds no PEM private key"
    );
    std::fs::remove_file(directory.path().join("ca.crt")).unwrap();
    let error = Connection::from_files(&[&path], None).unwrap_err();
    assert!(
        matches!(&error, Rejected::Invalid { field, .. } if field == "clusters[k].cluster.certificate-authority")
    );
}
