//! What every transport goes by.
use std::time::Duration;

/// How the transports of a fleet behave.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TransportSettings {
    /// Deadlines of connections and requests.
    pub limits: Limits,
    /// When a cluster's requests are refused without being sent.
    pub breaker: BreakerSettings,
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
