//! A credential program that is none: it gives what a test says, under paused time.
use super::{
    super::{
        Plugins,
        exec::{Credential, Failure, Lease, Shared},
        header,
    },
    plugin,
};
use crate::connect::CredentialSettings;
use http::HeaderValue;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{runtime::Handle, time::sleep};

pub(super) const MINUTE: Duration = Duration::from_mins(1);

/// What a run takes, and what it gives.
type Step = (Duration, Result<Credential, Failure>);

#[derive(Default)]
pub(super) struct Script {
    steps: Mutex<VecDeque<Step>>,
    runs: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

#[expect(clippy::unnecessary_wraps, reason = "a step may also be a failure")]
pub(super) fn token(token: &str, lasts: Option<Duration>) -> Result<Credential, Failure> {
    Ok(Credential {
        header: header::bearer(token),
        certificate: None,
        lasts,
    })
}

impl Script {
    pub(super) fn of(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        let script = Self::default();
        script.steps.lock().extend(steps);
        Arc::new(script)
    }

    /// How often it ran.
    pub(super) fn runs(&self) -> usize {
        self.runs.load(SeqCst)
    }

    /// How many ran at once at most.
    pub(super) fn most(&self) -> usize {
        self.most.load(SeqCst)
    }

    /// Uses it under a name that tells it from others.
    pub(super) fn lease(self: &Arc<Self>, plugins: &Plugins, name: &str) -> Lease {
        let script = Arc::clone(self);
        let settings = CredentialSettings::default();
        plugins.lease_run(&plugin(name), &settings, &Handle::current(), move |stop| {
            let script = Arc::clone(&script);
            Box::pin(async move {
                let run = stop.run_until_cancelled(script.run()).await;
                script.running.fetch_sub(1, SeqCst);
                run.unwrap_or(Err(Failure::Stopped))
            })
        })
    }

    async fn run(&self) -> Result<Credential, Failure> {
        self.runs.fetch_add(1, SeqCst);
        self.most.fetch_max(self.running.fetch_add(1, SeqCst) + 1, SeqCst);
        let step = self.steps.lock().pop_front();
        let (takes, gives) = step.unwrap_or((Duration::ZERO, Err(Failure::Exit(99))));
        sleep(takes).await;
        gives
    }
}

/// The header as text.
pub(super) async fn shown(shared: &Shared) -> Result<String, Failure> {
    let header = shared.header().await?;
    Ok(text(header.as_ref()))
}

pub(super) fn text(header: Option<&HeaderValue>) -> String {
    header
        .map(|header| header.to_str().unwrap().to_owned())
        .unwrap_or_default()
}
