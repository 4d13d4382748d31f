//! One workspace: what it is called, what it holds, and which shards it is on.

use std::fmt;
use std::sync::Arc;

use crate::kcp::{Kcp, Shard};
use crate::server::Server;

/// A workspace of a [`Kcp`]. Clones are handles to the same.
#[derive(Clone)]
pub struct Workspace {
    kcp: Kcp,
    name: Arc<str>,
    path: Arc<str>,
}

impl Workspace {
    pub(super) fn new(kcp: Kcp, name: &Arc<str>, path: &str) -> Self {
        Self {
            kcp,
            name: Arc::clone(name),
            path: path.into(),
        }
    }

    /// The name of its logical cluster, which says nothing and never changes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is in the tree of workspaces: `root:org:team`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its objects, its faults and its counters, on the shard whose copy takes writes; where it is on none, its
    /// objects as they were last.
    pub fn server(&self) -> Server {
        let state = self.kcp.0.state.lock();
        let space = state.workspaces.get(&self.name);
        let server = space.and_then(|space| space.copies.get(&space.home).or(space.parked.as_ref()));
        server
            .cloned()
            .unwrap_or_else(|| Server::new("of a removed workspace"))
    }

    /// Its copy on a shard.
    pub fn server_on(&self, shard: &str) -> Option<Server> {
        let state = self.kcp.0.state.lock();
        state.workspaces.get(&self.name)?.copies.get(shard).cloned()
    }

    /// The shards that have it.
    pub fn shards(&self) -> Vec<String> {
        let state = self.kcp.0.state.lock();
        let space = state.workspaces.get(&self.name);
        space.map_or_else(Vec::new, |space| space.copies.keys().cloned().collect())
    }

    /// The address that leads to it, and to nothing else.
    pub fn url(&self) -> String {
        let shards = self.shards();
        let shard = shards.first().map_or("root", String::as_str);
        format!("{}/clusters/{}", self.kcp.shard_url(shard), self.name)
    }

    /// Lets it appear on a shard, with all that it holds; there it takes writes from now on. On the shard where it was
    /// before it stays as it is, and refuses writes, until it [vanishes](Self::vanish_from) there.
    pub fn appear_on(&self, shard: &str) {
        let Shard { shared, .. } = self.kcp.shard(shard);
        let from = self.server();
        let there = self.kcp.place(&self.name, &shared);
        // Both are held until everything is there: what is written meanwhile waits, and is refused where it was.
        let held = from.0.store();
        let mut copy = there.0.raw_store();
        {
            let mut state = self.kcp.0.state.lock();
            let Some(space) = state.workspaces.get_mut(&self.name) else {
                return;
            };
            if space.copies.contains_key(shard) {
                return;
            }
            space.copies.insert(shard.to_owned(), there.clone());
            shard.clone_into(&mut space.home);
            space.parked = None;
        }
        held.copy_into(&mut copy);
        drop((held, copy));
        self.kcp.settle();
    }

    /// Lets it vanish from a shard. Where that was the last, it can be reached nowhere until it appears again.
    pub fn vanish_from(&self, shard: &str) {
        let (gone, views) = {
            let mut state = self.kcp.0.state.lock();
            let Some(space) = state.workspaces.get_mut(&self.name) else {
                return;
            };
            let Some(gone) = space.copies.remove(shard) else {
                return;
            };
            if space.copies.is_empty() {
                space.parked = Some(gone.clone());
            } else if space.home == *shard {
                let other = space.copies.keys().next().cloned();
                space.home = other.unwrap_or_default();
            }
            let of_exports = state.exports.iter().map(|export| &export.views);
            let all = of_exports.chain(state.initializers.iter().map(|one| &one.views));
            let views: Vec<_> = all.filter_map(|views| views.get(shard).cloned()).collect();
            (gone, views)
        };
        gone.disconnect_watches();
        for view in views {
            view.forget(&self.name);
        }
        self.kcp.settle();
    }

    /// Removes it, with all that it holds.
    pub fn remove(&self) {
        for shard in self.shards() {
            self.vanish_from(&shard);
        }
        self.kcp.0.state.lock().workspaces.remove(&self.name);
    }

    pub(super) fn is_somewhere(&self) -> bool {
        !self.shards().is_empty()
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path, self.name)
    }
}
