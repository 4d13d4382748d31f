//! TLS: whom a client believes, what it shows, and what it says when it does not believe.
use super::{
    super::{
        connection::{Connection, Trust},
        credentials::Material,
        error::ConnectError,
    },
    crypto, pinned,
};
use http::Uri;
use kube::{Config, client::ConfigExt};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, Error, client::Resumption, pki_types::ServerName,
};
use std::{io, sync::Arc};
use tokio_rustls::TlsConnector;

/// Tickets of the one server of a client; rustls keeps up to eight for each.
const SESSIONS: usize = 8;

/// Makes TLS connections to one server.
pub(super) struct Tls {
    /// Offers HTTP/2 and HTTP/1.1.
    pub(super) both: TlsConnector,
    /// Offers HTTP/1.1.
    pub(super) http1: TlsConnector,
    pub(super) name: ServerName<'static>,
}

impl Tls {
    /// None for a server without TLS.
    pub(super) fn new(connection: &Connection, material: &Material) -> Result<Option<Self>, ConnectError> {
        if connection.server.scheme_str() == Some("http") {
            return Ok(None);
        }
        if !crypto::is_installed() {
            return Err(ConnectError::NoCrypto);
        }
        let config = config(connection, material);
        let name = name(&connection.server, connection.tls_server_name.as_deref());
        let (Some(config), Some(name)) = (config, name) else {
            return Err(ConnectError::Tls {
                server: connection.server(),
            });
        };
        let offering = |protocols: &[&[u8]]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
            TlsConnector::from(Arc::new(config))
        };
        Ok(Some(Self {
            both: offering(&[b"h2", b"http/1.1"]),
            http1: offering(&[b"http/1.1"]),
            name,
        }))
    }
}

/// kube's, which reads an authority's file again while it runs and asks the operating system where there is none.
///
/// Without a certificate authority the operating system's are loaded, which takes tens of milliseconds.
fn config(connection: &Connection, material: &Material) -> Option<ClientConfig> {
    let mut config = Config::new(connection.server.clone());
    match &connection.trust {
        Trust::System => {}
        Trust::Authorities(authorities) => config.root_cert = Some(authorities.clone()),
        Trust::File(path, authorities) => {
            config.root_cert = Some(authorities.clone());
            config.root_cert_file = Some(path.clone());
        }
        Trust::Anyone => {
            config.accept_invalid_certs = true;
            // Spares loading the operating system's authorities, which nothing would ask.
            config.root_cert = Some(Vec::new());
        }
    }
    // The reason of a failure is left out: it can quote key material.
    let mut tls = config.rustls_client_config().ok()?;
    if let Trust::Authorities(given) = &connection.trust {
        pinned::pin(&mut tls, given)?;
    }
    tls.client_auth_cert_resolver = material.resolver();
    // A client has one server, and room for 256 of them is 14 KiB each.
    tls.resumption = if material.shows_certificates() {
        Resumption::disabled()
    } else {
        Resumption::in_memory_sessions(SESSIONS)
    };
    Some(tls)
}

fn name(server: &Uri, named: Option<&str>) -> Option<ServerName<'static>> {
    let host = named.or_else(|| server.host())?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    ServerName::try_from(host.to_owned()).ok()
}

/// What a handshake failed of, in words that say what to look at; nothing for failures that TLS did not find.
pub(super) fn explain(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    let reason = match error {
        Error::InvalidCertificate(reason) => certificate(reason),
        Error::AlertReceived(alert) => alerted(*alert),
        Error::NoCertificatesPresented => "it shows no certificate".into(),
        other => other.to_string(),
    };
    Some(reason)
}

/// Why a server broke off after the handshake: what it thinks of our certificate it says only then.
pub(super) fn refused(error: &io::Error) -> Option<String> {
    match error.get_ref()?.downcast_ref::<Error>()? {
        Error::AlertReceived(alert) => Some(alerted(*alert)),
        _ => None,
    }
}

fn alerted(alert: AlertDescription) -> String {
    use AlertDescription as Alert;
    match alert {
        Alert::CertificateRequired => "the server asks for a client certificate, and was shown none".into(),
        Alert::CertificateExpired => {
            "the server says that the client certificate has expired: renew it".into()
        }
        Alert::UnknownCA
        | Alert::BadCertificate
        | Alert::UnsupportedCertificate
        | Alert::CertificateRevoked
        | Alert::CertificateUnknown
        | Alert::AccessDenied
        | Alert::DecryptError => {
            format!("the server does not accept the client certificate (alert {alert:?})")
        }
        _ => format!("the server breaks off with the alert {alert:?}"),
    }
}

fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: renew it, or set this machine's clock".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: set this machine's clock".into()
        }
        CertificateError::UnknownIssuer => {
            "its certificate is signed by an unknown authority: give that authority as \
             `certificate-authority-data`"
                .into()
        }
        // Authorities of clusters that one tool has made are all named alike.
        CertificateError::BadSignature => {
            "its certificate is signed by an unknown authority of the same name as a known one: give that \
             authority as `certificate-authority-data`"
                .into()
        }
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "its certificate is for {}, not for {}: correct `server`, or set `tls-server-name`",
            presented
                .iter()
                .map(|name| bare(name))
                .collect::<Vec<_>>()
                .join(", "),
            expected.to_str()
        ),
        CertificateError::NotValidForName => {
            "its certificate is for another name: correct `server`, or set `tls-server-name`".into()
        }
        CertificateError::Revoked => "its certificate has been revoked".into(),
        other => format!("its certificate is not acceptable: {other:?}"),
    }
}

/// rustls gives names as `DnsName("api.test")`.
fn bare(name: &str) -> &str {
    name.split('"').nth(1).unwrap_or(name)
}
