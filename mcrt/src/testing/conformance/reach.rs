//! How a cluster is to be described to a provider: an address, an authority and a token, or a service in this process.
use crate::connect::{Access, Connection, Policy, Rejected, ServiceAccess};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use std::fmt;

/// A way to a member, with credentials of its own: no two are alike.
#[derive(Clone)]
pub struct Reach(pub(super) Way);

#[derive(Clone)]
pub(super) enum Way {
    /// A server in this process, without a socket.
    Memory { access: ServiceAccess, token: String },
    /// A server at an address.
    Port(Port),
}

/// What a kubeconfig says.
#[derive(Clone)]
pub(super) struct Port {
    pub(super) url: String,
    pub(super) ca_pem: String,
    pub(super) token: String,
}

impl Reach {
    /// As the provider is to describe it in the end.
    ///
    /// # Panics
    /// If the member's own server calls itself something that is no address.
    pub fn access(&self) -> Access {
        match &self.0 {
            Way::Memory { access, .. } => access.clone().into(),
            Way::Port(_) => match self.connection() {
                Ok(connection) => connection.into(),
                Err(error) => panic!("the kubeconfig of a member cannot be used: {error}"),
            },
        }
    }

    pub(super) fn connection(&self) -> Result<Connection, Rejected> {
        let policy = Policy::strict().allow_local_servers();
        Connection::from_bytes(self.kubeconfig("member"), None, &policy)
    }

    /// A kubeconfig with one context, everything inline, as a Secret or a file has it.
    ///
    /// # Panics
    /// If the member has no address: see [`Site::served`](super::Site::served).
    pub fn kubeconfig(&self, context: &str) -> String {
        Self::kubeconfig_of([(context, self)])
    }

    /// A kubeconfig with several contexts, the first of them current.
    ///
    /// # Panics
    /// As [`kubeconfig`](Self::kubeconfig).
    pub fn kubeconfig_of<'a>(contexts: impl IntoIterator<Item = (&'a str, &'a Self)>) -> String {
        let (mut clusters, mut users, mut pairs) = (Vec::new(), Vec::new(), Vec::<Value>::new());
        for (context, reach) in contexts {
            let port = reach.port();
            let ca = ByteString(port.ca_pem.as_bytes().to_vec());
            clusters.push(json!({
                "name": context,
                "cluster": {"server": port.url, "certificate-authority-data": ca},
            }));
            users.push(json!({"name": context, "user": {"token": port.token}}));
            pairs.push(json!({"name": context, "context": {"cluster": context, "user": context}}));
        }
        let current = pairs.first().map_or(Value::Null, |pair| pair["name"].clone());
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": current,
            "clusters": clusters, "users": users, "contexts": pairs,
        })
        .to_string()
    }

    /// The address, for descriptions that are no kubeconfig.
    ///
    /// # Panics
    /// As [`kubeconfig`](Self::kubeconfig).
    pub fn server(&self) -> &str {
        &self.port().url
    }

    /// The certificate of the authority to trust.
    ///
    /// # Panics
    /// As [`kubeconfig`](Self::kubeconfig).
    pub fn ca_pem(&self) -> &str {
        &self.port().ca_pem
    }

    /// The bearer token, which is good until [`Member::revoke`](super::Member::revoke).
    pub fn token(&self) -> &str {
        match &self.0 {
            Way::Memory { token, .. } => token,
            Way::Port(port) => &port.token,
        }
    }

    fn port(&self) -> &Port {
        match &self.0 {
            Way::Port(port) => port,
            Way::Memory { .. } => {
                panic!("this member has no address: use a `Site` whose members are served on ports")
            }
        }
    }
}

/// Shows no token.
impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to = match &self.0 {
            Way::Memory { access, .. } => format!("{access:?}"),
            Way::Port(port) => port.url.clone(),
        };
        f.debug_tuple("Reach").field(&to).finish()
    }
}
