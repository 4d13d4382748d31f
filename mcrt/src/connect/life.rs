//! The owner of every task that one cluster's transport spawns.
use super::shared::Lease;
use parking_lot::Mutex;
use std::future::Future;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// One life of a cluster's transport: it owns the tasks behind the clients made for it.
///
/// # Guarantees
/// After [`Life::end`] returns, no task of these clients runs, their sockets are closed and every further request
/// fails at once. Dropping a life starts the same without waiting for it.
///
/// # Assumptions
/// A name lookup that is under way holds a blocking thread of the runtime until the resolver gives up; it is the one
/// thing that cannot be stopped, and it is not counted.
#[derive(Debug, Default)]
pub struct Life {
    ward: Ward,
    /// What of other lives goes on as long as this one.
    leases: Mutex<Vec<Lease>>,
}

impl Life {
    /// A new life with no tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancelled when the life ends.
    pub fn token(&self) -> &CancellationToken {
        &self.ward.token
    }

    /// Runs a task until it is done or the life ends, whichever is first.
    ///
    /// Must be called inside a tokio runtime.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.ward.spawn(task);
    }

    /// Ends the life: cancels every task and waits until the last is gone. Calling it again is harmless.
    pub async fn end(&self) {
        self.ward.token.cancel();
        self.ward.tracker.close();
        self.ward.tracker.wait().await;
        let leases = std::mem::take(&mut *self.leases.lock());
        for lease in leases {
            lease.end().await;
        }
    }

    /// Holds a share of a server, which is given back when everything of this life has ended.
    pub(super) fn lend(&self, lease: Lease) {
        self.leases.lock().push(lease);
    }

    /// How many tasks are running.
    pub fn tasks(&self) -> usize {
        self.ward.tracker.len()
    }

    /// A handle for the parts that spawn.
    pub(super) fn ward(&self) -> &Ward {
        &self.ward
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.ward.token.cancel();
        self.ward.tracker.close();
    }
}

/// What spawns on a life without owning it; also the executor of hyper's pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Ward {
    token: CancellationToken,
    tracker: TaskTracker,
}

impl Ward {
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// What counts its tasks, and is waited for at the end.
    pub(super) fn tracker(&self) -> &TaskTracker {
        &self.tracker
    }

    /// Runs a task until it is done or the life ends.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let token = self.token.clone();
        self.tracker.spawn(async move {
            // The result only says which of the two came first.
            let _ = token.run_until_cancelled(task).await;
        });
    }

    /// Runs a task that watches the token itself, for work to be done at the end.
    pub(super) fn spawn_to_the_end(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(task);
    }

    /// Counts as a task for as long as it is held.
    pub(super) fn hold(&self) -> TaskTrackerToken {
        self.tracker.token()
    }
}

impl<F> hyper::rt::Executor<F> for Ward
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.spawn(task);
    }
}
