//! What every transport goes by.
use super::credentials::Plugins;
use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

/// How the transports of a fleet behave.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TransportSettings {
    /// Deadlines of connections and requests.
    pub limits: Limits,
    /// How connections are shared.
    pub http2: Http2Settings,
    /// How requests are sent again.
    pub retry: RetrySettings,
    /// How many requests each cluster gets (no limit).
    pub budget: Option<RequestBudget>,
    /// When a cluster's requests are refused without being sent.
    pub breaker: BreakerSettings,
    /// How credentials are kept fresh.
    pub credentials: CredentialSettings,
}

/// Deadlines of a transport. Logs that are followed, `exec`, `attach` and `port-forward` have those up to their first
/// byte only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Until a connection stands: name resolution, the proxy, TCP and TLS together (10 s).
    pub connect: Duration,
    /// From sending a request to its response headers, whatever the verb, and however often it is sent (30 s). Covers
    /// `connect`, and the wait for the request budget.
    pub first_byte: Duration,
    /// Between two pieces of any answer but a watch's (30 s).
    pub body_idle: Duration,
    /// From the headers to the end of any answer but a watch's (5 min).
    pub body_whole: Duration,
    /// How long a watch may stay silent beyond the timeout that the server was given (5 s).
    pub watch_margin: Duration,
    /// How long a watch without a timeout may stay silent (5 min).
    pub watch_idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(30),
            body_idle: Duration::from_secs(30),
            body_whole: Duration::from_mins(5),
            watch_margin: Duration::from_secs(5),
            watch_idle: Duration::from_mins(5),
        }
    }
}

/// How the connections of a cluster are shared, where its server speaks HTTP/2 over TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Http2Settings {
    /// Whether HTTP/2 is offered (true). Without it each watch holds a connection.
    pub enabled: bool,
    /// How long a connection may be silent before it is asked whether it lives (10 s). Together with `ping_timeout` it
    /// is within 20 s that a server is noticed which has stopped but whose connections stand.
    pub ping_interval: Duration,
    /// How long the answer to that may take (5 s); then everything on the connection fails.
    pub ping_timeout: Duration,
    /// After how many watches a further connection is made (90). API servers allow 100 to 250 requests on one.
    pub watches_per_connection: NonZeroUsize,
    /// How long a connection lasts that carries no watch and has no request (30 s, and up to twice that): a cluster at
    /// rest holds one connection. Load balancers drop idle ones without a word, none known before 60 s.
    pub idle_timeout: Duration,
}

impl Default for Http2Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            ping_interval: Duration::from_secs(10),
            ping_timeout: Duration::from_secs(5),
            watches_per_connection: const { NonZeroUsize::new(90).expect("90 is not zero") },
            idle_timeout: Duration::from_secs(30),
        }
    }
}

/// How requests are sent again. All attempts count as one request, and share one first-byte deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetrySettings {
    /// How often a request is sent at most (3); 1 turns retries off.
    pub attempts: u32,
    /// The longest `Retry-After` that is waited for (10 s); of a longer one the caller is told.
    pub longest_wait: Duration,
    /// How long to wait beyond that, or after a connection broke, a fifth more or less (100 ms).
    pub pause: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: 3,
            longest_wait: Duration::from_secs(10),
            pause: Duration::from_millis(100),
        }
    }
}

/// How many requests a cluster gets from this process, all of its clients together. Watches, logs, upgrades and
/// probes do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestBudget {
    /// Requests in a second, in the long run.
    pub per_second: NonZeroU32,
    /// Requests at once, after a time without any.
    pub burst: NonZeroU32,
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
