//! What the handles of a cache and its writer have in common.
use super::{
    pulse::Pulse,
    scope::{Cacheable, WatchScope, WatchState},
    table::Table,
    writer::Command,
};
use crate::cluster::ClusterName;
use parking_lot::RwLock;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

/// Counts of one cache, for metrics.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CacheStats {
    /// Objects held now.
    pub objects: usize,
    /// Lists started.
    pub lists: u64,
    /// Watches started after the first of each stream.
    pub watch_restarts: u64,
    /// When the server spoke last on the stream that has been silent longest; none if one never heard of it.
    pub last_message: Option<Instant>,
    /// Panics of index functions and sinks.
    pub panics: u64,
}

impl CacheStats {
    /// For how long the server has said nothing on the stream that has been silent longest. Rises while a
    /// connection is dead and nobody knows it yet; a quiet watch of a living server has a bookmark a minute.
    pub fn age(&self) -> Option<Duration> {
        self.last_message.map(|at| at.elapsed())
    }
}

pub(super) struct Shared<K> {
    pub(super) id: u64,
    pub(super) cluster: ClusterName,
    pub(super) scope: WatchScope,
    /// Written by the writer task only, and never held while user code runs.
    pub(super) table: RwLock<Table<K>>,
    pub(super) state: watch::Sender<WatchState>,
    /// Set for good when it is first synced: what it held then stays readable, whatever becomes of the watch.
    pub(super) was_synced: AtomicBool,
    pub(super) pulses: Vec<Arc<Pulse>>,
    pub(super) panics: AtomicU64,
    pub(super) commands: mpsc::UnboundedSender<Command<K>>,
}

impl<K: Cacheable> Shared<K> {
    pub(super) fn new(
        cluster: ClusterName,
        scope: WatchScope,
        pulses: Vec<Arc<Pulse>>,
        commands: mpsc::UnboundedSender<Command<K>>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            id: NEXT.fetch_add(1, Relaxed),
            cluster,
            scope,
            table: RwLock::new(Table::new()),
            state: watch::Sender::new(WatchState::Idle),
            was_synced: AtomicBool::new(false),
            pulses,
            panics: AtomicU64::new(0),
            commands,
        }
    }

    pub(super) fn current(&self) -> WatchState {
        *self.state.borrow()
    }

    /// Since the server spoke last on the stream that has been silent longest.
    pub(super) fn age(&self) -> Option<Duration> {
        self.last_message().map(|at| at.elapsed())
    }

    /// The age, if a stream is failing.
    pub(super) fn stale_for(&self) -> Option<Duration> {
        let oldest = |pulse: &Arc<Pulse>| pulse.failing.load(Relaxed).then(|| pulse.silent_for());
        self.pulses.iter().filter_map(oldest).max()
    }

    fn last_message(&self) -> Option<Instant> {
        self.pulses
            .iter()
            .map(|pulse| pulse.last_message())
            .min()
            .flatten()
    }
}

/// A cache of any kind, as its cluster sees it.
pub(super) trait AnyCache: Send + Sync {
    fn id(&self) -> u64;
    fn end(&self);
    fn scope(&self) -> &WatchScope;
    fn state(&self) -> WatchState;
    fn stats(&self) -> CacheStats;
}

impl<K: Cacheable> AnyCache for Shared<K> {
    fn id(&self) -> u64 {
        self.id
    }

    fn end(&self) {
        // A writer that has ended needs no telling.
        let _ = self.commands.send(Command::End);
    }

    fn scope(&self) -> &WatchScope {
        &self.scope
    }

    fn state(&self) -> WatchState {
        self.current()
    }

    fn stats(&self) -> CacheStats {
        let sum = |count: fn(&Pulse) -> u64| self.pulses.iter().map(|pulse| count(pulse)).sum();
        CacheStats {
            objects: self.table.read().len(),
            lists: sum(|pulse| pulse.lists.load(Relaxed)),
            watch_restarts: sum(|pulse| pulse.watches.load(Relaxed).saturating_sub(1)),
            last_message: self.last_message(),
            panics: self.panics.load(Relaxed),
        }
    }
}
