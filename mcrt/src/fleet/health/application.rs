//! The checks that a program makes of its clusters.
use super::{Watchdog, condition::APPLICATION, shaken};
use crate::{Error, fleet::Cluster, panic::panic_text};
use futures::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use std::{fmt, panic::AssertUnwindSafe, sync::Arc};
use tokio::time::{sleep, timeout};

/// A check of the program, under its name.
#[derive(Clone)]
pub(crate) struct HealthCheck {
    name: Arc<str>,
    check: Arc<dyn Fn(Cluster) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>,
}

impl HealthCheck {
    pub(crate) fn new<F>(
        name: impl Into<String>,
        check: impl Fn(Cluster) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        Self {
            name: name.into().into(),
            check: Arc::new(move |cluster| Box::pin(check(cluster))),
        }
    }
}

impl fmt::Debug for HealthCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HealthCheck").field(&self.name).finish()
    }
}

impl Watchdog<'_> {
    /// Runs the checks of the program, each at its own pace. The host is the program's own: it has none.
    pub(super) async fn applications(&self) {
        if self.cluster.is_host() {
            return;
        }
        let checks = self.fleet.checks().iter().enumerate();
        join_all(checks.map(|(at, check)| self.application(APPLICATION + at, check))).await;
    }

    async fn application(&self, at: usize, check: &HealthCheck) {
        loop {
            self.takes_requests().await;
            let outcome = self.run(check).await;
            // Requests that fail because an outage has begun say nothing of the application.
            if self.breaker().circuit().is_closed() {
                self.observe(|condition, now| condition.checked(at, outcome, now));
            }
            sleep(shaken(self.settings.application.interval)).await;
        }
    }

    async fn run(&self, check: &HealthCheck) -> Result<(), String> {
        let name = &check.name;
        let deadline = self.settings.application.deadline;
        // Called inside the guarded future: what it does before its first await may panic too.
        let call = async { (check.check)(self.cluster.clone()).await };
        match timeout(deadline, AssertUnwindSafe(call).catch_unwind()).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(format!("check `{name}`: {error:#}")),
            Ok(Err(panic)) => Err(format!("check `{name}` panicked: {}", panic_text(&*panic))),
            Err(_) => Err(format!("check `{name}`: no answer within {deadline:?}")),
        }
    }
}
