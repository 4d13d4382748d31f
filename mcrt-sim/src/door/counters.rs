//! What a server counts: requests by what they do and who sends them, and what is open right now.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::request::info::{RequestInfo, Verb};

/// Counts of one server at one moment.
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
    /// Requests refused because their token is nobody's.
    pub unauthorized: u64,
    /// Requests refused because their user may not do that.
    pub forbidden: u64,
    /// Requests that a fault happened to.
    pub faults: u64,
    /// The same by plural. Requests count when they come in, also those that are then refused.
    pub kinds: BTreeMap<String, KindCounters>,
    rows: Vec<Count>,
}

/// How many requests were about one resource, did one thing and came from one user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// What they did.
    pub verb: Verb,
    /// The resource; empty for what is about none.
    pub plural: String,
    /// The name of the user, never its token: `admin` where no tokens are asked for, empty for nobody's tokens.
    pub user: String,
    /// How many there were.
    pub requests: u64,
}

impl Counters {
    /// The counts of a kind by its plural; zeros if it was never asked for.
    pub fn kind(&self, plural: &str) -> KindCounters {
        self.kinds.get(plural).copied().unwrap_or_default()
    }

    /// How many requests there were in the rows that fit.
    ///
    /// ```
    /// # let server = mcrt_sim::Server::new("east");
    /// use mcrt_sim::Verb;
    ///
    /// let lists = server.counters().count(|row| row.verb == Verb::List && row.user == "reader");
    /// # assert_eq!(lists, 0);
    /// ```
    pub fn count(&self, fits: impl Fn(&Count) -> bool) -> u64 {
        let fitting = self.rows.iter().filter(|row| fits(row));
        fitting.map(|row| row.requests).sum()
    }

    /// How many requests did this.
    pub fn verb(&self, verb: Verb) -> u64 {
        self.count(|row| row.verb == verb)
    }

    /// How many requests came from the user of this name.
    pub fn user(&self, name: &str) -> u64 {
        self.count(|row| row.user == name)
    }

    /// Every count on its own, sorted by resource.
    pub fn rows(&self) -> &[Count] {
        &self.rows
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

impl KindCounters {
    fn add(&mut self, verb: Verb, requests: u64) {
        *match verb {
            Verb::Get | Verb::Raw => &mut self.gets,
            Verb::List => &mut self.lists,
            Verb::Watch => &mut self.watches,
            _ => &mut self.writes,
        } += requests;
    }
}

#[derive(Default)]
pub(crate) struct Counting {
    open_requests: AtomicU64,
    open_watches: AtomicU64,
    open_connections: AtomicU64,
    requests: AtomicU64,
    unauthorized: AtomicU64,
    forbidden: AtomicU64,
    faults: AtomicU64,
    /// By plural; under the empty one what is about no resource.
    kinds: Mutex<BTreeMap<String, Arc<KindCounting>>>,
}

#[derive(Default)]
pub(crate) struct KindCounting {
    open_watches: AtomicU64,
    /// Few: as many as there are users and verbs.
    rows: Mutex<Vec<(Verb, Arc<str>, u64)>>,
}

impl KindCounting {
    fn count(&self, verb: Verb, user: &str) {
        let mut rows = self.rows.lock();
        match rows.iter_mut().find(|row| row.0 == verb && *row.1 == *user) {
            Some(row) => row.2 += 1,
            None => rows.push((verb, user.into(), 1)),
        }
    }
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

    /// Counts a request whose caller was turned away.
    pub(crate) fn refuse(&self, code: u16) {
        let counter = if code == 401 {
            &self.unauthorized
        } else {
            &self.forbidden
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that a fault happens to.
    pub(crate) fn spoil(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what a request does; a watch is open until the guard is dropped.
    pub(crate) fn count(self: &Arc<Self>, info: &RequestInfo) -> Option<Open> {
        let plural = if info.verb() == Verb::Raw {
            ""
        } else {
            info.plural()
        };
        let kind = {
            let mut kinds = self.kinds.lock();
            match kinds.get(plural) {
                Some(kind) => Arc::clone(kind),
                None => Arc::clone(kinds.entry(plural.to_owned()).or_default()),
            }
        };
        kind.count(info.verb(), info.user());
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
        let mut counters = Counters {
            open_requests: load(&self.open_requests),
            open_watches: load(&self.open_watches),
            open_connections: load(&self.open_connections),
            requests: load(&self.requests),
            unauthorized: load(&self.unauthorized),
            forbidden: load(&self.forbidden),
            faults: load(&self.faults),
            ..Counters::default()
        };
        let kinds = self.kinds.lock().clone();
        for (plural, kind) in kinds {
            let mut sums = KindCounters {
                open_watches: load(&kind.open_watches),
                ..KindCounters::default()
            };
            for (verb, user, requests) in kind.rows.lock().iter() {
                sums.add(*verb, *requests);
                counters.rows.push(Count {
                    verb: *verb,
                    plural: plural.clone(),
                    user: user.to_string(),
                    requests: *requests,
                });
            }
            // What is about no resource has its rows only.
            if !plural.is_empty() {
                counters.kinds.insert(plural, sums);
            }
        }
        let sum = |field: fn(&KindCounters) -> u64| counters.kinds.values().map(field).sum();
        counters.gets = sum(|kind| kind.gets);
        counters.lists = sum(|kind| kind.lists);
        counters.watches = sum(|kind| kind.watches);
        counters.writes = sum(|kind| kind.writes);
        counters
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
