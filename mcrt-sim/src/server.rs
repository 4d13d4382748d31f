//! One API server: its state and its knobs.

use std::fmt;
use std::sync::Arc;

use crate::api::request::RequestInfo;
use crate::door::counters::{Counters, Counting};
use crate::door::hook::Verdict;
use crate::door::service::Service;
use crate::state::kinds::ServedKind;
use crate::state::object::new_uid;
use crate::state::store::Store;
use parking_lot::{Mutex, MutexGuard};

/// An API server in memory. Clones share it; it lives as long as any clone, service or open watch.
///
/// It has no task of its own: every request is worked on by whoever sends it.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Inner>);

pub(crate) type Hook = Arc<dyn Fn(&RequestInfo) -> Verdict + Send + Sync>;

pub(crate) struct Inner {
    name: String,
    uid: String,
    store: Mutex<Store>,
    token: Mutex<Option<String>>,
    hook: Mutex<Option<Hook>>,
    pub(crate) counting: Arc<Counting>,
}

impl Inner {
    /// The state, filled at the first look: a fleet of idle servers holds no objects.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock();
        if !store.seeded {
            store.seed(&self.uid);
        }
        store
    }

    /// Whether a request may pass; health and version are open to callers without a token.
    pub(crate) fn allows(&self, token: Option<&str>, public: bool) -> bool {
        let expected = self.token.lock();
        match (expected.as_deref(), token) {
            (None, _) => true,
            (Some(_), None) => public,
            (Some(expected), Some(token)) => expected == token,
        }
    }

    pub(crate) fn hook(&self) -> Option<Hook> {
        self.hook.lock().clone()
    }
}

impl Server {
    /// A server with the built-in kinds and namespaces.
    pub fn new(name: &str) -> Self {
        Self(Arc::new(Inner {
            name: name.to_owned(),
            uid: new_uid(),
            store: Mutex::new(Store::new()),
            token: Mutex::new(None),
            hook: Mutex::new(None),
            counting: Arc::default(),
        }))
    }

    /// The name it has in its fleet.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The UID of this life of the server, which is also that of its namespace `kube-system`.
    pub fn uid(&self) -> &str {
        &self.0.uid
    }

    /// The way in, for `kube::Client::new` or anything else that speaks HTTP.
    pub fn service(&self) -> Service {
        Service::new(self.clone())
    }

    /// Requires this bearer token from now on; open watches go on, as they do on a real server.
    pub fn set_token(&self, token: Option<String>) {
        *self.0.token.lock() = token;
    }

    /// Lets a function decide on every request from now on; it replaces an earlier one.
    pub fn hook(&self, hook: impl Fn(&RequestInfo) -> Verdict + Send + Sync + 'static) {
        *self.0.hook.lock() = Some(Arc::new(hook));
    }

    /// Answers every request again.
    pub fn clear_hook(&self) {
        *self.0.hook.lock() = None;
    }

    /// The kinds that are served, every version on its own.
    pub fn kinds(&self) -> Vec<ServedKind> {
        let store = self.0.store();
        let kinds = store.registry.iter().flat_map(|kind| {
            kind.versions.iter().map(|version| ServedKind {
                group: kind.group.clone(),
                version: version.name.clone(),
                kind: kind.kind.clone(),
                plural: kind.plural.clone(),
                namespaced: kind.namespaced,
                status_subresource: version.status,
            })
        });
        kinds.collect()
    }

    /// Serves a further kind, or a further version of one.
    #[expect(clippy::needless_pass_by_value, reason = "callers write the kind in place")]
    pub fn serve(&self, kind: ServedKind) {
        self.0.store().registry.serve(&kind);
    }

    /// Stops serving a kind: its watches end, its paths answer 404, its objects stay out of sight.
    pub fn unserve(&self, group: &str, plural: &str) {
        let mut store = self.0.store();
        if let Some(kind) = store.registry.by_plural(group, plural).cloned() {
            store.registry.unserve(&kind.id);
            store.resource(&kind).cut_watches();
        }
    }

    /// Drops the event log: watches and pages that start at an older version answer 410.
    pub fn compact(&self) {
        self.0.store().compact();
    }

    /// Ends every open watch without an error, as a restarting server does.
    pub fn disconnect_watches(&self) {
        self.0
            .store()
            .resources()
            .for_each(|(_, resource)| resource.cut_watches());
    }

    /// Ends every open watch with a 410 inside its stream.
    pub fn expire_watches(&self) {
        self.0
            .store()
            .resources()
            .for_each(|(_, resource)| resource.expire_watches());
    }

    /// What was asked so far and what is open right now.
    pub fn counters(&self) -> Counters {
        self.0.counting.snapshot()
    }

    /// How many open watches still have something to tell their clients: an event, or that they are open at all.
    ///
    /// What a client does with what it was told is its own business, and so are frames that a fault holds back.
    pub fn watches_behind(&self) -> u64 {
        let open = self.counters().open_watches;
        let store = self.0.store();
        let told: usize = store.resources().map(|(_, resource)| resource.up_to_date()).sum();
        open.saturating_sub(told as u64)
    }

    /// The version of the last write.
    pub fn resource_version(&self) -> u64 {
        self.0.store().version
    }
}

/// No objects and no token: both are secret.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("name", &self.0.name)
            .field("uid", &self.0.uid)
            .finish_non_exhaustive()
    }
}
