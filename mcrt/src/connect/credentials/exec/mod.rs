//! Credential programs: run once for all clusters that ask the same of them, refreshed before what they gave expires.
//!
//! ```text
//! Material --lease--> Plugins --one for each description--> Shared (the task that runs it) --> program --> answer
//! ```
mod answer;
mod failure;
mod program;
mod schedule;
mod shared;
mod state;

pub(super) use failure::Failure;
pub(super) use shared::Shared;
#[cfg(test)]
pub(super) use {
    answer::{Credential, read},
    program::run,
    schedule::{again_after, refresh_after},
};

use super::super::{connection::ExecPlugin, settings::CredentialSettings};
use parking_lot::Mutex;
use shared::Run;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, LazyLock},
};
use tokio::{runtime, sync::Semaphore};

/// How many programs the process runs at once by default.
const AT_ONCE: usize = 8;

/// The credential programs of this process: those in use, and how many may run at once.
///
/// A cheap handle. Clusters whose kubeconfigs ask the same program with the same arguments, environment and cluster
/// share what it gives, and each run of it. The default is one for the whole process.
#[derive(Clone)]
pub struct Plugins(Arc<Inner>);

struct Inner {
    at_once: usize,
    slots: Arc<Semaphore>,
    /// Held for changes of the map alone.
    used: Mutex<HashMap<Key, Used>>,
}

/// What tells programs apart. The runtime counts because its end takes the task with it.
type Key = (ExecPlugin, runtime::Id);

struct Used {
    shared: Arc<Shared>,
    leases: usize,
}

impl Plugins {
    /// Programs that are not shared with others of the process, of which so many (at least one) run at once.
    pub fn new(at_once: usize) -> Self {
        let at_once = at_once.max(1);
        Self(Arc::new(Inner {
            at_once,
            slots: Arc::new(Semaphore::new(at_once)),
            used: Mutex::default(),
        }))
    }

    /// Those that the whole process shares; eight run at once.
    pub fn of_the_process() -> Self {
        static PROCESS: LazyLock<Plugins> = LazyLock::new(|| Plugins::new(AT_ONCE));
        PROCESS.clone()
    }

    /// How many may run at once.
    pub fn at_once(&self) -> usize {
        self.0.at_once
    }

    /// How many different programs are in use.
    pub fn used(&self) -> usize {
        self.0.used.lock().len()
    }

    /// Uses a program from now on, which does not run it yet. Its task is the runtime's that this is called in.
    pub(super) fn lease(
        &self,
        plugin: &Arc<ExecPlugin>,
        settings: &CredentialSettings,
        runtime: &runtime::Handle,
    ) -> Lease {
        let deadline = settings.plugin_deadline;
        let described = Arc::clone(plugin);
        self.lease_run(plugin, settings, runtime, move |stop| {
            Box::pin(program::run(Arc::clone(&described), deadline, stop))
        })
    }

    /// As [`lease`](Self::lease), with something else in place of the program.
    pub(super) fn lease_run(
        &self,
        plugin: &ExecPlugin,
        settings: &CredentialSettings,
        runtime: &runtime::Handle,
        run: impl Run,
    ) -> Lease {
        let key = (plugin.clone(), runtime.id());
        let mut used = self.0.used.lock();
        let entry = used.entry(key.clone()).or_insert_with(|| Used {
            shared: Shared::start(run, Arc::clone(&self.0.slots), settings, runtime),
            leases: 0,
        });
        entry.leases += 1;
        Lease {
            shared: Arc::clone(&entry.shared),
            plugins: self.clone(),
            key,
        }
    }
}

/// The use of a program by one cluster.
pub(super) struct Lease {
    shared: Arc<Shared>,
    plugins: Plugins,
    key: Key,
}

impl Lease {
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Gives it back: the last to do so ends a run that is under way and waits until the program is gone.
    pub(super) async fn end(self) {
        let last = {
            let mut used = self.plugins.0.used.lock();
            let leases = used.get_mut(&self.key).map_or(0, |used| {
                used.leases -= 1;
                used.leases
            });
            if leases == 0 {
                used.remove(&self.key);
            }
            leases == 0
        };
        if last {
            self.shared.end().await;
        }
    }
}

impl Default for Plugins {
    fn default() -> Self {
        Self::of_the_process()
    }
}

impl PartialEq for Plugins {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Nothing of the descriptions: arguments and environment may be secret.
impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugins")
            .field("at_once", &self.0.at_once)
            .field("used", &self.used())
            .finish_non_exhaustive()
    }
}
