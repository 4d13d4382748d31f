//! One stream of the file provider: wait for a hint, look at everything, say what differs.
use super::{
    Timing,
    scan::{Scan, Scanner},
    watch::Watch,
};
use crate::{
    cluster::ClusterName,
    provider::{Change, ClusterSpec},
};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, timeout, timeout_at},
};

/// A look shows directories to watch, which calls for another look; links may lead further, but not for ever.
const FIRST_LOOKS: usize = 3;
/// Events that never stop put a look off for this many times the debounce.
const LONGEST_DEBOUNCE: u32 = 10;

pub(super) struct Follow {
    scanner: Arc<Mutex<Scanner>>,
    timing: Timing,
    watch: Option<Watch>,
    again: Option<Duration>,
    /// A look that takes longer than our patience.
    looking: Option<JoinHandle<Scan>>,
    synced: bool,
    said: BTreeMap<ClusterName, ClusterSpec>,
    rejected: BTreeMap<ClusterName, String>,
    problems: BTreeSet<String>,
    pending: VecDeque<Change>,
}

impl Follow {
    pub(super) fn new(scanner: Arc<Mutex<Scanner>>, timing: Timing) -> Self {
        Self {
            scanner,
            timing,
            watch: None,
            again: None,
            looking: None,
            synced: false,
            said: BTreeMap::new(),
            rejected: BTreeMap::new(),
            problems: BTreeSet::new(),
            pending: VecDeque::new(),
        }
    }

    pub(super) async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return change;
            }
            if self.synced && self.looking.is_none() {
                self.wait().await;
            }
            self.look().await;
        }
    }

    /// Until something may have changed and writers have paused.
    async fn wait(&self) {
        let longest = self
            .again
            .map_or(self.timing.poll, |again| again.min(self.timing.poll));
        let hinted = async {
            match &self.watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        if timeout(longest, hinted).await.is_err() {
            return;
        }
        let Some(watch) = &self.watch else { return };
        let latest = Instant::now() + self.timing.debounce * LONGEST_DEBOUNCE;
        loop {
            let quiet = Instant::now() + self.timing.debounce;
            if quiet >= latest || timeout_at(quiet, watch.changed()).await.is_err() {
                return;
            }
        }
    }

    async fn look(&mut self) {
        let Some(mut scan) = self.scan().await else {
            return;
        };
        for _ in 1..FIRST_LOOKS {
            // What changed before a directory was watched gave no hint.
            if !self.cover(&scan.directories) {
                break;
            }
            let Some(next) = self.scan().await else {
                return;
            };
            scan = next;
        }
        self.again = scan.again;
        self.say(scan);
    }

    fn cover(&mut self, directories: &BTreeSet<std::path::PathBuf>) -> bool {
        let pending = &mut self.pending;
        let watch = self.watch.get_or_insert_with(|| {
            let (watch, problem) = Watch::new();
            pending.extend(problem.map(Change::Failed));
            watch
        });
        watch.cover(directories)
    }

    /// Looks in a thread where blocking is allowed. A look that hangs is reported, waited for and never doubled.
    async fn scan(&mut self) -> Option<Scan> {
        let scanner = &self.scanner;
        let looking = self.looking.get_or_insert_with(|| {
            let scanner = Arc::clone(scanner);
            tokio::task::spawn_blocking(move || scanner.lock().scan())
        });
        let Ok(done) = timeout(self.timing.patience, looking).await else {
            let problem =
                "reading the kubeconfig files takes long: is their file system reachable?".to_owned();
            if self.problems.insert(problem.clone()) {
                self.pending.push_back(Change::Failed(problem));
            }
            return None;
        };
        self.looking = None;
        // It panicked, or the runtime is shutting down: what was said stays.
        Some(done.unwrap_or_else(|_| Scan {
            clusters: self.said.values().cloned().collect(),
            rejected: self.rejected.clone(),
            problems: BTreeSet::from(["the kubeconfig files could not be looked at".to_owned()]),
            directories: BTreeSet::new(),
            again: None,
        }))
    }

    /// Queues what differs from what was said: removals first, so that a name can pass from one file to another.
    fn say(&mut self, scan: Scan) {
        let now: BTreeMap<_, _> = scan
            .clusters
            .into_iter()
            .map(|spec| (spec.name.clone(), spec))
            .collect();
        let known = self
            .said
            .keys()
            .chain(self.rejected.keys())
            .collect::<BTreeSet<_>>();
        for name in known {
            if !now.contains_key(name) && !scan.rejected.contains_key(name) {
                self.pending.push_back(Change::Remove(name.clone()));
            }
        }
        for (name, spec) in &now {
            let is_right_again = self.rejected.contains_key(name) && !scan.rejected.contains_key(name);
            if is_right_again || !self.said.get(name).is_some_and(|said| said.says_the_same(spec)) {
                self.pending.push_back(Change::Upsert(spec.clone()));
                // What is said takes a rejection back.
                self.rejected.remove(name);
            }
        }
        for (name, reason) in &scan.rejected {
            if self.rejected.get(name) != Some(reason) {
                self.pending.push_back(Change::Rejected {
                    name: name.clone(),
                    reason: reason.clone(),
                });
            }
        }
        for problem in scan.problems.difference(&self.problems) {
            self.pending.push_back(Change::Failed(problem.clone()));
        }
        self.said = now;
        self.rejected = scan.rejected;
        self.problems = scan.problems;
        if !std::mem::replace(&mut self.synced, true) {
            self.pending.push_back(Change::Synced);
        }
    }
}
