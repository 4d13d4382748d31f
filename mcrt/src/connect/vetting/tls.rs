//! Whom to believe, and the certificate to show.
use super::{
    super::{
        certificate::{certificates, expired},
        connection::{Identity, Trust},
        error::Rejected,
        transport::install_crypto,
    },
    field::{At, Found},
    nonempty,
};
use kube::config::{AuthInfo, Cluster};
use rustls::{
    RootCertStore,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    sign::CertifiedKey,
};
use secrecy::ExposeSecret;
use std::time::SystemTime;

const UNCHECKED: &str = "talks to whoever answers: give the certificate authority, or allow it with \
                         `Policy::allow_insecure_tls`";

/// The PEM text with the cluster's certificate authorities.
pub(super) fn authorities(cluster: &Cluster, at: &At<'_>) -> Result<Option<Found>, Rejected> {
    at.data_or_file(
        cluster.certificate_authority_data.as_deref(),
        cluster.certificate_authority.as_deref(),
        ".certificate-authority",
    )
}

pub(super) fn trust(cluster: &Cluster, given: Option<&Found>, at: &At<'_>) -> Result<Trust, Rejected> {
    let skip = cluster.insecure_skip_tls_verify.unwrap_or(false);
    at.allow(
        at.policy.insecure_tls || !skip,
        ".insecure-skip-tls-verify",
        UNCHECKED,
    )?;
    let Some((field, pem)) = given else {
        return Ok(if skip { Trust::Anyone } else { Trust::System });
    };
    if skip {
        let reason = "contradicts the certificate authority that is given beside it: remove one";
        return Err(at.invalid(".insecure-skip-tls-verify", reason));
    }
    let authorities = certificates(pem).ok_or_else(|| at.invalid(field, "holds no PEM certificate"))?;
    let mut store = RootCertStore::empty();
    for der in &authorities {
        let added = store.add(CertificateDer::from(der.as_slice()));
        added.map_err(|_| at.invalid(field, "a certificate in it is damaged or not an authority"))?;
    }
    // While authorities rotate, the old one may stay in the bundle.
    let now = SystemTime::now();
    let ends: Option<Vec<String>> = authorities.iter().map(|der| expired(der, now)).collect();
    match ends.and_then(|ends| ends.into_iter().max()) {
        Some(end) => Err(at.invalid(field, format!("expired on {end}: give the present one"))),
        None => Ok(Trust::Authorities(authorities)),
    }
}

pub(super) fn server_name(cluster: &Cluster, at: &At<'_>) -> Result<Option<String>, Rejected> {
    let Some(name) = nonempty(cluster.tls_server_name.as_ref()) else {
        return Ok(None);
    };
    ServerName::try_from(name).map_err(|_| at.invalid(".tls-server-name", "not a host name or address"))?;
    Ok(Some(name.to_owned()))
}

pub(super) fn identity(user: &AuthInfo, at: &At<'_>) -> Result<Option<Identity>, Rejected> {
    let certificate = at.data_or_file(
        user.client_certificate_data.as_deref(),
        user.client_certificate.as_deref(),
        ".client-certificate",
    )?;
    let key_data = user.client_key_data.as_ref().map(ExposeSecret::expose_secret);
    let key = at.data_or_file(key_data, user.client_key.as_deref(), ".client-key")?;
    let ((at_certificate, certificate), (at_key, key)) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some((field, _)), None) => return Err(at.invalid(field, "has no client key beside it")),
        (None, Some((field, _))) => return Err(at.invalid(field, "has no client certificate beside it")),
        (Some(certificate), Some(key)) => (certificate, key),
    };
    let chain = certificates(&certificate);
    let chain = chain.ok_or_else(|| at.invalid(at_certificate, "holds no PEM certificate"))?;
    // The first is the client's own.
    if let Some(end) = chain.first().and_then(|own| expired(own, SystemTime::now())) {
        let reason = format!("expired on {end}: have a new one issued");
        return Err(at.invalid(at_certificate, reason));
    }
    fits(chain, &key).map_err(|misfit| match misfit {
        Misfit::Certificate(reason) => at.invalid(at_certificate, reason),
        Misfit::Key(reason) => at.invalid(at_key, reason),
    })?;
    let key = String::from_utf8(key).map_err(|_| at.invalid(at_key, "not text"))?;
    Ok(Some(Identity {
        certificate,
        key: key.into(),
    }))
}

/// What does not fit, and why. What parsers say is left out: it quotes the key.
enum Misfit {
    Certificate(&'static str),
    Key(&'static str),
}

/// Whether a handshake could show this chain with this key.
fn fits(chain: Vec<Vec<u8>>, key: &[u8]) -> Result<(), Misfit> {
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| Misfit::Key("holds no PEM private key"))?;
    install_crypto();
    let Some(crypto) = CryptoProvider::get_default() else {
        // Then there is no TLS either, which connecting tells.
        return Ok(());
    };
    let chain = chain.into_iter().map(CertificateDer::from).collect();
    match CertifiedKey::from_der(chain, key, crypto) {
        Ok(_) => Ok(()),
        Err(rustls::Error::InconsistentKeys(_)) => {
            Err(Misfit::Key("not the key of the client certificate beside it"))
        }
        Err(rustls::Error::InvalidCertificate(_)) => {
            Err(Misfit::Certificate("the first certificate in it is damaged"))
        }
        Err(_) => Err(Misfit::Key("not a usable RSA, ECDSA or Ed25519 key")),
    }
}
