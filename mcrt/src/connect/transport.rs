//! The HTTP transport of a connection: sockets that notice dead peers, TLS, one pool, all owned by a life.
use super::{
    access::Limits,
    authorize::Authorize,
    connection::{Connection, Identity, Trust},
    error::ConnectError,
    guard,
    life::Life,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Builder, connect::HttpConnector},
    rt::TokioTimer,
};
use kube::{
    Config,
    client::{Body, ConfigExt},
    config::AuthInfo,
};
use secrecy::ExposeSecret;
use std::{sync::Once, time::Duration};
use tower::ServiceBuilder;

/// Dead peers are noticed after 20 s of silence and three probes 5 s apart: within a deadline or two.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(20), Duration::from_secs(5), 3);
/// How long sent bytes may stay unacknowledged; the kernel's own limit is about 15 minutes.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);
/// Load balancers drop idle connections without a word, none known before 60 s.
const POOL_IDLE: Duration = Duration::from_secs(30);
/// HTTP/1.1 takes a connection per request under way: as many are kept as a busy lane uses at once.
const POOL_SIZE: usize = 32;

/// Builds the client of a connection. Dials nothing.
///
/// Without a certificate authority the operating system's are loaded, which takes tens of milliseconds.
pub(super) fn client(
    connection: &Connection,
    limits: &Limits,
    life: &Life,
) -> Result<kube::Client, ConnectError> {
    install_crypto();
    let config = config(connection);
    // The reason is left out: it can quote key material.
    let tls = config
        .rustls_https_connector_with_connector(tcp())
        .map_err(|_| ConnectError::Tls {
            server: connection.server(),
        })?;
    let mut connector = TimeoutConnector::new(tls);
    connector.set_connect_timeout(Some(limits.connect));
    let pool = Builder::new(life.ward().clone())
        .pool_idle_timeout(POOL_IDLE)
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(POOL_SIZE)
        .build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer_fn(|inner| Authorize::new(inner, &connection.credentials))
        .service(pool);
    guard::client(service, connection.namespace.clone(), limits.first_byte, life)
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let (idle, interval, retries) = KEEPALIVE;
    tcp.set_keepalive(Some(idle));
    tcp.set_keepalive_interval(Some(interval));
    tcp.set_keepalive_retries(Some(retries));
    #[cfg(target_os = "linux")]
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    tcp
}

/// What kube needs to know for TLS; credentials in headers are ours.
fn config(connection: &Connection) -> Config {
    let mut config = Config::new(connection.server.clone());
    config.tls_server_name.clone_from(&connection.tls_server_name);
    match &connection.trust {
        Trust::System => {}
        Trust::Authorities(authorities) => config.root_cert = Some(authorities.clone()),
        Trust::File(path, authorities) => {
            config.root_cert = Some(authorities.clone());
            config.root_cert_file = Some(path.clone());
        }
        Trust::Anyone => config.accept_invalid_certs = true,
    }
    let plain = connection.server.scheme_str() == Some("http");
    if plain || matches!(connection.trust, Trust::Anyone) {
        // Spares loading the operating system's authorities, which nothing would ask.
        config.root_cert = Some(Vec::new());
    }
    if let Some(identity) = &connection.identity {
        config.auth_info = auth_info(identity);
    }
    config
}

fn auth_info(identity: &Identity) -> AuthInfo {
    AuthInfo {
        client_certificate_data: Some(STANDARD.encode(&identity.certificate)),
        client_key_data: Some(STANDARD.encode(identity.key.expose_secret()).into()),
        ..AuthInfo::default()
    }
}

/// rustls refuses to choose when a program has two providers linked in.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails if the program has installed one: then that is the one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
