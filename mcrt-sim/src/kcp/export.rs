//! What virtual workspaces are made for: exports that workspaces bind, and initializers that they wait for.

use std::sync::Arc;

use crate::kcp::objects::{APIS_STORED, binding, binding_status};
use crate::kcp::{Exported, Kcp, Workspace, say, write};
use crate::server::Server;

/// An export of a [`Kcp`] and the workspaces that bind it.
#[derive(Clone, Debug)]
pub struct Export {
    kcp: Kcp,
    cluster: Arc<str>,
    name: Arc<str>,
}

impl Export {
    pub(super) fn new(kcp: Kcp, cluster: &Arc<str>, name: &str) -> Self {
        Self {
            kcp,
            cluster: Arc::clone(cluster),
            name: name.into(),
        }
    }

    /// The name of the export, of its slice, and of the bindings that [`bind`](Self::bind) makes.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The workspace that has the export and its slice.
    pub fn home(&self) -> Workspace {
        let home = self.kcp.get(&self.cluster);
        home.unwrap_or_else(|| Workspace::new(self.kcp.clone(), &self.cluster, &self.cluster))
    }

    /// Binds it in a workspace: the binding is there, `Bound` and `Ready`.
    pub fn bind(&self, workspace: &Workspace) {
        self.bind_as(workspace, true);
    }

    /// Binds it in a workspace, ready or not yet.
    pub fn bind_as(&self, workspace: &Workspace, ready: bool) {
        let server = workspace.server();
        let home = self.home();
        let status = binding_status(&self.cluster, ready);
        if server.get(APIS_STORED, "APIBinding", None, &self.name).is_ok() {
            say(&server, APIS_STORED, "APIBinding", &self.name, |now| {
                *now = status;
            });
        } else {
            write(&server, binding(&self.name, &self.name, home.path()), &status);
        }
        self.kcp.settle();
    }

    /// Takes the binding out of a workspace: through the export nothing of it can be seen any more.
    pub fn unbind(&self, workspace: &Workspace) {
        // Not bound: nothing to do.
        let _ = workspace
            .server()
            .delete(APIS_STORED, "APIBinding", None, &self.name);
        self.kcp.settle();
    }

    /// Shows these resources only, as `plural` or `plural.group`, and the bindings.
    pub fn limit_to<'a>(&self, resources: impl IntoIterator<Item = &'a str>) {
        let only: std::collections::BTreeSet<_> = resources.into_iter().map(str::to_owned).collect();
        self.change(|export| {
            for view in export.views.values() {
                view.limit(only.clone());
            }
            export.only = Some(only);
        });
    }

    /// Leaves a shard's address out of the slice, though it has bindings.
    pub fn hide_url(&self, shard: &str) {
        self.change(|export| export.hidden.insert(shard.to_owned()));
        self.kcp.settle();
    }

    /// Ends [`hide_url`](Self::hide_url).
    pub fn show_url(&self, shard: &str) {
        self.change(|export| export.hidden.remove(shard));
        self.kcp.settle();
    }

    /// Where it is reached on a shard.
    pub fn url(&self, shard: &str) -> String {
        let base = self.kcp.shard_url(shard);
        format!("{base}/services/apiexport/{}/{}", self.cluster, self.name)
    }

    /// The addresses that the slice names.
    pub fn urls(&self) -> Vec<String> {
        let slice =
            self.home()
                .server()
                .get(super::objects::APIS, "APIExportEndpointSlice", None, &self.name);
        let slice = slice.unwrap_or_default();
        let endpoints = slice["status"]["endpoints"].as_array().into_iter().flatten();
        endpoints
            .filter_map(|endpoint| Some(endpoint["url"].as_str()?.to_owned()))
            .collect()
    }

    /// What answers for `*` on a shard: its counters, and what goes wrong with it. Its objects are those of the
    /// workspaces, and are written there.
    pub fn wildcard(&self, shard: &str) -> Server {
        self.kcp.shard(shard);
        self.change(|export| export.views.get(shard).map(|view| view.server.clone()))
            .flatten()
            .unwrap_or_else(|| Server::new("of no export"))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Exported) -> T) -> Option<T> {
        let mut state = self.kcp.0.state.lock();
        let mut exports = state.exports.iter_mut();
        let known = exports.find(|known| known.cluster == self.cluster && *known.name == *self.name);
        known.map(change)
    }
}

/// An initializer of a [`Kcp`] and the workspaces that wait for it.
#[derive(Clone, Debug)]
pub struct Initializer {
    kcp: Kcp,
    name: Arc<str>,
}

impl Initializer {
    pub(super) fn new(kcp: Kcp, name: &str) -> Self {
        Self {
            kcp,
            name: name.into(),
        }
    }

    /// Where it is reached on a shard.
    pub fn url(&self, shard: &str) -> String {
        let base = self.kcp.shard_url(shard);
        format!("{base}/services/initializingworkspaces/{}", self.name)
    }

    /// What answers for `*` on a shard.
    pub fn wildcard(&self, shard: &str) -> Server {
        self.kcp.shard(shard);
        let state = self.kcp.0.state.lock();
        let known = state.initializers.iter().find(|known| *known.name == *self.name);
        let view = known.and_then(|known| known.views.get(shard));
        view.map_or_else(|| Server::new("of no initializer"), |view| view.server.clone())
    }
}
