//! The ways to reach a cluster, and the step from each to a client.
use super::{
    breaker::Breaker,
    connection::Connection,
    credentials::Material,
    error::{ConnectError, Rejected},
    guard,
    life::Life,
    policy::Policy,
    service::{ServiceAccess, Slot},
    settings::TransportSettings,
    shared::{Base, Member},
    transport,
};
use bytes::Bytes;
use http::{Request, Response};
use kube::client::Body as KubeBody;
use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Weak},
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
    /// A part of an API server that serves many clusters.
    Member(Member),
}

/// The way to one cluster in one life: its client, the breaker before it, the secret material behind it.
#[derive(Clone, Debug)]
pub struct Transport {
    client: Client,
    breaker: Breaker,
    secret: Secret,
    /// Of a member: whose part it is, and which. It does not hold the server.
    shared: Option<(Weak<Base>, Arc<str>)>,
}

/// What can be replaced behind the client.
#[derive(Clone)]
pub(super) enum Secret {
    Material(Material),
    Service(Slot),
    /// That of the server.
    Member(Weak<Base>),
}

impl Secret {
    /// See [`Transport::replace_material`].
    pub(super) fn replace(&self, access: &Access) -> Result<bool, ConnectError> {
        match (self, access) {
            (Self::Material(material), Access::Connection(connection)) => material.replace(connection),
            (Self::Service(slot), Access::Service(service)) => Ok(slot.replace(service)),
            (Self::Member(base), Access::Member(member)) => match base.upgrade() {
                Some(base) => base.replace_material(&member.of().access()),
                None => Ok(false),
            },
            // Of another identity: no way to go on.
            _ => Ok(false),
        }
    }
}

impl Transport {
    /// The client, whose requests pass the breaker.
    pub fn client(&self) -> kube::Client {
        self.client.0.clone()
    }

    /// The breaker before the client.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Goes on with the secret material of an access of the same [identity](Access::identity), behind the same
    /// client: what is under way ends as it began, what comes next shows the new material. True if it differs.
    ///
    /// Material that cannot be used is an error, and leaves the last good in place.
    pub fn replace_material(&self, access: &Access) -> Result<bool, ConnectError> {
        self.secret.replace(access)
    }

    /// The server that the cluster is a part of, and which part; none for a server of its own, and once the last
    /// member has left.
    pub(crate) fn shared(&self) -> Option<(Arc<Base>, Arc<str>)> {
        let (base, key) = self.shared.as_ref()?;
        Some((base.upgrade()?, Arc::clone(key)))
    }
}

/// kube's client has no `Debug`.
#[derive(Clone)]
struct Client(kube::Client);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

/// Nothing of what is secret.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
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
        Self::Service(ServiceAccess::new(identity, service))
    }

    /// What tells one cluster from another: server, authorities, names, and as what kind of user one comes, without
    /// any secret material. Equal means the same life.
    pub fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Connection(connection) => (0u8, connection.identity()).hash(&mut hasher),
            Self::Service(service) => (1u8, &service.identity).hash(&mut hasher),
            Self::Member(member) => (2u8, member.identity()).hash(&mut hasher),
        }
        hasher.finish()
    }

    /// What tells one cluster from another, whoever comes and as whom: two that are equal lead to one server.
    pub(crate) fn place(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Connection(connection) => (0u8, connection.place()).hash(&mut hasher),
            Self::Service(service) => (1u8, &service.identity).hash(&mut hasher),
            Self::Member(member) => (2u8, member.identity()).hash(&mut hasher),
        }
        hasher.finish()
    }

    /// What tells this way from another: its [identity](Self::identity) and all of its secret material.
    ///
    /// The contents of certificate and key files count; a token file counts by its path, because it is read again
    /// while the client lives, and so does a credential program by its description. The value is stable within one
    /// build of the program and is not for storing.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Connection(connection) => (0u8, connection.fingerprint()).hash(&mut hasher),
            Self::Service(service) => (1u8, &service.identity, service.revision).hash(&mut hasher),
            Self::Member(member) => (2u8, member.identity(), member.fingerprint()).hash(&mut hasher),
        }
        hasher.finish()
    }

    /// Builds a client whose tasks belong to `life`. Dials nothing, runs no program.
    pub fn connect(&self, settings: &TransportSettings, life: &Life) -> Result<Transport, ConnectError> {
        let breaker = Breaker::new(settings.breaker);
        let mut shared = None;
        let (client, secret) = match self {
            Self::Connection(connection) => {
                let material = Material::new(connection, &settings.credentials, life)?;
                let client = transport::client(connection, &material, settings, &breaker, life)?;
                (client, Secret::Material(material))
            }
            Self::Service(service) => {
                let slot = Slot::new(service);
                let client = guard::client(slot.clone(), "default".into(), settings, &breaker, life)?;
                (client, Secret::Service(slot))
            }
            Self::Member(member) => {
                let seat = member.join(settings, life)?;
                let base = Arc::downgrade(seat.base());
                shared = Some((Weak::clone(&base), Arc::clone(seat.key())));
                let namespace = seat.namespace();
                let client = guard::client(seat, namespace, settings, &breaker, life)?;
                (client, Secret::Member(base))
            }
        };
        Ok(Transport {
            client: Client(client),
            breaker,
            secret,
            shared,
        })
    }

    /// What lies behind a client: where requests go out, the namespace of whoever names none, what can be replaced.
    pub(super) fn way(
        &self,
        settings: &TransportSettings,
        life: &Life,
    ) -> Result<(Slot, String, Secret), ConnectError> {
        Ok(match self {
            Self::Connection(connection) => {
                let material = Material::new(connection, &settings.credentials, life)?;
                let service = transport::service(connection, &material, settings, life)?;
                let slot = Slot::new(&service);
                (slot, connection.namespace.clone(), Secret::Material(material))
            }
            Self::Service(service) => {
                let slot = Slot::new(service);
                (slot.clone(), "default".to_owned(), Secret::Service(slot))
            }
            Self::Member(member) => {
                let seat = member.join(settings, life)?;
                let (namespace, secret) = (seat.namespace(), Secret::Member(Arc::downgrade(seat.base())));
                let slot = Slot::new(&ServiceAccess::new(member.server(), seat));
                (slot, namespace, secret)
            }
        })
    }

    /// Builds a client for whoever does not probe: nothing stands before it that only a probe would open again.
    pub fn client(&self, settings: &TransportSettings, life: &Life) -> Result<kube::Client, ConnectError> {
        let mut settings = settings.clone();
        settings.breaker.failures = u32::MAX;
        self.connect(&settings, life).map(|transport| transport.client())
    }

    /// The same credentials at another address, such as another server behind one front, or a path on the same one. The
    /// address is vetted by the policy, as that of a kubeconfig is; what is said of the former server's name does not
    /// count for another one. A service is asked for the paths of the address.
    ///
    /// # Errors
    /// If the address is none, or the policy does not allow it.
    pub fn at(&self, address: &str, policy: &Policy) -> Result<Self, Rejected> {
        match self {
            Self::Connection(connection) => connection.at(address, policy).map(Self::from),
            Self::Service(service) => service.clone().at(address).map(Self::from),
            Self::Member(member) => member.of().access().at(address, policy),
        }
    }

    /// Where it leads: an address, or the identity of a service.
    pub fn server(&self) -> String {
        match self {
            Self::Connection(connection) => connection.server(),
            Self::Service(service) => service.identity.clone(),
            Self::Member(member) => member.server(),
        }
    }
}

impl From<Connection> for Access {
    fn from(connection: Connection) -> Self {
        Self::Connection(Box::new(connection))
    }
}
