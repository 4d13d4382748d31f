//! One API server that serves many clusters: each is a part of it, and all share its connections and its watches.
//!
//! ```text
//! client of a member -> guard, breaker -> retries, deadlines -> its part of the server --\
//! client of a member -> guard, breaker -> retries, deadlines -> its part of the server ---+-> connections
//! shared watches, probes of all members, discovery -------------> guard, breaker --------/
//! ```
mod base;
mod division;
mod lease;
mod member;
mod path;
mod questions;
#[cfg(test)]
mod tests;

pub(crate) use base::Base;
pub(crate) use division::Division;
pub(super) use lease::Lease;
pub(super) use member::Seat;

use super::{access::Access, error::ConnectError, life::Life, settings::TransportSettings};
use parking_lot::Mutex;
use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// One API server, or virtual workspace, that serves many clusters. Clones are handles to the same server.
///
/// A member is a cluster of its own for the fleet, with its own health, breaker, lane and life. But all members of a
/// server share its connections, one watch per kind, and the answers to what is the same for all of them: whether the
/// server is ready, its version, its kinds. So an outage of the server shows in every member and costs no more probes
/// than that of one cluster.
///
/// # Guarantees
/// - It dials when its first member is engaged. When its last member has left, its watches and connections end, and
///   the end of that member's life waits for them.
/// - What one member does or suffers (suspended, purged, blocked by its own code) does not stop the watches of others.
///
/// # Assumptions
/// - Members of one server are engaged with the same settings: those of the first count.
/// - Two servers that were made apart share nothing, even if they lead to the same place: keep one, and
///   [`renew`](Self::renew) it.
#[derive(Clone)]
pub struct SharedServer(Arc<Inner>);

struct Inner {
    division: Division,
    /// Of the same identity for ever.
    access: Mutex<Access>,
    identity: u64,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    members: usize,
    /// There is one while there are members.
    base: Option<Arc<Base>>,
}

impl SharedServer {
    /// A server whose namespaces are clusters: an object belongs to the cluster that is called like its namespace.
    ///
    /// A member's requests outside of its namespace are refused on this side, as forbidden and with the reason, but for
    /// what tells of the server: discovery, its version and health, reviews of one's own permissions. The namespace
    /// itself can be read.
    pub fn namespaces(access: impl Into<Access>) -> Self {
        Self::new(access.into(), Division::Namespaces)
    }

    /// A virtual workspace of kcp, such as `https://shard/services/apiexport/x/y`: an object belongs to the logical
    /// cluster in its annotation `kcp.io/cluster`. Lists and watches for the caches go to `clusters/*` below the URL, a
    /// member's own requests to `clusters/<name>`.
    pub fn workspaces(access: impl Into<Access>) -> Self {
        Self::new(access.into(), Division::Workspaces)
    }

    fn new(access: Access, division: Division) -> Self {
        let identity = access.identity();
        let (access, running) = (Mutex::new(access), Mutex::default());
        Self(Arc::new(Inner {
            division,
            access,
            identity,
            running,
        }))
    }

    /// The way to one cluster of the server: a namespace, or the name of a logical cluster. Cheap. Two members are the
    /// same cluster if their servers have the same [identity](Access::identity) and the keys are equal.
    pub fn member(&self, key: impl Into<Arc<str>>) -> Access {
        Access::Member(Member {
            server: self.clone(),
            key: key.into(),
        })
    }

    /// Goes on with the secret material of another access of the same identity, for all members. False, and nothing
    /// changes, if the access leads elsewhere: then it takes another server.
    ///
    /// # Errors
    /// The material cannot be used; the last good stays in use.
    pub fn renew(&self, access: impl Into<Access>) -> Result<bool, ConnectError> {
        let access = access.into();
        if access.identity() != self.0.identity {
            return Ok(false);
        }
        // In the order in which a first member takes both: it starts with the old or goes on with the new.
        let running = self.0.running.lock();
        if let Some(base) = &running.base {
            base.replace_material(&access)?;
        }
        *self.0.access.lock() = access;
        Ok(true)
    }

    /// Whether both are handles to the same server.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many members are engaged, those that are leaving included.
    pub fn members(&self) -> usize {
        self.0.running.lock().members
    }

    /// How many tasks its connections and watches hold now; none without members.
    pub fn tasks(&self) -> usize {
        self.base().map_or(0, |base| base.tasks())
    }

    pub(crate) fn base(&self) -> Option<Arc<Base>> {
        self.0.running.lock().base.clone()
    }

    /// Makes room for one more member, whose life holds it: the server is reached if it was not.
    fn join(&self, settings: &TransportSettings, life: &Life) -> Result<Arc<Base>, ConnectError> {
        let mut running = self.0.running.lock();
        let base = match &running.base {
            Some(base) => Arc::clone(base),
            None => Arc::new(Base::start(&self.0.access.lock(), self.0.division, settings)?),
        };
        running.base = Some(Arc::clone(&base));
        running.members += 1;
        life.lend(Lease::new(self.clone()));
        Ok(base)
    }

    /// A member is gone; gives what ends with the last one.
    fn part(&self) -> Option<Arc<Base>> {
        let mut running = self.0.running.lock();
        running.members -= 1;
        if running.members == 0 {
            running.base.take()
        } else {
            None
        }
    }

    fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0.division, self.0.identity).hash(&mut hasher);
        hasher.finish()
    }

    fn server(&self) -> String {
        self.0.access.lock().server()
    }

    pub(super) fn access(&self) -> Access {
        self.0.access.lock().clone()
    }
}

impl fmt::Debug for SharedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedServer({} of {})", self.0.division, self.server())
    }
}

/// A cluster that is a part of a [`SharedServer`].
#[derive(Clone)]
pub struct Member {
    server: SharedServer,
    key: Arc<str>,
}

impl Member {
    /// The server that it is a part of.
    pub fn of(&self) -> &SharedServer {
        &self.server
    }

    /// Its namespace, or the name of its logical cluster.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The server's address, and which part of it.
    pub(super) fn server(&self) -> String {
        let server = self.server.server();
        match self.server.0.division {
            Division::Namespaces => format!("{server} (namespace {})", self.key),
            Division::Workspaces => format!("{}/clusters/{}", server.trim_end_matches('/'), self.key),
        }
    }

    pub(super) fn identity(&self) -> (u64, &str) {
        (self.server.identity(), &self.key)
    }

    pub(super) fn fingerprint(&self) -> u64 {
        self.server.access().fingerprint()
    }

    /// Its seat at the server, for as long as the life lasts.
    pub(super) fn join(&self, settings: &TransportSettings, life: &Life) -> Result<Seat, ConnectError> {
        let base = self.server.join(settings, life)?;
        Ok(Seat::new(base, Arc::clone(&self.key)))
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({})", self.server())
    }
}
