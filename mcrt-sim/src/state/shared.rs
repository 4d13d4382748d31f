//! What several stores share that are one storage behind: their versions, and the views that show all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use crate::state::kind::Kind;
use crate::state::log::Event;
use crate::state::object::{ObjectKey, meta_mut, object_mut};
use crate::state::store::Store;

/// The annotation in which every object names its logical cluster.
pub(crate) const CLUSTER: &str = "kcp.io/cluster";

/// One sequence of versions for many stores.
///
/// Locks are taken in this order: a store of a part, the sequence, the store of a view.
#[derive(Default)]
pub(crate) struct Shared {
    /// The version of the last write, while it is shown everywhere.
    turn: Mutex<u64>,
    /// The version up to which everything is shown everywhere.
    shown: AtomicU64,
    views: Mutex<Vec<Arc<dyn View>>>,
}

/// Shows the objects of several parts.
pub(crate) trait View: Send + Sync {
    /// Something happened in a part, which may make it one that is shown. Called in the order of versions.
    fn show(&self, cluster: &Arc<str>, kind: &Kind, event: &Event);

    /// Afterwards: a part that is shown since has everything else shown as well, one that is no longer has nothing.
    fn reconsider(&self, cluster: &Arc<str>, store: &mut Store, changed: &ObjectKey);

    /// Whether a change of this kind makes a part one that it shows.
    fn depends_on(&self, kind: &Kind) -> bool;
}

impl Shared {
    pub(crate) fn add_view(&self, view: Arc<dyn View>) {
        self.views.lock().push(view);
    }

    fn views(&self) -> Vec<Arc<dyn View>> {
        self.views.lock().clone()
    }

    /// The right to write, in one part or in the views alone.
    pub(crate) fn turn<'a>(&'a self, cluster: Option<&'a Arc<str>>) -> Turn<'a> {
        Turn {
            last: self.turn.lock(),
            shared: self,
            cluster,
        }
    }

    /// The version up to which everything can be seen.
    pub(crate) fn version(&self) -> u64 {
        self.shown.load(Ordering::Acquire)
    }
}

/// The right to write in a sequence; what was written counts when it is dropped.
pub(crate) struct Turn<'a> {
    last: MutexGuard<'a, u64>,
    shared: &'a Shared,
    cluster: Option<&'a Arc<str>>,
}

impl Turn<'_> {
    pub(crate) fn next(&mut self) -> u64 {
        *self.last += 1;
        *self.last
    }

    /// Shows what was written.
    pub(crate) fn show(self, kind: &Kind, event: &Event) {
        if let Some(cluster) = self.cluster {
            for view in self.shared.views() {
                view.show(cluster, kind, event);
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.shared.shown.store(*self.last, Ordering::Release);
    }
}

/// What makes a store one of several.
pub(crate) struct Part {
    /// The name of its logical cluster; nothing for a view.
    pub(crate) cluster: Option<Arc<str>>,
    pub(crate) shared: Arc<Shared>,
}

impl Part {
    pub(crate) fn turn(&self) -> Turn<'_> {
        self.shared.turn(self.cluster.as_ref())
    }

    pub(crate) fn mark(&self, value: &mut Value) {
        if let Some(cluster) = &self.cluster {
            let metadata = meta_mut(value);
            let annotations = metadata.entry("annotations").or_insert(Value::Null);
            object_mut(annotations).insert(CLUSTER.into(), (**cluster).into());
        }
    }

    /// Has every view look whether it shows a store, after a change of one of these objects.
    pub(crate) fn reconsider(&self, kind: &Kind, store: &mut Store, changed: &ObjectKey) {
        if let Some(cluster) = &self.cluster {
            for view in self.shared.views() {
                if view.depends_on(kind) {
                    view.reconsider(cluster, store, changed);
                }
            }
        }
    }
}

impl Store {
    /// Lets it see how far the others are.
    pub(crate) fn catch_up(&mut self) {
        if let Some(part) = &self.part {
            self.version = self.version.max(part.shared.version());
        }
    }

    /// Writes some objects again as they are.
    pub(crate) fn touch(&mut self, which: impl Fn(&Kind, &ObjectKey) -> bool) {
        let kinds: Vec<_> = self.registry.iter().cloned().collect();
        for kind in kinds {
            let mut all = self.in_namespace(&kind.id, None);
            all.retain(|object| which(&kind, &object.key));
            for old in all {
                let content = old.content();
                self.put(&kind, Some(old), content);
            }
        }
    }

    /// Writes everything that it holds into another, empty one.
    pub(crate) fn copy_into(&self, other: &mut Store) {
        other.registry = self.registry.clone();
        other.seeded = self.seeded;
        let kinds: Vec<_> = self.registry.iter().cloned().collect();
        for kind in kinds {
            for object in self.in_namespace(&kind.id, None) {
                other.put(&kind, None, object.content());
            }
        }
    }

    /// Shows what happened in a part.
    pub(crate) fn mirror(&mut self, cluster: &Arc<str>, kind: &Kind, event: &Event) {
        self.registry.adopt(kind);
        let new = Arc::new(event.new.in_cluster(cluster));
        let resource = self.resource(kind);
        let old = resource.objects.get(&new.key).cloned();
        if event.removed {
            if old.is_none() {
                return;
            }
            resource.objects.remove(&new.key);
        } else {
            resource.objects.insert(new.key.clone(), Arc::clone(&new));
        }
        resource.push(Event {
            old,
            new,
            ..event.clone()
        });
        self.version = event.version;
    }

    /// Shows nothing of a part any more.
    pub(crate) fn forget(&mut self, cluster: &Arc<str>, turn: &mut Turn<'_>) {
        let kinds: Vec<_> = self.registry.iter().cloned().collect();
        for kind in kinds {
            let all = self.in_namespace(&kind.id, None);
            let of_it = all
                .iter()
                .filter(|object| object.key.cluster.as_ref() == Some(cluster));
            for old in of_it {
                let version = turn.next();
                let event = Event {
                    version,
                    old: None,
                    new: Arc::new(old.at_version(version)),
                    removed: true,
                };
                self.mirror(cluster, &kind, &event);
            }
        }
    }
}
