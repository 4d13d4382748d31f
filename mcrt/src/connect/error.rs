//! Why a cluster cannot be described, and why it cannot be reached.
use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

/// Why a kubeconfig, or one context of it, cannot be used.
///
/// Texts name the context and the path of the field, never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// The file could not be read.
    #[error("kubeconfig {}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said, or what the file lacks.
        reason: String,
    },
    /// The text is not a kubeconfig. The parser's own words are left out: they quote the file.
    #[error("not a kubeconfig{place}: correct the YAML there")]
    Syntax {
        /// Line, column and the field near it, as far as they are known.
        place: String,
    },
    /// The text is not read at all, or not as one kubeconfig.
    #[error("not a kubeconfig: {reason}")]
    Unreadable {
        /// What is wrong with it as a whole.
        reason: &'static str,
    },
    /// No context was asked for and the kubeconfig has no `current-context`.
    #[error(
        "the kubeconfig has no current-context: name a context, or set one with `kubectl config use-context`"
    )]
    NoCurrentContext,
    /// There is no context of that name.
    #[error("context `{context}`: not in the kubeconfig")]
    NoContext {
        /// The context that was asked for.
        context: String,
    },
    /// The context names a cluster or user that does not exist.
    #[error("context `{context}`: {kind}s[{name}]: no such {kind} in the kubeconfig")]
    Absent {
        /// The context that was asked for.
        context: String,
        /// `cluster` or `user`.
        kind: &'static str,
        /// The name that the context gives.
        name: String,
    },
    /// A field that the operator's [`Policy`](super::Policy) does not let through.
    #[error("context `{context}`: {field}: {reason}")]
    Forbidden {
        /// The context that was asked for.
        context: String,
        /// Path of the field, such as `users[admin].user.exec`.
        field: String,
        /// What it would do, what to do instead, and how the operator can allow it.
        reason: &'static str,
    },
    /// A field that no policy lets through.
    #[error("context `{context}`: {field}: {reason}")]
    Unsupported {
        /// The context that was asked for.
        context: String,
        /// Path of the field, such as `users[admin].user.auth-provider`; of what it stands in, where the field is not
        /// known.
        field: String,
        /// Why, and what to do instead.
        reason: String,
    },
    /// A field whose value cannot be used.
    #[error("context `{context}`: {field}: {reason}")]
    Invalid {
        /// The context that was asked for.
        context: String,
        /// Path of the field, such as `clusters[prod].cluster.server`.
        field: String,
        /// What is wrong with the value, without the value.
        reason: String,
    },
    /// The process does not run inside a cluster, or its service account is not mounted.
    #[error("not in a cluster: {reason}")]
    NotInCluster {
        /// What is missing.
        reason: String,
    },
}

impl Rejected {
    /// Whether the context names something that is not in the kubeconfig, itself included.
    pub fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::NoContext { .. } | Self::Absent { .. } | Self::NoCurrentContext
        )
    }
}

/// Why a cluster could not be reached, or its client not be built.
///
/// Clients of this module report these inside of `kube::Error`; [`ConnectError::within`] finds them there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The certificates or names do not make a TLS configuration. Details are left out: they quote key files.
    #[error("{server}: the certificate authority, client certificate or TLS server name cannot be used")]
    Tls {
        /// The API server.
        server: String,
    },
    /// Clients need a runtime for their tasks.
    #[error("a client can only be built inside a tokio runtime")]
    NoRuntime,
    /// The API server sent no response headers in time.
    #[error("no response from the API server within {within:?}")]
    NoResponse {
        /// The deadline.
        within: Duration,
    },
    /// Something before the API server answered, and could not reach it.
    #[error("something before the API server answered {status}: it cannot reach the API server")]
    Gateway {
        /// The status of the answer: 502, 503 or 504.
        status: u16,
    },
    /// A request, or its answer, took longer than it may.
    #[error("{verb}: {deadline}: not within {within:?}")]
    Overdue {
        /// kube's name of the call, or the method.
        verb: &'static str,
        /// Which deadline has passed.
        deadline: Deadline,
        /// How long it gave.
        within: Duration,
    },
    /// No connection to the API server, or to the proxy before it.
    #[error("{server}: cannot be connected to: {reason}")]
    Dial {
        /// The API server.
        server: String,
        /// What the operating system, the resolver or the proxy said.
        reason: String,
    },
    /// The server is not believed, or does not believe us: its certificate or ours, or no common version of TLS.
    #[error("{server}: no TLS connection: {reason}")]
    Handshake {
        /// The API server.
        server: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The program has no cryptography for TLS.
    #[error(
        "no cryptography for TLS: turn on mcrt's feature `ring` or `aws-lc-rs`, or install a provider of rustls"
    )]
    NoCrypto,
    /// A field of the user that is to be impersonated cannot be sent.
    #[error("impersonation: `{field}` has characters that no header can carry")]
    Impersonation {
        /// The field, as kubeconfigs name it.
        field: &'static str,
    },
    /// The token file could not be read, or holds no token.
    #[error("token file {}: {reason}", .path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What the operating system said, or what the file lacks.
        reason: String,
    },
    /// A credential program gave nothing. What it printed is left out: it may be secret.
    #[error("context `{context}`: credential program {command}: {reason}")]
    Plugin {
        /// The context whose user it is.
        context: String,
        /// The program, without its arguments.
        command: String,
        /// What it did wrong, and what to do.
        reason: String,
    },
    /// The client certificate or its key cannot be used.
    #[error("context `{context}`: client certificate: {reason}")]
    ClientCertificate {
        /// The context that it came from.
        context: String,
        /// What is wrong with it, without quoting it.
        reason: &'static str,
    },
    /// The breaker is open: the cluster is not reachable or suspended, and the request was not sent, or was given up.
    #[error("the cluster has been unreachable or suspended for {} s: requests fail at once until it is back", .since.elapsed().as_secs())]
    BreakerOpen {
        /// When it opened.
        since: tokio::time::Instant,
    },
    /// This replica may not work on the cluster any more: it could not renew its session, and another may take over.
    #[error(
        "this replica's session has run out: another may be working on the cluster, nothing is sent to it"
    )]
    NotOurs,
    /// The life that the client was made for has ended.
    #[error("the cluster was disengaged: its client is closed")]
    Ended,
    /// The transport failed: name resolution, TCP, TLS or a connection that broke.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(#[source] Box<kube::Error>),
    /// What several clusters of one [`SharedServer`](super::SharedServer) asked together failed.
    #[error(transparent)]
    Shared(Arc<ConnectError>),
}

/// What did not come in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deadline {
    /// A connection: name resolution, the proxy, TCP and TLS together.
    Connect,
    /// A turn within the cluster's request budget.
    Budget,
    /// The headers of the answer.
    FirstByte,
    /// More of the answer.
    Idle,
    /// The end of the answer.
    Whole,
}

impl fmt::Display for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection (connect deadline)",
            Self::Budget => "no turn within the request budget",
            Self::FirstByte => "no answer (first-byte deadline)",
            Self::Idle => "nothing more of the answer (idle deadline)",
            Self::Whole => "no end of the answer (whole-body deadline)",
        })
    }
}

impl ConnectError {
    /// Whether the way to the API server is to blame: not a setting or a credential, and not an end that was wanted.
    /// It decides over the breaker, and over whether a cluster counts as unreachable or as unauthorized.
    pub(crate) fn is_of_transport(&self) -> bool {
        match self {
            // A turn within our own budget is for us to give.
            Self::Overdue { deadline, .. } => *deadline != Deadline::Budget,
            Self::NoResponse { .. }
            | Self::Gateway { .. }
            | Self::Dial { .. }
            | Self::Handshake { .. }
            | Self::Unreachable(_) => true,
            Self::Shared(error) => error.is_of_transport(),
            Self::Tls { .. }
            | Self::NoRuntime
            | Self::NoCrypto
            | Self::Impersonation { .. }
            | Self::TokenFile { .. }
            | Self::Plugin { .. }
            | Self::ClientCertificate { .. }
            | Self::BreakerOpen { .. }
            | Self::NotOurs
            | Self::Ended => false,
        }
    }

    /// Whether it is about credentials that this side does not have, so that no request was sent: nothing is known of
    /// the server.
    pub fn is_about_credentials(&self) -> bool {
        match self {
            Self::Shared(error) => error.is_about_credentials(),
            error => matches!(
                error,
                Self::TokenFile { .. } | Self::Plugin { .. } | Self::ClientCertificate { .. }
            ),
        }
    }

    /// The error of this module that is the cause of another, such as a `kube::Error`.
    pub fn within<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let found = std::iter::successors(Some(error), |error| error.source())
            .find_map(|error| error.downcast_ref())?;
        match found {
            Self::Shared(error) => Some(error),
            error => Some(error),
        }
    }
}
