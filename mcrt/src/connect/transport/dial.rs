//! From an address to a connection on which HTTP can be spoken, within one deadline.
use super::{
    super::{
        connection::Connection,
        credentials::Material,
        error::{ConnectError, Deadline},
    },
    stream::Stream,
    tally::{Tallied, Tally},
    tcp::{Tcp, chain},
    tls::{self, Tls},
};
use http::Uri;
use std::{fmt, future::Future, sync::Arc, time::Duration};
use tokio::time::timeout;
use tower::BoxError;

/// Makes connections to one server. Each attempt is cut off at the connect deadline.
pub(super) struct Dialer {
    server: Uri,
    tcp: Tcp,
    tls: Option<Tls>,
    material: Material,
    within: Duration,
}

/// What a client offers to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// HTTP/2, or HTTP/1.1 where the server does not have it.
    Both,
    /// HTTP/1.1.
    Http1,
}

impl Dialer {
    pub(super) fn new(
        connection: &Connection,
        material: &Material,
        within: Duration,
    ) -> Result<Self, ConnectError> {
        Ok(Self {
            server: connection.server.clone(),
            tcp: Tcp::new(connection.proxy.as_ref()),
            tls: Tls::new(connection, material)?,
            material: material.clone(),
            within,
        })
    }

    /// Whether the server could ever choose HTTP/2, which is agreed on in a handshake of TLS.
    pub(super) fn can_agree(&self) -> bool {
        self.tls.is_some()
    }

    /// What the next connection will show; see [`Material::generation`].
    pub(super) fn generation(&self) -> u64 {
        self.material.generation()
    }

    pub(super) async fn dial(&self, offer: Offer) -> Result<Stream, DialError> {
        self.in_time(self.connect(offer)).await
    }

    /// Cuts off an attempt at the connect deadline.
    pub(super) async fn in_time<T>(
        &self,
        attempt: impl Future<Output = Result<T, DialError>>,
    ) -> Result<T, DialError> {
        match timeout(self.within, attempt).await {
            Ok(done) => done,
            Err(_) => Err(self.failed(Reason::Overdue(self.within))),
        }
    }

    /// Part of an attempt: has no deadline of its own.
    pub(super) async fn connect(&self, offer: Offer) -> Result<Stream, DialError> {
        let tcp = self.tcp.connect(&self.server).await.map_err(|error| {
            let way = if self.tcp.is_proxied() {
                "through the proxy: "
            } else {
                ""
            };
            self.failed(Reason::Tcp(format!("{way}{}", chain(&*error))))
        })?;
        let Some(tls) = &self.tls else {
            return Ok(Stream::Plain(tcp));
        };
        let connector = match offer {
            Offer::Both => &tls.both,
            Offer::Http1 => &tls.http1,
        };
        match connector.connect(tls.name.clone(), tcp).await {
            Ok(stream) => Ok(Stream::Tls(Box::new(stream), Arc::default())),
            Err(error) => Err(self.failed(match tls::explain(&error) {
                Some(reason) => Reason::Tls(reason),
                None => Reason::Tcp(format!("in the TLS handshake: {}", chain(&error))),
            })),
        }
    }

    pub(super) fn failed(&self, reason: Reason) -> DialError {
        DialError(Arc::new(Failed {
            server: self.server.to_string(),
            reason,
            tally: Tally::default(),
        }))
    }
}

/// Why there is no connection. Everybody who waits for the same one gets a clone, and all clones count once.
#[derive(Clone, Debug)]
pub(super) struct DialError(Arc<Failed>);

#[derive(Debug)]
struct Failed {
    server: String,
    reason: Reason,
    tally: Tally,
}

#[derive(Clone, Debug)]
pub(super) enum Reason {
    /// Not within the deadline.
    Overdue(Duration),
    /// No socket, or one that broke.
    Tcp(String),
    /// The two sides do not agree on TLS.
    Tls(String),
    /// The life has ended.
    Ended,
}

impl DialError {
    /// What a request fails with that waited for the connection.
    pub(super) fn for_request(&self, verb: &'static str) -> BoxError {
        Tallied::of(&self.0.tally, self.error(verb))
    }

    fn error(&self, verb: &'static str) -> ConnectError {
        let server = self.0.server.clone();
        match &self.0.reason {
            Reason::Overdue(within) => ConnectError::Overdue {
                verb,
                deadline: Deadline::Connect,
                within: *within,
            },
            Reason::Tcp(reason) => ConnectError::Dial {
                server,
                reason: reason.clone(),
            },
            Reason::Tls(reason) => ConnectError::Handshake {
                server,
                reason: reason.clone(),
            },
            Reason::Ended => ConnectError::Ended,
        }
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: no connection", self.0.server)
    }
}

impl std::error::Error for DialError {}
