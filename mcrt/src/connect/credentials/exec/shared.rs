//! One credential program in use: the task that runs it, and what it last gave.
use super::{super::super::settings::CredentialSettings, answer::Credential, failure::Failure, state::State};
use futures::future::BoxFuture;
use http::HeaderValue;
use parking_lot::Mutex;
use rustls::sign::CertifiedKey;
use std::{sync::Arc, time::Duration};
use tokio::{
    runtime,
    sync::{Notify, Semaphore, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Something that is run to get a credential; ends early once the token is cancelled.
pub(in super::super) trait Run:
    Fn(CancellationToken) -> BoxFuture<'static, Result<Credential, Failure>> + Send + Sync + 'static
{
}

impl<F> Run for F where
    F: Fn(CancellationToken) -> BoxFuture<'static, Result<Credential, Failure>> + Send + Sync + 'static
{
}

/// A program in use by one or more clusters.
///
/// # Guarantees
/// It runs at most once at a time. It runs when somebody needs a credential and there is none that is valid, before
/// the one in use expires, and at most once per interval because servers refuse it. What it gave is used until it
/// expires, whatever becomes of later runs; after a failure it is left alone for a while.
pub(in super::super) struct Shared {
    state: watch::Sender<State>,
    /// Wakes the task, which looks for itself whether there is something to do.
    asked: Notify,
    refusals: Mutex<Refusals>,
    slots: Arc<Semaphore>,
    deadline: Duration,
    interval: Duration,
    stop: CancellationToken,
    /// Owns the task.
    task: TaskTracker,
}

#[derive(Default)]
struct Refusals {
    last: Option<Instant>,
    /// A run is wanted although there is a credential.
    pending: bool,
}

impl Shared {
    pub(super) fn start(
        run: impl Run,
        slots: Arc<Semaphore>,
        settings: &CredentialSettings,
        runtime: &runtime::Handle,
    ) -> Arc<Self> {
        let shared = Arc::new(Self {
            state: watch::Sender::new(State::default()),
            asked: Notify::new(),
            refusals: Mutex::default(),
            slots,
            deadline: settings.plugin_deadline,
            interval: settings.refused_interval,
            stop: CancellationToken::new(),
            task: TaskTracker::new(),
        });
        shared.task.spawn_on(Arc::clone(&shared).keep(run), runtime);
        shared
    }

    /// Ends the task, and the run that it may be in.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        self.task.close();
        self.task.wait().await;
    }

    /// The header of a valid credential: at once if there is one, else after a run that all wait for together.
    pub(in super::super) async fn header(&self) -> Result<Option<HeaderValue>, Failure> {
        let mut changes = self.state.subscribe();
        let given = async {
            loop {
                {
                    let state = changes.borrow_and_update();
                    if let Some(credential) = state.valid() {
                        return Ok(credential.header.clone());
                    }
                    if let Some(why) = state.left_alone() {
                        return Err(why.clone());
                    }
                }
                self.asked.notify_one();
                self.next(&mut changes).await?;
            }
        };
        // The run and the wait for its turn have each their deadline; a request waits for neither twice.
        let longest = self.deadline.saturating_mul(2);
        timeout(longest, given)
            .await
            .unwrap_or(Err(Failure::Busy(longest)))
    }

    pub(in super::super) fn certificate(&self) -> Option<Arc<CertifiedKey>> {
        self.state.borrow().certificate().cloned()
    }

    pub(in super::super) fn generation(&self) -> u64 {
        self.state.borrow().generation
    }

    /// A server refused what was shown: runs the program again, at most once per interval, and waits for a run that
    /// is under way. True if there is something else to show now.
    pub(in super::super) async fn refused(&self, sent: Option<&HeaderValue>, generation: u64) -> bool {
        let mut changes = self.state.subscribe();
        let runs = {
            let state = changes.borrow_and_update();
            if state.differs(sent, generation) {
                return true;
            }
            state.runs
        };
        if !self.want_run() {
            return false;
        }
        self.asked.notify_one();
        let renewed = async {
            while changes.borrow_and_update().runs == runs {
                self.next(&mut changes).await.ok()?;
            }
            Some(changes.borrow().differs(sent, generation))
        };
        let renewed = timeout(self.deadline.saturating_mul(2), renewed).await;
        renewed.ok().flatten().unwrap_or(false)
    }

    /// Whether a run because of a refusal is to be waited for: one that is pending, or a new one.
    fn want_run(&self) -> bool {
        let mut refusals = self.refusals.lock();
        if refusals.pending {
            return true;
        }
        let soon = refusals.last.is_some_and(|last| last.elapsed() < self.interval);
        if soon {
            return false;
        }
        *refusals = Refusals {
            last: Some(Instant::now()),
            pending: true,
        };
        true
    }

    async fn next(&self, changes: &mut watch::Receiver<State>) -> Result<(), Failure> {
        tokio::select! {
            () = self.stop.cancelled() => Err(Failure::Stopped),
            told = changes.changed() => told.map_err(|_| Failure::Stopped),
        }
    }

    /// Runs the program when there is a reason to, until the end.
    async fn keep(self: Arc<Self>, run: impl Run) {
        while self.reason().await {
            let given = self.run(&run).await;
            if self.stop.is_cancelled() {
                return;
            }
            self.refusals.lock().pending = false;
            self.state.send_modify(|state| state.take(given));
        }
    }

    /// Waits for a reason to run; false at the end.
    async fn reason(&self) -> bool {
        loop {
            let due = self.state.borrow().due();
            let refresh = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return false,
                () = self.asked.notified() => if self.is_needed() { return true },
                () = refresh => return true,
            }
        }
    }

    /// Whether it is to run for those who ask: they may have got what they wanted since.
    fn is_needed(&self) -> bool {
        let refused = self.refusals.lock().pending;
        let state = self.state.borrow();
        refused || state.valid().is_none() && state.left_alone().is_none()
    }

    async fn run(&self, run: &impl Run) -> Result<Credential, Failure> {
        let slot = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Err(Failure::Stopped),
            slot = timeout(self.deadline, self.slots.acquire()) => slot,
        };
        let _slot = match slot {
            Ok(Ok(slot)) => slot,
            Ok(Err(_)) => return Err(Failure::Stopped),
            Err(_) => return Err(Failure::Busy(self.deadline)),
        };
        run(self.stop.clone()).await
    }
}
