//! One API server: its state and its knobs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::access::tokens::Tokens;
use crate::door::counters::{Counters, Counting};
use crate::door::hook::Verdict;
use crate::door::service::Service;
use crate::faults::fault::Fault;
use crate::faults::gate::Gate;
use crate::faults::plan::{Faults, Plan};
use crate::request::info::RequestInfo;
use crate::state::kind::ServedKind;
use crate::state::object::new_uid;
use crate::state::store::Store;
use parking_lot::{Mutex, MutexGuard};

/// An API server in memory. Clones share it; it lives as long as any clone, service or open watch.
///
/// While it is idle it has no task of its own: every request is worked on by whoever sends it. What follows from a
/// request (garbage collection, the end of namespaces) is left to a task of the runtime that lives until that is done.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Inner>);

pub(crate) type Hook = Arc<dyn Fn(&RequestInfo) -> Verdict + Send + Sync>;

pub(crate) struct Inner {
    name: String,
    uid: Mutex<String>,
    store: Mutex<Store>,
    knobs: Mutex<Knobs>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) counting: Arc<Counting>,
}

/// What tests turn.
#[derive(Default)]
struct Knobs {
    hook: Option<Hook>,
    plan: Option<Arc<Plan>>,
    latency: Duration,
    version: Option<Arc<str>>,
}

impl Inner {
    /// The state, filled at the first look: a fleet of idle servers holds no objects.
    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        let mut store = self.store.lock();
        if !store.seeded {
            store.seed(&self.uid.lock());
        }
        store.catch_up();
        store
    }

    /// The state as it is, also before the first look.
    pub(crate) fn raw_store(&self) -> MutexGuard<'_, Store> {
        self.store.lock()
    }

    /// What happens to a request: what the hook says, or the plan where it says nothing.
    pub(crate) fn faults(&self, info: &RequestInfo) -> Vec<Fault> {
        let (hook, plan) = {
            let knobs = self.knobs.lock();
            (knobs.hook.clone(), knobs.plan.clone())
        };
        let verdict = hook.map_or(Verdict::Pass, |hook| hook(info));
        match (verdict, plan) {
            (Verdict::Pass, Some(plan)) => plan.decide(info),
            (verdict, _) => verdict.into_faults(),
        }
    }

    pub(crate) fn latency(&self) -> Duration {
        self.knobs.lock().latency
    }

    /// The version of Kubernetes that it says it is.
    pub(crate) fn git_version(&self) -> Arc<str> {
        let version = self.knobs.lock().version.clone();
        version.unwrap_or_else(|| VERSION.into())
    }
}

const VERSION: &str = "v1.37.2+sim";

impl Server {
    /// A server with the built-in kinds and namespaces.
    pub fn new(name: &str) -> Self {
        Self::holding(name, Store::new(), Arc::default())
    }

    /// A server of this state, which lets in whoever these tokens let in.
    pub(crate) fn holding(name: &str, store: Store, tokens: Arc<Tokens>) -> Self {
        Self(Arc::new(Inner {
            name: name.to_owned(),
            uid: Mutex::new(new_uid()),
            store: Mutex::new(store),
            knobs: Mutex::default(),
            tokens,
            gate: Arc::default(),
            counting: Arc::default(),
        }))
    }

    /// The name it has in its fleet.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The UID of this life of the server, which is also that of its namespace `kube-system`.
    pub fn uid(&self) -> String {
        self.0.uid.lock().clone()
    }

    /// The way in, for `kube::Client::new` or anything else that speaks HTTP.
    pub fn service(&self) -> Service {
        Service::new(self.clone())
    }

    /// Lets a function decide on every request from now on; it replaces an earlier one. Where it says
    /// [`Verdict::Pass`], the plan of [`faults`](Self::faults) is asked.
    pub fn hook(&self, hook: impl Fn(&RequestInfo) -> Verdict + Send + Sync + 'static) {
        self.0.knobs.lock().hook = Some(Arc::new(hook));
    }

    /// Asks no hook any more.
    pub fn clear_hook(&self) {
        self.0.knobs.lock().hook = None;
    }

    /// Follows a plan of faults from now on, which replaces an earlier one; its counts and its clock start now.
    pub fn faults(&self, plan: Faults) {
        self.0.knobs.lock().plan = Some(Plan::begin(plan, &self.0.name));
    }

    /// Follows no plan any more; what a plan has done to open watches stays.
    pub fn clear_faults(&self) {
        self.0.knobs.lock().plan = None;
    }

    /// Cuts the server off: requests wait and open watches are silent until [`heal`](Self::heal). Through sockets no
    /// byte passes, though connections are still accepted, by the system.
    pub fn partition(&self) {
        self.0.gate.close();
    }

    /// Ends a partition: what waited goes on, as connections do that were not given up meanwhile.
    pub fn heal(&self) {
        self.0.gate.open();
    }

    /// Whether it is cut off.
    pub fn is_partitioned(&self) -> bool {
        self.0.gate.is_closed()
    }

    /// Makes every request take this long from now on, whatever faults add to it.
    pub fn set_latency(&self, latency: Duration) {
        self.0.knobs.lock().latency = latency;
    }

    /// Says this version of Kubernetes from now on, for example `v1.35.2`.
    pub fn set_version(&self, version: impl Into<Arc<str>>) {
        self.0.knobs.lock().version = Some(version.into());
    }

    /// Restarts it: open watches end and the event log is lost; objects, tokens and faults stay.
    pub fn restart(&self) {
        self.disconnect_watches();
        self.compact();
    }

    /// Puts another cluster behind the same address: every object and every version is as at the start, and so are
    /// the kinds; the UID is new; open watches end. Tokens, faults, latency and version stay.
    pub fn reset(&self) {
        let mut store = self.0.store.lock();
        store.resources().for_each(|(_, resource)| resource.cut_watches());
        *store = Store::new();
        *self.0.uid.lock() = new_uid();
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
            .field("uid", &self.uid())
            .finish_non_exhaustive()
    }
}
