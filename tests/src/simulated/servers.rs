//! Servers in memory and the provider that names them.

use std::{collections::BTreeMap, sync::Arc};

use mcrt::{ClusterName, Properties, connect::Access, provider::ClusterSpec, providers::Clusters};
use mcrt_sim::Server;
use parking_lot::Mutex;

use super::Setup;

/// The name of a cluster.
///
/// # Panics
/// If it cannot be one.
pub fn name(name: &str) -> ClusterName {
    ClusterName::new(name).expect("a test's cluster has a valid name")
}

/// A host and servers that join and leave. Clones share them.
#[derive(Clone, Debug)]
pub struct Sims {
    clusters: Clusters,
    host: Server,
    members: Arc<Mutex<BTreeMap<String, Server>>>,
    /// Every server that ever was a member, with the host: what they hold open is looked at when the test ends.
    all: Arc<Mutex<Vec<Server>>>,
}

impl Sims {
    /// A fleet of these members.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let host = Server::new("host");
        let sims = Self {
            clusters: Clusters::new(),
            all: Arc::new(Mutex::new(vec![host.clone()])),
            host,
            members: Arc::default(),
        };
        for name in names {
            sims.join(name);
        }
        sims
    }

    /// Adds a member; one of that name is replaced by another life, with nothing said in between.
    pub fn join(&self, name: &str) -> Server {
        let server = Server::new(name);
        self.put(&server);
        server
    }

    /// Adds a server that exists already.
    pub fn put(&self, server: &Server) {
        self.all.lock().push(server.clone());
        self.members
            .lock()
            .insert(server.name().to_owned(), server.clone());
        self.clusters.replace(spec(server));
    }

    /// Takes a member out.
    pub fn leave(&self, member: &str) -> Option<Server> {
        self.clusters.remove(&name(member));
        self.members.lock().remove(member)
    }

    /// Describes a member anew, with these labels.
    pub fn label(&self, member: &str, labels: &[(&str, &str)]) {
        let mut properties = Properties::default();
        properties.labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        self.clusters
            .replace(spec(&self.server(member)).with_properties(properties));
    }

    /// A member.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn server(&self, name: &str) -> Server {
        self.members
            .lock()
            .get(name)
            .expect("a member of that name")
            .clone()
    }

    /// The members, by name.
    pub fn servers(&self) -> Vec<Server> {
        self.members.lock().values().cloned().collect()
    }

    /// The host.
    pub fn host(&self) -> &Server {
        &self.host
    }

    /// Every server that ever took part.
    pub fn all(&self) -> Vec<Server> {
        self.all.lock().clone()
    }

    /// The provider of the members.
    pub fn provider(&self) -> Clusters {
        self.clusters.clone()
    }

    /// Begins a manager of this fleet.
    pub fn manager(&self) -> Setup<'_> {
        Setup::new(self)
    }
}

/// A server as a provider describes it.
pub fn spec(server: &Server) -> ClusterSpec {
    ClusterSpec::new(name(server.name()), server.uid(), access(server))
}

/// How to reach a server: another life of a name is another place.
pub(super) fn access(server: &Server) -> Access {
    Access::service(server.uid(), server.service())
}
