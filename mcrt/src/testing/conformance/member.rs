//! The clusters that a provider is to find: where they are, and who may enter.
use super::{
    outside::Outside,
    reach::{Port, Reach, Way},
    site::Clients,
};
use crate::connect::ServiceAccess;
use kube::Client;
use mcrt_sim::{Server, User};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The token of the kit's own clients.
pub(super) const ADMIN: &str = "conformance-admin";

/// A cluster of a [`Site`](super::Site). Clones are the same.
#[derive(Clone)]
pub struct Member(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) clients: Arc<Clients>,
}

/// Where a member is.
pub(super) enum Place {
    /// In this process.
    Memory(Server),
    /// In this process, behind a port.
    #[cfg(feature = "sim-tls")]
    Port {
        server: Server,
        listener: mcrt_sim::Listener,
        ca_pem: String,
    },
    /// Anywhere.
    Outside(Outside),
    /// An address where connections are taken and nothing is ever answered.
    Silent {
        socket: std::net::TcpListener,
        ca_pem: String,
    },
}

/// Counts credentials, so that no two are alike.
static CREDENTIALS: AtomicU64 = AtomicU64::new(1);

impl Member {
    pub(super) fn new(name: String, place: Place, clients: Arc<Clients>) -> Self {
        if let Some(server) = place.server() {
            server.add_token(ADMIN, User::admin(ADMIN).group("system:masters"));
        }
        Self(Arc::new(Inner { name, place, clients }))
    }

    /// What the kit calls it, in messages.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// A way to it, with credentials that no other way has: enough to reconcile objects there.
    ///
    /// # Panics
    /// If the credentials cannot be made.
    pub async fn reach(&self) -> Reach {
        let number = CREDENTIALS.fetch_add(1, Relaxed);
        let token = format!("token-{number}");
        let admit = |server: &Server| {
            server.add_token(&token, User::admin(format!("user-{number}")));
        };
        let port = |url: &str, ca_pem: &str, token: String| {
            Way::Port(Port {
                url: url.to_owned(),
                ca_pem: ca_pem.to_owned(),
                token,
            })
        };
        Reach(match &self.0.place {
            Place::Memory(server) => {
                admit(server);
                let service = server.service().with_token(&token);
                let identity = format!("sim://{}/{}", server.name(), server.uid());
                let access = ServiceAccess::new(identity, service).revision(number);
                Way::Memory { access, token }
            }
            #[cfg(feature = "sim-tls")]
            Place::Port {
                server,
                listener,
                ca_pem,
            } => {
                admit(server);
                port(listener.url(), ca_pem, token)
            }
            Place::Outside(outside) => {
                let token = outside.admit(&self.client(), number).await;
                port(&outside.url, &outside.ca_pem, token)
            }
            Place::Silent { socket, ca_pem } => {
                let address = socket.local_addr();
                let address = address.unwrap_or_else(|error| panic!("a socket without an address: {error}"));
                port(&format!("https://{address}"), ca_pem, token)
            }
        })
    }

    /// Takes the credentials of a way back: from now on they are answered with 401.
    ///
    /// # Panics
    /// If that cannot be done.
    pub async fn revoke(&self, reach: &Reach) {
        if let Some(server) = self.server() {
            server.remove_token(reach.token());
            // As some servers do: what was begun with the old credentials does not go on.
            server.disconnect_watches();
        } else if let Place::Outside(outside) = &self.0.place {
            outside.revoke(&self.client(), reach.token()).await;
        }
    }

    /// A client that may do everything. Ask for one when it is needed and do not keep it.
    ///
    /// # Panics
    /// If it cannot be built.
    pub fn client(&self) -> Client {
        let place = &self.0.place;
        match (place, place.server()) {
            (_, Some(server)) => self.0.clients.of_server(server),
            (Place::Outside(outside), _) => self.0.clients.of(&outside.url, &outside.access),
            _ => panic!("nobody answers at {}", self.0.name),
        }
    }

    /// The simulated server, if it is one: for faults and counters.
    pub fn server(&self) -> Option<&Server> {
        self.0.place.server()
    }
}

impl Place {
    pub(super) fn server(&self) -> Option<&Server> {
        match self {
            Self::Memory(server) => Some(server),
            #[cfg(feature = "sim-tls")]
            Self::Port { server, .. } => Some(server),
            _ => None,
        }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Member").field(&self.0.name).finish()
    }
}
