//! Servers that are believed by their own certificate, where that is what was given instead of an authority's.
//!
//! Some inventories publish the certificate that a server shows, not the one of whoever signed it; Go programs take
//! that, and rustls does not. What is named as trusted is trusted, for the names and the time that are in it.
use super::super::certificate::serves;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};
use std::{sync::Arc, time::UNIX_EPOCH};

/// Asks rustls, unless a server shows one of the certificates that were given.
#[derive(Debug)]
struct Pinned {
    inner: Arc<WebPkiServerVerifier>,
    given: Vec<CertificateDer<'static>>,
}

/// Has a client believe a server that shows one of these certificates, beside those that they have signed.
pub(super) fn pin(config: &mut ClientConfig, given: &[Vec<u8>]) -> Option<()> {
    let mut roots = RootCertStore::empty();
    let given: Vec<_> = given
        .iter()
        .map(|der| CertificateDer::from(der.clone()))
        .collect();
    for certificate in &given {
        roots.add(certificate.clone()).ok()?;
    }
    let crypto = Arc::clone(config.crypto_provider());
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), crypto);
    let inner = inner.build().ok()?;
    config
        .dangerous()
        .set_certificate_verifier(Arc::new(Pinned { inner, given }));
    Some(())
}

impl Pinned {
    /// What a chain would be asked too, but for who has signed it.
    fn itself(
        shown: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let now = UNIX_EPOCH.checked_add(std::time::Duration::from_secs(now.as_secs()));
        let reason = match now.and_then(|now| serves(shown, now)) {
            Some(Ok(())) => None,
            Some(Err(reason)) => Some(reason),
            None => Some(CertificateError::BadEncoding),
        };
        if let Some(reason) = reason {
            return Err(Error::InvalidCertificate(reason));
        }
        verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
        Ok(ServerCertVerified::assertion())
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.given.iter().any(|given| given.as_ref() == shown.as_ref()) {
            return Self::itself(shown, name, now);
        }
        self.inner
            .verify_server_cert(shown, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, shown, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.inner.root_hint_subjects()
    }
}
