//! The cryptography that TLS uses, chosen once for the process.
use rustls::crypto::CryptoProvider;
use std::sync::Once;

/// Installs the provider of the features `ring` or `aws-lc-rs`, unless the program has installed one.
///
/// rustls refuses to choose when a program has two linked in. With both features it is ring; with neither it is what
/// the program installs.
pub(in crate::connect) fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails if the program has installed one: then that is the one.
        #[cfg(feature = "ring")]
        let _ = rustls::crypto::ring::default_provider().install_default();
        #[cfg(all(feature = "aws-lc-rs", not(feature = "ring")))]
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    });
}

/// Whether there is one.
pub(super) fn is_installed() -> bool {
    install_crypto();
    CryptoProvider::get_default().is_some()
}
