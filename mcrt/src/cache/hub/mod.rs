//! One watch for all clusters of a server: its events are sorted out by cluster, and go to whoever has a seat.
//!
//! ```text
//! shared server --list, watch--> feeds --> hub task: objects by cluster --mailbox--> writer of a member's cache
//!                                                                       --mailbox--> writer of a member's cache
//! ```
//! The hub keeps what exists, sharing each object with the member's cache, so that a member that joins late is told of
//! everything without a request. It never waits for a member: one that does not read falls behind alone, and is told of
//! everything again when it reads on.
mod group;
mod mailbox;
mod seat;
mod stats;
mod task;

pub(super) use seat::Seat;
pub use stats::SharedWatch;

use super::{
    feed::Shares,
    limits::{ClusterLists, ListLimits},
    observed::observed,
    pulse::Pulse,
    scope::{Cacheable, WatchScope},
    served::Served,
    settings::CacheSettings,
    source::Feeds,
    streaming::Streaming,
};
use crate::connect::{Base, Division};
use kube::Client;
use parking_lot::Mutex;
use stats::Counts;
use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
};
use task::{Command, Hub};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The shared watches of one server, each scope once. The server owns them and their tasks.
pub(super) struct Hubs {
    division: Division,
    client: Client,
    shares: Shares,
    tracker: TaskTracker,
    stop: CancellationToken,
    entries: Mutex<HashMap<Key, Entry>>,
}

type Key = (TypeId, WatchScope);

struct Entry {
    /// A `Line<K>`.
    line: Box<dyn Any + Send>,
    pulses: Arc<[Arc<Pulse>]>,
    counts: Arc<Counts>,
    /// With the last seat the watch ends.
    seats: usize,
    stop: CancellationToken,
}

type Line<K> = mpsc::UnboundedSender<Command<K>>;

impl Hubs {
    /// Those of a server; none once its last member has left. The first member's limits and settings count.
    pub(super) fn of(base: &Base, limits: Arc<ListLimits>, settings: CacheSettings) -> Option<Arc<Self>> {
        base.common(|| {
            let client = base.client()?;
            let (tracker, stop) = base.tasks_of();
            let served = Served::new(
                client.clone(),
                base.breaker().clone(),
                settings.discovery_interval,
                tracker.clone(),
                stop.clone(),
            );
            let shares = Shares {
                lists: ClusterLists::new(limits),
                breaker: base.breaker().clone(),
                served,
                streaming: Streaming::new(settings.initial_list),
                settings,
            };
            Some(Self {
                division: base.division(),
                client: observed(client, tracker.token()),
                shares,
                tracker,
                stop,
                entries: Mutex::default(),
            })
        })
    }

    /// A seat of a member at the watch of a scope, which is created idle if it is not there.
    pub(super) fn open<K: Cacheable>(
        self: &Arc<Self>,
        scope: &WatchScope,
        kind: K::DynamicType,
        member: &Arc<str>,
    ) -> Seat<K> {
        let retry_after = self.shares.settings.retry_after;
        if self.division == Division::Namespaces {
            if scope::is_clustered::<K>() {
                return Seat::refused(scope, retry_after);
            }
            let elsewhere = |names: &[String]| !names.is_empty() && !names.iter().any(|it| **it == **member);
            if elsewhere(&scope.namespaces) {
                return Seat::empty(retry_after);
            }
        }
        let key = (TypeId::of::<K>(), self.together(scope));
        let mut entries = self.entries.lock();
        let entry = entries
            .entry(key.clone())
            .or_insert_with(|| self.begin::<K>(&key.1, kind));
        entry.seats += 1;
        let line = entry.line.downcast_ref::<Line<K>>();
        let line = line.expect("the type is a part of the key").clone();
        Seat::new(
            self,
            key,
            line,
            Arc::clone(member),
            Arc::clone(&entry.pulses),
            retry_after,
        )
    }

    /// The scope for all members: where namespaces are clusters, it is all of them.
    fn together(&self, scope: &WatchScope) -> WatchScope {
        let mut scope = scope.clone();
        if self.division == Division::Namespaces {
            scope.namespaces.clear();
        }
        scope
    }

    fn begin<K: Cacheable>(&self, scope: &WatchScope, kind: K::DynamicType) -> Entry {
        let streams = scope.namespaces.len().max(1);
        let pulses: Arc<[_]> = (0..streams).map(|_| Arc::new(Pulse::new())).collect();
        let (line, inbox) = mpsc::unbounded_channel::<Command<K>>();
        let (counts, stop) = (Arc::<Counts>::default(), self.stop.child_token());
        let feeds = Feeds {
            client: self.client.clone(),
            kind,
            shares: self.shares.clone(),
        };
        let hub = Hub::new(
            self.division,
            scope.clone(),
            feeds,
            Arc::clone(&pulses),
            Arc::clone(&counts),
        );
        self.tracker.spawn(hub.run(inbox, stop.clone()));
        Entry {
            line: Box::new(line),
            pulses,
            counts,
            seats: 0,
            stop,
        }
    }

    /// A seat is given up. True if it was the last one: then the watch ends.
    fn leave(&self, key: &Key) -> bool {
        let mut entries = self.entries.lock();
        let Some(entry) = entries.get_mut(key) else {
            return true;
        };
        entry.seats -= 1;
        let last = entry.seats == 0;
        if last {
            entry.stop.cancel();
            entries.remove(key);
        }
        last
    }

    fn watches(&self) -> Vec<SharedWatch> {
        self.entries
            .lock()
            .iter()
            .map(|((_, scope), entry)| SharedWatch::of(scope, entry.seats, &entry.pulses, &entry.counts))
            .collect()
    }
}

mod scope {
    //! What the type of a kind tells of where its objects live.
    use kube::{Resource, core::ClusterResourceScope};
    use std::any::type_name;

    /// Whether the objects of a kind live in no namespace, as far as its type tells: that of a dynamic kind does not.
    pub(super) fn is_clustered<K: Resource>() -> bool {
        // A name, since the scope of a kind need not be `'static`.
        type_name::<K::Scope>() == type_name::<ClusterResourceScope>()
    }
}
