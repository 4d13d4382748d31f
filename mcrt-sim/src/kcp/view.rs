//! What the virtual workspace of one shard shows: the objects of all workspaces that belong to it, on one server.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::replace;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::access::tokens::Tokens;
use crate::kcp::objects::{BINDINGS, LOGICAL_CLUSTERS, binds, waits_for};
use crate::server::Server;
use crate::state::kind::Kind;
use crate::state::log::Event;
use crate::state::object::{Object, ObjectKey};
use crate::state::shared::{Part, Shared, View};
use crate::state::store::Store;

/// Why a workspace is shown.
#[derive(Clone, Debug)]
pub(crate) enum Belongs {
    /// It binds an export: by its name, and the name and the path of its workspace.
    Binds(String, Arc<str>, Arc<str>),
    /// It waits for an initializer.
    WaitsFor(String),
}

/// One shard's part of a virtual workspace.
pub(crate) struct Virtual {
    /// Answers for `*`.
    pub(crate) server: Server,
    belongs: Belongs,
    shared: Arc<Shared>,
    /// The workspaces it shows, and of each whether all of it is shown by now.
    members: Mutex<BTreeMap<Arc<str>, bool>>,
    /// The kinds it shows; nothing for all.
    only: Mutex<Option<BTreeSet<String>>>,
}

impl Virtual {
    pub(crate) fn new(name: &str, belongs: Belongs, shared: &Arc<Shared>, tokens: &Arc<Tokens>) -> Arc<Self> {
        let mut store = Store::new();
        // It holds what others hold, and nothing of its own.
        store.seeded = true;
        store.part = Some(Arc::new(Part {
            cluster: None,
            shared: Arc::clone(shared),
        }));
        for kind in crate::kcp::objects::kinds() {
            store.registry.serve(&kind);
        }
        let view = Arc::new(Self {
            server: Server::holding(name, store, Arc::clone(tokens)),
            belongs,
            shared: Arc::clone(shared),
            members: Mutex::default(),
            only: Mutex::default(),
        });
        if let Belongs::WaitsFor(_) = view.belongs {
            // What is in a workspace that is not ready yet can only be asked of itself.
            view.limit(BTreeSet::from([LOGICAL_CLUSTERS.to_owned()]));
        }
        shared.add_view(Arc::clone(&view) as Arc<dyn View>);
        view
    }

    pub(crate) fn shows(&self, cluster: &str) -> bool {
        self.members.lock().contains_key(cluster)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.lock().is_empty()
    }

    /// Whether a workspace's own paths may be about this resource here.
    pub(crate) fn leads_to(&self, kind: &str) -> bool {
        match self.belongs {
            Belongs::Binds(..) => self.serves(kind),
            Belongs::WaitsFor(_) => true,
        }
    }

    /// Shows these kinds only, beside the bindings themselves.
    pub(crate) fn limit(&self, kinds: BTreeSet<String>) {
        *self.only.lock() = Some(kinds);
        let mut store = self.server.0.raw_store();
        let all: Vec<_> = store.registry.iter().cloned().collect();
        for kind in all.iter().filter(|kind| !self.serves(&kind.id)) {
            store.registry.unserve(&kind.id);
        }
    }

    fn serves(&self, kind: &str) -> bool {
        let only = self.only.lock();
        kind == BINDINGS && matches!(self.belongs, Belongs::Binds(..))
            || only.as_ref().is_none_or(|only| only.contains(kind))
    }

    /// Of bindings only those of the export itself are shown.
    fn admits(&self, kind: &Kind, object: &Object) -> bool {
        match &self.belongs {
            Belongs::Binds(name, cluster, path) if *kind.id == *BINDINGS => {
                binds(&object.content(), name, cluster, path)
            }
            _ => true,
        }
    }

    /// Whether this object makes its workspace one that is shown.
    fn decides(&self, object: &Object) -> bool {
        let content = object.content();
        match &self.belongs {
            Belongs::Binds(name, cluster, path) => binds(&content, name, cluster, path),
            Belongs::WaitsFor(initializer) => waits_for(&content, initializer),
        }
    }

    fn deciding(&self) -> &'static str {
        match self.belongs {
            Belongs::Binds(..) => BINDINGS,
            Belongs::WaitsFor(_) => LOGICAL_CLUSTERS,
        }
    }

    /// Shows nothing of a workspace any more.
    pub(crate) fn forget(&self, cluster: &Arc<str>) {
        if self.members.lock().remove(cluster).is_some() {
            let mut turn = self.shared.turn(None);
            self.server.0.raw_store().forget(cluster, &mut turn);
        }
    }
}

impl View for Virtual {
    fn show(&self, cluster: &Arc<str>, kind: &Kind, event: &Event) {
        if self.depends_on(kind) && !event.removed && self.decides(&event.new) {
            self.members.lock().entry(Arc::clone(cluster)).or_default();
        }
        if self.shows(cluster) && self.serves(&kind.id) && self.admits(kind, &event.new) {
            self.server.0.raw_store().mirror(cluster, kind, event);
        }
    }

    fn depends_on(&self, kind: &Kind) -> bool {
        *kind.id == *self.deciding()
    }

    fn reconsider(&self, cluster: &Arc<str>, store: &mut Store, changed: &ObjectKey) {
        let Some(was_whole) = self
            .members
            .lock()
            .get_mut(cluster)
            .map(|whole| replace(whole, true))
        else {
            return;
        };
        if was_whole {
            let deciding = store.in_namespace(self.deciding(), None);
            if !deciding.iter().any(|object| self.decides(object)) {
                self.forget(cluster);
            }
            return;
        }
        {
            let mut own = self.server.0.raw_store();
            for kind in store.registry.iter().filter(|kind| self.serves(&kind.id)) {
                own.registry.adopt(kind);
            }
        }
        // As kcp does, which labels what is claimed: what is shown anew has a version that is new.
        store.touch(|kind, key| self.serves(&kind.id) && !(self.depends_on(kind) && key == changed));
    }
}
