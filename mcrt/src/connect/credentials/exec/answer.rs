//! What a credential program prints: an `ExecCredential`.
use super::{
    super::{
        super::{certificate::not_after, connection::ExecPlugin},
        certificate, header,
    },
    failure::Failure,
};
use http::HeaderValue;
use rustls::sign::CertifiedKey;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

/// What a program gave.
#[derive(Clone)]
pub(in super::super) struct Credential {
    pub(in super::super) header: Option<HeaderValue>,
    pub(in super::super) certificate: Option<Arc<CertifiedKey>>,
    /// How long it is good for, from when it was read. None: until a server refuses it.
    pub(in super::super) lasts: Option<Duration>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    api_version: Option<String>,
    kind: Option<String>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    token: Option<SecretString>,
    client_certificate_data: Option<SecretString>,
    client_key_data: Option<SecretString>,
    expiration_timestamp: Option<String>,
}

/// Reads the output of a program. Blocks for as long as a mebibyte of YAML takes.
pub(in super::super) fn read(
    plugin: &ExecPlugin,
    output: &[u8],
    now: SystemTime,
) -> Result<Credential, Failure> {
    let status = status(plugin, output)?;
    let token = present(status.token.as_ref());
    let header = match token {
        Some(token) => Some(header::bearer(token).ok_or(Failure::Token)?),
        None => None,
    };
    let certificate = match (
        present(status.client_certificate_data.as_ref()),
        present(status.client_key_data.as_ref()),
    ) {
        (None, None) => None,
        (Some(_), None) => return Err(Failure::LoneCertificate),
        (None, Some(_)) => return Err(Failure::LoneKey),
        (Some(certificate), Some(key)) => {
            let parsed = certificate::parse(certificate.as_bytes(), key.as_bytes());
            Some(parsed.map_err(Failure::Certificate)?)
        }
    };
    if header.is_none() && certificate.is_none() {
        return Err(Failure::Empty);
    }
    let expiry = expiry(status.expiration_timestamp.as_deref())?;
    let of_certificate = certificate
        .as_ref()
        .and_then(|shown| not_after(shown.end_entity_cert().ok()?));
    let lasts = match expiry.into_iter().chain(of_certificate).min() {
        None => None,
        Some(end) => Some(end.duration_since(now).map_err(|_| Failure::Expired)?),
    };
    if lasts.is_some_and(|lasts| lasts.is_zero()) {
        return Err(Failure::Expired);
    }
    Ok(Credential {
        header,
        certificate,
        lasts,
    })
}

/// JSON, or YAML as `kubectl` takes it. What the parsers say is left out: it quotes the output.
fn status(plugin: &ExecPlugin, output: &[u8]) -> Result<Status, Failure> {
    let credential: ExecCredential = if let Ok(credential) = serde_json::from_slice(output) {
        credential
    } else {
        let text = std::str::from_utf8(output).map_err(|_| Failure::NotACredential)?;
        serde_saphyr::from_str(text).map_err(|_| Failure::NotACredential)?
    };
    if credential.kind.as_deref() != Some("ExecCredential") {
        return Err(Failure::NotACredential);
    }
    if credential.api_version.as_deref() != Some(&*plugin.api_version) {
        return Err(Failure::OtherVersion(plugin.api_version.clone()));
    }
    credential.status.ok_or(Failure::NoStatus)
}

fn present(secret: Option<&SecretString>) -> Option<&str> {
    secret
        .map(|secret| secret.expose_secret().trim())
        .filter(|text| !text.is_empty())
}

fn expiry(text: Option<&str>) -> Result<Option<SystemTime>, Failure> {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => {
            let time: jiff::Timestamp = text.parse().map_err(|_| Failure::Expiry)?;
            Ok(Some(time.into()))
        }
    }
}
