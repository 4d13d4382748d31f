//! A fleet of servers: a host, and members that come and go.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::Stream;
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::faults::plan::Faults;
use crate::server::Server;

/// A host server and named member servers. Clones share it.
#[derive(Clone)]
pub struct Fleet(Arc<Inner>);

struct Inner {
    host: Server,
    members: Mutex<Members>,
}

#[derive(Default)]
struct Members {
    servers: BTreeMap<String, Server>,
    /// One sender for each stream of changes. Unbounded, because no change may be lost and joining must not
    /// wait; what queues up is as small as what a test does to its fleet.
    listeners: Vec<UnboundedSender<FleetChange>>,
}

impl Members {
    fn tell(&mut self, change: &FleetChange) {
        self.listeners
            .retain(|listener| listener.send(change.clone()).is_ok());
    }
}

/// What happens to a fleet.
#[derive(Clone, Debug)]
pub enum FleetChange {
    /// A member is there.
    Joined(Server),
    /// A member is gone, or about to be replaced by another life of the same name.
    Left {
        /// The name it had.
        name: String,
        /// The UID of the life that ended.
        uid: String,
    },
    /// All members that were there at the start have been told.
    Synced,
}

impl Fleet {
    /// A fleet with a host and no members.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            host: Server::new("host"),
            members: Mutex::default(),
        }))
    }

    /// A fleet of members of these names.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let fleet = Self::new();
        for name in names {
            fleet.join(name);
        }
        fleet
    }

    /// The cluster that controllers belong to; not a member.
    pub fn host(&self) -> Server {
        self.0.host.clone()
    }

    /// Adds a member. One of the same name leaves first: the new one is another life with another UID.
    pub fn join(&self, name: &str) -> Server {
        self.add(Server::new(name))
    }

    /// Adds a server that has been prepared: its version, kinds, tokens, latency, faults and objects are there
    /// before anybody sees it. A member of the same name leaves first.
    pub fn add(&self, server: Server) -> Server {
        let mut members = self.0.members.lock();
        if let Some(old) = members.servers.insert(server.name().to_owned(), server.clone()) {
            members.tell(&left(&old));
        }
        members.tell(&FleetChange::Joined(server.clone()));
        server
    }

    /// Takes a member out of the fleet; the server itself goes on for whoever holds it.
    pub fn leave(&self, name: &str) -> Option<Server> {
        let mut members = self.0.members.lock();
        let server = members.servers.remove(name)?;
        members.tell(&left(&server));
        Some(server)
    }

    /// Puts another cluster behind the address of a member, as [`Server::reset`] does. Nobody is told: to providers
    /// it is the same member.
    pub fn reset(&self, name: &str) -> Option<Server> {
        let server = self.get(name)?;
        server.reset();
        Some(server)
    }

    /// Gives a plan of faults to every member that is there now; each draws its own numbers from the seed.
    pub fn faults(&self, plan: &Faults) {
        for server in self.servers() {
            server.faults(plan.clone());
        }
    }

    /// The member of a name.
    pub fn get(&self, name: &str) -> Option<Server> {
        self.0.members.lock().servers.get(name).cloned()
    }

    /// The members, sorted by name.
    pub fn servers(&self) -> Vec<Server> {
        self.0.members.lock().servers.values().cloned().collect()
    }

    /// The members as they are, then `Synced`, then every change as it happens.
    pub fn changes(&self) -> impl Stream<Item = FleetChange> + Send + 'static {
        let (sender, mut receiver) = unbounded_channel();
        let mut members = self.0.members.lock();
        let current = members.servers.values().cloned().map(FleetChange::Joined);
        let start: Vec<_> = current.chain([FleetChange::Synced]).collect();
        members.listeners.retain(|listener| !listener.is_closed());
        members.listeners.push(sender);
        drop(members);
        // Ends when the last handle of the fleet is dropped.
        let rest = futures::stream::poll_fn(move |cx| receiver.poll_recv(cx));
        futures::StreamExt::chain(futures::stream::iter(start), rest)
    }
}

fn left(server: &Server) -> FleetChange {
    FleetChange::Left {
        name: server.name().to_owned(),
        uid: server.uid(),
    }
}

impl Default for Fleet {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("members", &self.servers())
            .finish_non_exhaustive()
    }
}
