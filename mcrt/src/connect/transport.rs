//! The HTTP transport of a connection: sockets that notice dead peers, TLS, one pool, all owned by a life.
use super::{
    authorize::Authorize,
    breaker::Breaker,
    connection::{Connection, Trust},
    credentials::Material,
    error::ConnectError,
    guard,
    life::Life,
    settings::TransportSettings,
};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{Builder, connect::HttpConnector},
    rt::TokioTimer,
};
use kube::{
    Config,
    client::{Body, ConfigExt},
};
use rustls::client::Resumption;
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
/// Tickets of the one server of a client; rustls keeps up to eight for each.
const SESSIONS: usize = 8;
/// A connection keeps its buffer at the size that its longest list made it, hundreds of KiB if nothing bounds it, and
/// a watch keeps its connection. Twice a TLS record: more is never read at once. Bounds response headers too.
const READ_BUFFER: usize = 32 * 1024;

/// Builds the client of a connection. Dials nothing.
///
/// Without a certificate authority the operating system's are loaded, which takes tens of milliseconds.
pub(super) fn client(
    connection: &Connection,
    material: &Material,
    settings: &TransportSettings,
    breaker: &Breaker,
    life: &Life,
) -> Result<kube::Client, ConnectError> {
    install_crypto();
    let config = config(connection);
    // The reason is left out: it can quote key material.
    let tls = tls(&config, material).ok_or_else(|| ConnectError::Tls {
        server: connection.server(),
    })?;
    let mut connector = TimeoutConnector::new(tls);
    connector.set_connect_timeout(Some(settings.limits.connect));
    let pool = Builder::new(life.ward().clone())
        .pool_idle_timeout(POOL_IDLE)
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(POOL_SIZE)
        .http1_max_buf_size(READ_BUFFER)
        .build::<_, Body>(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .layer_fn(|inner| Authorize::new(inner, material.clone()))
        .service(pool);
    guard::client(service, connection.namespace.clone(), settings, breaker, life)
}

/// As kube's own, except for the memory of sessions: a client has one server, and room for 256 is 14 KiB each.
fn tls(config: &Config, material: &Material) -> Option<HttpsConnector<HttpConnector>> {
    let mut tls = config.rustls_client_config().ok()?;
    tls.resumption = if material.shows_certificates() {
        Resumption::disabled()
    } else {
        Resumption::in_memory_sessions(SESSIONS)
    };
    tls.client_auth_cert_resolver = material.resolver();
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name.clone().try_into().ok()?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Some(builder.enable_http1().wrap_connector(tcp()))
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
    config
}

/// rustls refuses to choose when a program has two providers linked in.
pub(super) fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails if the program has installed one: then that is the one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
