//! The secret material of one cluster: what its requests and handshakes show, and how that is kept fresh.
//!
//! Material is no part of a cluster's identity: it is replaced behind a running transport. A request shows what is
//! current when it is sent, a handshake what is current when it is made; what is under way ends as it began.
mod certificate;
mod exec;
mod header;
#[cfg(test)]
mod tests;
mod token_file;

pub use exec::Plugins;

use super::{
    connection::{Connection, Credentials, ExecPlugin},
    error::ConnectError,
    life::Life,
    settings::CredentialSettings,
};
use exec::{Failure, Shared};
use http::HeaderValue;
use parking_lot::Mutex;
use rustls::{client::ResolvesClientCert, sign::CertifiedKey};
use secrecy::ExposeSecret;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use token_file::TokenFile;
use tokio::runtime::Handle;

/// What a cluster's requests and handshakes show. One per transport, shared by all its layers; a cheap handle.
#[derive(Clone)]
pub(super) struct Material(Arc<Inner>);

struct Inner {
    /// The context's name, for errors.
    context: String,
    settings: CredentialSettings,
    /// Held for copies only.
    shown: Mutex<Shown>,
    generation: AtomicU64,
}

#[derive(Clone)]
struct Shown {
    fingerprint: u64,
    source: Source,
    certificate: Option<Arc<CertifiedKey>>,
}

/// Where the header comes from.
#[derive(Clone)]
enum Source {
    None,
    Fixed(HeaderValue),
    File(Arc<TokenFile>),
    Exec(Exec),
}

/// A credential program, and what it is called in errors.
#[derive(Clone)]
struct Exec {
    command: Arc<str>,
    shared: Arc<Shared>,
}

impl Material {
    /// What a connection shows, kept fresh for as long as `life` lasts. Reads no file, runs no program.
    pub(super) fn new(
        connection: &Connection,
        settings: &CredentialSettings,
        life: &Life,
    ) -> Result<Self, ConnectError> {
        let mut shown = Shown::of(connection)?;
        if let Credentials::Exec(plugin) = &connection.credentials {
            shown.source = Source::Exec(Exec::leased(plugin, settings, life)?);
        }
        Ok(Self(Arc::new(Inner {
            context: connection.context.clone(),
            shown: Mutex::new(shown),
            settings: settings.clone(),
            generation: AtomicU64::new(0),
        })))
    }

    /// Goes on with the material of another connection of the same identity; true if it differs.
    ///
    /// Material that cannot be used leaves the last good in place.
    pub(super) fn replace(&self, connection: &Connection) -> Result<bool, ConnectError> {
        if self.0.shown.lock().fingerprint == connection.fingerprint() {
            return Ok(false);
        }
        let mut next = Shown::of(connection)?;
        let mut shown = self.0.shown.lock();
        if matches!(shown.source, Source::File(_) | Source::Exec(_)) {
            // Path and program are part of the identity: what has been got from there still holds.
            next.source = shown.source.clone();
        }
        let other_certificate = !certificate::same(shown.certificate.as_ref(), next.certificate.as_ref());
        *shown = next;
        if other_certificate {
            self.0.generation.fetch_add(1, Relaxed);
        }
        Ok(true)
    }

    /// The `Authorization` header for the next request, if there is one. Waits for a credential program only while
    /// nothing that it gave is valid.
    pub(super) async fn header(&self) -> Result<Option<HeaderValue>, ConnectError> {
        let source = self.0.shown.lock().source.clone();
        match source {
            Source::None => Ok(None),
            Source::Fixed(header) => Ok(Some(header)),
            Source::File(file) => file.header().await.map(Some),
            Source::Exec(exec) => {
                let header = exec.shared.header().await;
                header.map_err(|why| self.failed(&exec.command, why))
            }
        }
    }

    /// Why [`header`](Self::header) was given up before it was there.
    pub(super) fn overdue(&self) -> ConnectError {
        match &self.0.shown.lock().source {
            Source::File(file) => file.failed("is still being read".into()),
            Source::Exec(exec) => self.failed(&exec.command, Failure::Running),
            // Nothing is waited for then.
            Source::None | Source::Fixed(_) => ConnectError::Ended,
        }
    }

    fn failed(&self, command: &str, why: Failure) -> ConnectError {
        match why {
            Failure::Stopped => ConnectError::Ended,
            why => ConnectError::Plugin {
                context: self.0.context.clone(),
                command: command.to_owned(),
                reason: why.to_string(),
            },
        }
    }

    /// The client certificate to show at the next handshake.
    pub(super) fn certificate(&self) -> Option<Arc<CertifiedKey>> {
        let shown = self.0.shown.lock();
        match &shown.source {
            Source::Exec(exec) => exec.shared.certificate(),
            _ => shown.certificate.clone(),
        }
    }

    /// Counts changes of the certificate: a connection made under an older one takes no further requests.
    pub(super) fn generation(&self) -> u64 {
        let replaced = self.0.generation.load(Relaxed);
        match &self.0.shown.lock().source {
            Source::Exec(exec) => replaced + exec.shared.generation(),
            _ => replaced,
        }
    }

    /// Whether handshakes show a certificate, now or later. Sessions of such a client must not be resumed: they would
    /// go on under the certificate that began them.
    pub(super) fn shows_certificates(&self) -> bool {
        let shown = self.0.shown.lock();
        shown.certificate.is_some() || matches!(shown.source, Source::Exec(_))
    }

    /// A request sent under this header, at this [generation](Self::generation), was answered with 401: refreshes what
    /// can be refreshed, at most once per interval. True if there is something else to show now, so that asking again
    /// is worth it.
    pub(super) async fn refused(&self, sent: Option<&HeaderValue>, generation: u64) -> bool {
        if self.generation() != generation {
            return true;
        }
        let source = self.0.shown.lock().source.clone();
        match source {
            Source::None => false,
            Source::Fixed(header) => sent != Some(&header),
            Source::File(file) => file.refused(sent, self.0.settings.refused_interval).await,
            Source::Exec(exec) => exec.shared.refused(sent, exec.shared.generation()).await,
        }
    }

    /// The resolver for TLS configurations: asks for the certificate at each handshake.
    pub(super) fn resolver(&self) -> Arc<dyn ResolvesClientCert> {
        Arc::new(certificate::Resolver(self.clone()))
    }
}

impl Shown {
    fn of(connection: &Connection) -> Result<Self, ConnectError> {
        let certificate = match &connection.identity {
            None => None,
            Some(identity) => Some(
                certificate::parse(&identity.certificate, identity.key.expose_secret().as_bytes()).map_err(
                    |reason| ConnectError::ClientCertificate {
                        context: connection.context.clone(),
                        reason,
                    },
                )?,
            ),
        };
        Ok(Self {
            fingerprint: connection.fingerprint(),
            source: Source::of(&connection.credentials),
            certificate,
        })
    }
}

impl Exec {
    /// Gives the program back when `life` ends, which waits until it is gone if nobody else uses it.
    fn leased(
        plugin: &Arc<ExecPlugin>,
        settings: &CredentialSettings,
        life: &Life,
    ) -> Result<Self, ConnectError> {
        let runtime = Handle::try_current().map_err(|_| ConnectError::NoRuntime)?;
        let lease = settings.plugins.lease(plugin, settings, &runtime);
        let shared = Arc::clone(lease.shared());
        let ward = life.ward().clone();
        let ended = ward.token().clone();
        ward.spawn_to_the_end(async move {
            ended.cancelled().await;
            lease.end().await;
        });
        Ok(Self {
            command: plugin.command.display().to_string().into(),
            shared,
        })
    }
}

impl Source {
    /// Vetting has seen to it that fixed texts fit a header; if not, the server's 401 tells.
    fn of(credentials: &Credentials) -> Self {
        let fixed = |header: Option<HeaderValue>| header.map_or(Self::None, Self::Fixed);
        match credentials {
            Credentials::Token(token) => fixed(header::bearer(token.expose_secret())),
            Credentials::Basic(user, password) => fixed(header::basic(user, password.expose_secret())),
            Credentials::TokenFile(path) => Self::File(Arc::new(TokenFile::new(path.clone()))),
            // Programs are leased, which takes a life.
            Credentials::None | Credentials::Exec(_) => Self::None,
        }
    }
}

/// Nothing of the material.
impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material")
            .field("context", &self.0.context)
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}
