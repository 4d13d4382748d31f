//! Client certificates: from PEM to what a handshake shows.
use super::Material;
use crate::connect::transport::install_crypto;
use rustls::{
    SignatureScheme,
    client::ResolvesClientCert,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use std::{fmt, sync::Arc};

/// A certificate chain and its key. What parsers say is left out of the reason: it quotes keys.
pub(super) fn parse(certificate: &[u8], key: &[u8]) -> Result<Arc<CertifiedKey>, &'static str> {
    install_crypto();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let chain = chain.map_err(|_| "the certificate is not PEM")?;
    if chain.is_empty() {
        return Err("there is no PEM certificate");
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| "there is no PEM private key")?;
    let provider = CryptoProvider::get_default().ok_or("no cryptography is installed")?;
    match CertifiedKey::from_der(chain, key, provider) {
        Ok(certified) => Ok(Arc::new(certified)),
        Err(rustls::Error::InconsistentKeys(_)) => Err("the key is not that of the certificate"),
        Err(_) => Err("the certificate is damaged, or the key not a usable RSA, ECDSA or Ed25519 key"),
    }
}

/// Whether both are the same certificate; a new key always comes with a new certificate.
pub(super) fn same(one: Option<&Arc<CertifiedKey>>, other: Option<&Arc<CertifiedKey>>) -> bool {
    one.map(|one| &one.cert) == other.map(|other| &other.cert)
}

/// Shows the certificate that is current when a handshake asks.
pub(super) struct Resolver(pub(super) Material);

impl ResolvesClientCert for Resolver {
    fn resolve(&self, _authorities: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let certified = self.0.certificate()?;
        certified.key.choose_scheme(schemes)?;
        Some(certified)
    }

    fn has_certs(&self) -> bool {
        // Not whether there is one now: a plugin may bring one later.
        true
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
