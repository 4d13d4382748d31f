//! What a server counts: requests by what they do, and what is open right now.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::api::request::{RequestInfo, Verb};

/// Counts of one server, or of one kind, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Requests that have not been answered in full, watches included.
    pub open_requests: u64,
    /// Watches that have not ended.
    pub open_watches: u64,
    /// TCP connections of the listener.
    pub open_connections: u64,
    /// All requests so far.
    pub requests: u64,
    /// Single objects read.
    pub gets: u64,
    /// Lists, each page counted.
    pub lists: u64,
    /// Watches started.
    pub watches: u64,
    /// Creates, updates, patches and deletes.
    pub writes: u64,
    /// Requests refused for their token.
    pub unauthorized: u64,
    /// The same by plural. Requests count when they come in, also those that are then refused.
    pub kinds: BTreeMap<String, KindCounters>,
}

impl Counters {
    /// The counts of a kind by its plural; zeros if it was never asked for.
    pub fn kind(&self, plural: &str) -> KindCounters {
        self.kinds.get(plural).copied().unwrap_or_default()
    }
}

/// Counts of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindCounters {
    /// Watches that have not ended.
    pub open_watches: u64,
    /// Single objects read.
    pub gets: u64,
    /// Lists, each page counted.
    pub lists: u64,
    /// Watches started.
    pub watches: u64,
    /// Creates, updates, patches and deletes.
    pub writes: u64,
}

#[derive(Default)]
pub(crate) struct Counting {
    open_requests: AtomicU64,
    open_watches: AtomicU64,
    open_connections: AtomicU64,
    requests: AtomicU64,
    unauthorized: AtomicU64,
    kinds: Mutex<BTreeMap<String, Arc<KindCounting>>>,
}

#[derive(Default)]
pub(crate) struct KindCounting {
    open_watches: AtomicU64,
    gets: AtomicU64,
    lists: AtomicU64,
    watches: AtomicU64,
    writes: AtomicU64,
}

impl Counting {
    /// Counts a request as open until the guard is dropped.
    pub(crate) fn open(self: &Arc<Self>) -> Open {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.open_requests.fetch_add(1, Ordering::Relaxed);
        Open {
            counting: Arc::clone(self),
            kind: None,
            what: What::Request,
        }
    }

    pub(crate) fn connect(self: &Arc<Self>) -> Open {
        self.open_connections.fetch_add(1, Ordering::Relaxed);
        Open {
            counting: Arc::clone(self),
            kind: None,
            what: What::Connection,
        }
    }

    pub(crate) fn refuse(&self) {
        self.unauthorized.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what a request does; a watch is open until the guard is dropped.
    pub(crate) fn count(self: &Arc<Self>, info: &RequestInfo) -> Option<Open> {
        let kind = match info.verb() {
            Verb::Raw => return None,
            _ => Arc::clone(self.kinds.lock().entry(info.plural().to_owned()).or_default()),
        };
        match info.verb() {
            Verb::Get | Verb::Raw => &kind.gets,
            Verb::List => &kind.lists,
            Verb::Watch => &kind.watches,
            _ => &kind.writes,
        }
        .fetch_add(1, Ordering::Relaxed);
        (info.verb() == Verb::Watch).then(|| {
            kind.open_watches.fetch_add(1, Ordering::Relaxed);
            self.open_watches.fetch_add(1, Ordering::Relaxed);
            Open {
                counting: Arc::clone(self),
                kind: Some(kind),
                what: What::Watch,
            }
        })
    }

    pub(crate) fn snapshot(&self) -> Counters {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let kinds = self.kinds.lock().clone();
        let kinds: BTreeMap<_, _> = kinds
            .into_iter()
            .map(|(plural, kind)| {
                let counters = KindCounters {
                    open_watches: load(&kind.open_watches),
                    gets: load(&kind.gets),
                    lists: load(&kind.lists),
                    watches: load(&kind.watches),
                    writes: load(&kind.writes),
                };
                (plural, counters)
            })
            .collect();
        let sum = |field: fn(&KindCounters) -> u64| kinds.values().map(field).sum();
        Counters {
            open_requests: load(&self.open_requests),
            open_watches: load(&self.open_watches),
            open_connections: load(&self.open_connections),
            requests: load(&self.requests),
            unauthorized: load(&self.unauthorized),
            gets: sum(|kind| kind.gets),
            lists: sum(|kind| kind.lists),
            watches: sum(|kind| kind.watches),
            writes: sum(|kind| kind.writes),
            kinds,
        }
    }
}

enum What {
    Request,
    Watch,
    Connection,
}

/// Keeps something counted as open.
pub(crate) struct Open {
    counting: Arc<Counting>,
    kind: Option<Arc<KindCounting>>,
    what: What,
}

impl Drop for Open {
    fn drop(&mut self) {
        match self.what {
            What::Request => &self.counting.open_requests,
            What::Watch => &self.counting.open_watches,
            What::Connection => &self.counting.open_connections,
        }
        .fetch_sub(1, Ordering::Relaxed);
        if let Some(kind) = &self.kind {
            kind.open_watches.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Open")
    }
}
