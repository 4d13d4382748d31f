//! A program that lists everything, says so, and goes on with what changes.
use super::{
    Settings,
    line::Line,
    lines::{Lines, Numbered, TOO_LONG},
    noise::Noise,
    output::MOST_COMPLAINTS,
};
use crate::{
    child::{self, Child, Failure},
    cluster::ClusterName,
    jitter::around,
    provider::{
        Change,
        said::{Claim, Said},
    },
};
use futures::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::{
    process::ChildStdout,
    time::{Instant, sleep_until, timeout},
};

/// How long a program that has closed its output may take to end.
const REST: Duration = Duration::from_secs(5);

pub(super) struct Streamed {
    settings: Arc<Settings>,
    running: Option<Running>,
    next_start: Instant,
    next_pause: Duration,
    said: Said,
}

/// A run of the program.
struct Running {
    child: Child,
    lines: Lines<ChildStdout>,
    /// Ends never, so that it can be waited for beside the lines.
    noise: BoxFuture<'static, ()>,
    /// Until it has synced.
    deadline: Option<Instant>,
    named: BTreeSet<ClusterName>,
    /// Lines that nobody knows the cluster of.
    nameless: usize,
}

impl Streamed {
    pub(super) fn changes(settings: Arc<Settings>) -> BoxStream<'static, Change> {
        let streamed = Self {
            next_pause: settings.pauses[0],
            settings,
            running: None,
            next_start: Instant::now(),
            said: Said::default(),
        };
        stream::unfold(streamed, async |mut streamed| {
            let change = streamed.next().await;
            Some((change, streamed))
        })
        .boxed()
    }

    async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.said.next() {
                return change;
            }
            let Some(running) = &mut self.running else {
                sleep_until(self.next_start).await;
                match Running::start(&self.settings).await {
                    Ok(running) => self.running = Some(running),
                    Err(failure) => self.ended(&failure.to_string()),
                }
                continue;
            };
            match running.line().await {
                Ok((number, line)) => self.take(number, line).await,
                Err(how) => {
                    running.child.gone().await;
                    self.ended(&how);
                }
            }
        }
    }

    /// It runs no more: clusters stay, and it is started again after a while.
    fn ended(&mut self, how: &str) {
        self.running = None;
        self.next_start = Instant::now() + around(self.next_pause);
        self.next_pause = (self.next_pause * 2).min(self.settings.pauses[1]);
        let program = self.settings.shown();
        self.said.problems(BTreeSet::from([format!(
            "{program} {how}; clusters stay as they were, and it is started again"
        )]));
    }

    async fn take(&mut self, number: usize, line: Option<secrecy::zeroize::Zeroizing<Vec<u8>>>) {
        let Some(line) = line else {
            return self.complain(number, TOO_LONG);
        };
        let settings = Arc::clone(&self.settings);
        let read = tokio::task::spawn_blocking(move || {
            let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line);
            match Line::read(line) {
                Line::Cluster(name, Ok(described)) => {
                    let claim = described.vet(&name, &settings.policy);
                    Vetted::Cluster(name, claim)
                }
                Line::Cluster(name, Err(reason)) => Vetted::Cluster(name, Claim::Bad(reason)),
                Line::Remove(name) => Vetted::Remove(name),
                Line::Synced => Vetted::Synced,
                Line::Nameless(reason) => Vetted::Nameless(reason),
            }
        });
        let Some(running) = &mut self.running else {
            return;
        };
        match read.await {
            Ok(Vetted::Cluster(name, claim)) => {
                self.said.claim(&name, claim);
                running.named.insert(name);
            }
            Ok(Vetted::Remove(name)) => {
                self.said.remove(&name);
                running.named.remove(&name);
            }
            Ok(Vetted::Synced) => self.synced(),
            Ok(Vetted::Nameless(reason)) => self.complain(number, &reason),
            Err(_) => self.complain(number, "could not be read"),
        }
    }

    /// The first time in a run, what was not named in it is gone.
    fn synced(&mut self) {
        let Some(running) = &mut self.running else {
            return;
        };
        if running.deadline.take().is_none() {
            return;
        }
        if running.nameless == 0 {
            self.said.keep(|name| running.named.contains(name));
        }
        // What was wrong before is right again.
        self.said.problems(BTreeSet::new());
        self.next_pause = self.settings.pauses[0];
        self.said.synced();
    }

    fn complain(&mut self, number: usize, reason: &str) {
        let Some(running) = &mut self.running else {
            return;
        };
        running.nameless += 1;
        let is_listing = running.deadline.is_some();
        let consequence = if is_listing {
            "; until it is started again, no cluster is taken for gone that it does not remove"
        } else {
            ""
        };
        let more = match running.nameless {
            MOST_COMPLAINTS => "; more such lines are not reported in this run",
            ..MOST_COMPLAINTS => "",
            _ => return,
        };
        let program = self.settings.shown();
        self.said
            .problem(format!("{program}: line {number} {reason}{consequence}{more}"));
    }
}

/// What a line says, vetted.
enum Vetted {
    Cluster(ClusterName, Claim),
    Remove(ClusterName),
    Synced,
    Nameless(String),
}

impl Running {
    async fn start(settings: &Settings) -> Result<Self, Failure> {
        let mut child = Child::start(settings.command()).await?;
        let stdout = child.stdout().ok_or(Failure::Stopped)?;
        let stderr = child.stderr();
        let mut noise = Noise::of(settings.shown());
        let noise = async move {
            child::hear(stderr, |chunk| noise.take(chunk)).await;
            std::future::pending::<()>().await;
        };
        Ok(Self {
            child,
            lines: Lines::new(stdout),
            noise: noise.boxed(),
            deadline: Some(Instant::now() + settings.deadline),
            named: BTreeSet::new(),
            nameless: 0,
        })
    }

    /// Its next line, or how it ended.
    async fn line(&mut self) -> Result<Numbered, String> {
        let late = async {
            match self.deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let line = tokio::select! {
            line = self.lines.next() => line,
            () = &mut self.noise => return Err("is no longer heard".to_owned()),
            () = late => {
                return Err("did not print `{\"synced\": true}` before its deadline and was killed".to_owned());
            }
        };
        match line {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(self.end().await),
            Err(error) => Err(Failure::Output(error.kind()).to_string()),
        }
    }

    async fn end(&mut self) -> String {
        match timeout(REST, self.child.end()).await {
            Ok(Ok(())) => "ended".to_owned(),
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => "closed its output and was killed".to_owned(),
        }
    }
}
