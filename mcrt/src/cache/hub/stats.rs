//! Counts of shared watches, for metrics and for looking into a program that runs.
use super::Hubs;
use crate::{
    cache::{pulse::Pulse, scope::WatchScope},
    connect::SharedServer,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// What a hub counts.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) events: AtomicU64,
    pub(super) told: AtomicU64,
    pub(super) nanos: AtomicU64,
    pub(super) objects: AtomicUsize,
    pub(super) unowned: AtomicU64,
}

/// Counts of one watch that the members of a [`SharedServer`] share.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SharedWatch {
    /// What is watched.
    pub scope: WatchScope,
    /// Caches that it serves: those of one scope, one in each member.
    pub members: usize,
    /// Objects that exist, those of namespaces and workspaces that are no member included.
    pub objects: usize,
    /// Objects and deletions that came, listed ones included.
    pub events: u64,
    /// What of it was handed to a member.
    pub told: u64,
    /// Time that it took to sort them out: decoding, and what members do with them, not included.
    pub sorting: Duration,
    /// Objects that name no cluster that they belong to.
    pub unowned: u64,
    /// Lists started.
    pub lists: u64,
    /// Watches started.
    pub watches: u64,
}

impl SharedWatch {
    pub(super) fn of(scope: &WatchScope, members: usize, pulses: &[Arc<Pulse>], counts: &Counts) -> Self {
        let sum = |count: fn(&Pulse) -> u64| pulses.iter().map(|pulse| count(pulse)).sum();
        Self {
            scope: scope.clone(),
            members,
            objects: counts.objects.load(Relaxed),
            events: counts.events.load(Relaxed),
            told: counts.told.load(Relaxed),
            sorting: Duration::from_nanos(counts.nanos.load(Relaxed)),
            unowned: counts.unowned.load(Relaxed),
            lists: sum(|pulse| pulse.lists.load(Relaxed)),
            watches: sum(|pulse| pulse.watches.load(Relaxed)),
        }
    }
}

impl SharedServer {
    /// Counts of each watch that its members share; none while it has no members.
    pub fn watches(&self) -> Vec<SharedWatch> {
        let hubs = self.base().and_then(|base| base.common::<Hubs>(|| None));
        hubs.map_or_else(Vec::new, |hubs| hubs.watches())
    }
}
