//! A certificate authority in memory, for listeners that speak TLS.

use std::fmt;
use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::{Ticketer, default_provider};
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority and the one server certificate that it has signed. Clones share them.
#[derive(Clone)]
pub struct Authority(Arc<Inner>);

struct Inner {
    pem: String,
    both: Arc<ServerConfig>,
    http1: Arc<ServerConfig>,
}

/// Whom the certificate is for.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Authority {
    /// A fresh one: its key exists nowhere else and goes with it.
    pub fn new(name: &str) -> io::Result<Self> {
        let mut params = CertificateParams::new(Vec::<String>::new()).map_err(io::Error::other)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let authority = CertifiedIssuer::self_signed(params, key).map_err(io::Error::other)?;
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let mut params = CertificateParams::new(NAMES.map(str::to_owned)).map_err(io::Error::other)?;
        params
            .distinguished_name
            .push(DnType::CommonName, "kube-apiserver");
        let certificate = params.signed_by(&key, &authority).map_err(io::Error::other)?;
        let config = |protocols: &[&str]| -> io::Result<Arc<ServerConfig>> {
            let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
            let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
                .with_safe_default_protocol_versions()
                .map_err(io::Error::other)?
                .with_no_client_auth()
                .with_single_cert(vec![certificate.der().clone()], key)
                .map_err(io::Error::other)?;
            // As API servers do: else all clusters of an authority share a few hundred sessions.
            config.ticketer = Ticketer::new().map_err(io::Error::other)?;
            config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
            Ok(Arc::new(config))
        };
        Ok(Self(Arc::new(Inner {
            both: config(&["h2", "http/1.1"])?,
            http1: config(&["http/1.1"])?,
            pem: authority.pem(),
        })))
    }

    /// The certificate of the authority, which clients are to trust.
    pub fn pem(&self) -> &str {
        &self.0.pem
    }

    pub(crate) fn acceptor(&self, http1_only: bool) -> TlsAcceptor {
        let config = if http1_only { &self.0.http1 } else { &self.0.both };
        TlsAcceptor::from(Arc::clone(config))
    }
}

/// Nothing of the keys.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority(..)")
    }
}
