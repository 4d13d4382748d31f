//! What every transport goes by.
use super::credentials::Plugins;
use std::time::Duration;

/// How the transports of a fleet behave.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TransportSettings {
    /// Deadlines of connections and requests.
    pub limits: Limits,
    /// When a cluster's requests are refused without being sent.
    pub breaker: BreakerSettings,
    /// How credentials are kept fresh.
    pub credentials: CredentialSettings,
}

/// Deadlines of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until a connection stands: name resolution, TCP and TLS together.
    pub connect: Duration,
    /// From sending a request to its response headers, whatever the verb. Covers `connect` too.
    pub first_byte: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(30),
        }
    }
}

/// When a breaker opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerSettings {
    /// How many requests in a row have to fail in transport, none answered in between (5).
    pub failures: u32,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self { failures: 5 }
    }
}

/// How credentials are kept fresh.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CredentialSettings {
    /// After an answer of 401 a token file is read again, and a credential program run again, at most once in this
    /// time (30 s), whatever number of requests is refused.
    pub refused_interval: Duration,
    /// How long a credential program may take (60 s); then it is killed.
    pub plugin_deadline: Duration,
    /// The credential programs that are shared, and how many run at once.
    pub plugins: Plugins,
}

impl Default for CredentialSettings {
    fn default() -> Self {
        Self {
            refused_interval: Duration::from_secs(30),
            plugin_deadline: Duration::from_mins(1),
            plugins: Plugins::default(),
        }
    }
}
