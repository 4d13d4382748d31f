//! The ways to reach a cluster, and the step from each to a client.
use super::{connection::Connection, error::ConnectError, guard, life::Life, transport};
use bytes::Bytes;
use http::{Request, Response};
use kube::client::Body as KubeBody;
use parking_lot::Mutex;
use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};
use tower::{BoxError, Service};

/// How to reach one cluster.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Access {
    /// An API server at an address.
    Connection(Box<Connection>),
    /// An API server in this process, or anything that answers like one.
    Service(ServiceAccess),
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

impl Access {
    /// Reaches a cluster through a tower service: any that `kube::Client::new` takes.
    ///
    /// The identity stands for the address: a service with another identity is another cluster.
    pub fn service<S, B>(identity: impl Into<String>, service: S) -> Self
    where
        S: Service<Request<KubeBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        // The mutex only makes services shareable that are not `Sync`; it is held for one clone.
        let service = Mutex::new(service);
        Self::Service(ServiceAccess {
            identity: identity.into(),
            connect: Arc::new(move |first_byte, life| {
                let service = service.lock().clone();
                guard::client(service, "default".into(), first_byte, life)
            }),
        })
    }

    /// What tells this way from another: server, certificates, names, credentials. Equal means the same life.
    ///
    /// The contents of certificate and key files count; a token file counts by its path, because it is read again
    /// while the client lives. The value is stable within one build of the program and is not for storing.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Connection(connection) => {
                0u8.hash(&mut hasher);
                connection.fingerprint(&mut hasher);
            }
            Self::Service(service) => {
                1u8.hash(&mut hasher);
                service.identity.hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Builds a client whose tasks belong to `life`. Dials nothing, runs no program.
    pub fn connect(&self, limits: &Limits, life: &Life) -> Result<kube::Client, ConnectError> {
        match self {
            Self::Connection(connection) => transport::client(connection, limits, life),
            Self::Service(service) => (service.connect)(limits.first_byte, life),
        }
    }

    /// Where it leads: an address, or the identity of a service.
    pub fn server(&self) -> String {
        match self {
            Self::Connection(connection) => connection.server(),
            Self::Service(service) => service.identity.clone(),
        }
    }
}

impl From<Connection> for Access {
    fn from(connection: Connection) -> Self {
        Self::Connection(Box::new(connection))
    }
}

/// A cluster reached through a tower service; see [`Access::service`].
#[derive(Clone)]
pub struct ServiceAccess {
    identity: String,
    connect: Arc<ConnectService>,
}

type ConnectService = dyn Fn(Duration, &Life) -> Result<kube::Client, ConnectError> + Send + Sync;

impl fmt::Debug for ServiceAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Service").field(&self.identity).finish()
    }
}
