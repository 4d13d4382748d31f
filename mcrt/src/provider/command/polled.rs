//! A program that lists everything and ends.
use super::{Settings, noise::Noise, output::Output};
use crate::{
    child,
    provider::{Change, said::Said},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{collections::BTreeSet, sync::Arc};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// Most that a program may print in a run: thousands of clusters.
const MOST: usize = 32 << 20;

pub(super) struct Polled {
    settings: Arc<Settings>,
    next_run: Instant,
    said: Said,
}

impl Polled {
    pub(super) fn changes(settings: Arc<Settings>) -> BoxStream<'static, Change> {
        let polled = Self {
            settings,
            next_run: Instant::now(),
            said: Said::default(),
        };
        stream::unfold(polled, async |mut polled| {
            let change = polled.next().await;
            Some((change, polled))
        })
        .boxed()
    }

    async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.said.next() {
                return change;
            }
            sleep_until(self.next_run).await;
            let output = run(&self.settings).await;
            self.next_run = Instant::now() + self.settings.interval;
            match output {
                Ok(output) => self.take(output),
                Err(problem) => self.said.problems(BTreeSet::from([problem])),
            }
        }
    }

    fn take(&mut self, output: Output) {
        if output.is_whole {
            // Before what is new, which may have the name of what is gone.
            self.said.keep(|name| output.clusters.contains_key(name));
        }
        for (name, claim) in output.clusters {
            self.said.claim(&name, claim);
        }
        let program = self.settings.shown();
        let problems = output.problems.into_iter();
        self.said
            .problems(problems.map(|problem| format!("{program}: {problem}")).collect());
        self.said.synced();
    }
}

async fn run(settings: &Arc<Settings>) -> Result<Output, String> {
    let mut noise = Noise::of(settings.shown());
    // Dropped is how it is stopped.
    let never = CancellationToken::new();
    let printed = child::run(settings.command(), settings.deadline, &never, MOST, |chunk| {
        noise.take(chunk);
    });
    let printed = printed
        .await
        .map_err(|failure| format!("{} {failure}; clusters stay as they were", settings.shown()))?;
    let settings = Arc::clone(settings);
    // Megabytes of YAML are parsed, and files may be read: not on a worker.
    let read = tokio::task::spawn_blocking(move || Output::read(&printed, &settings.policy));
    read.await
        .map_err(|_| "what the program printed could not be read".to_owned())
}
