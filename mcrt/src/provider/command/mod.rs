//! Clusters that a program lists: cloud command lines, inventories, whatever prints JSON.
mod access;
mod line;
mod lines;
mod noise;
mod output;
mod polled;
mod streamed;
#[cfg(test)]
mod tests;

use super::{Change, Provider, ProviderContext};
use crate::connect::Policy;
use futures::stream::BoxStream;
use polled::Polled;
use std::{
    ffi::{OsStr, OsString},
    fmt, io,
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use streamed::Streamed;

/// The clusters that a program of the operator's prints, one JSON object a line.
///
/// A line describes one cluster, by a kubeconfig or by the fields of one:
/// ```json
/// {"name": "eu/prod", "uid": "arn:...", "kubeconfig": "apiVersion: v1\nclusters: ...", "labels": {"stage": "prod"}}
/// {"name": "eu/dev", "access": {"server": "https://...", "certificate-authority-data": "...", "token": "..."}}
/// {"name": "eu/new", "unusable": "is being created"}
/// ```
/// [`Command::SCHEMA`] says it as a JSON Schema, the book in words.
///
/// The program is **polled**: it lists everything and ends, and is run again each minute. Or it is **streamed**: it
/// lists everything, prints `{"synced": true}`, and goes on with a line for each cluster that changes, and
/// `{"remove": "NAME"}` for each that is gone.
///
/// # Guarantees
/// - A program that fails, is killed at its deadline, or prints too much changes nothing: what was good stays, which is
///   said by [`Change::Failed`]. Of a polled program that fails nothing counts that it has printed.
/// - A line that describes its cluster badly has this cluster [rejected](Change::Rejected), with the reason. A line that
///   gives no name is reported by its number, and until the next list without one no cluster is taken for gone.
///   What is printed is repeated nowhere.
/// - A streamed program that ends is started again, after a pause that grows from 1 to 30 s until it has synced. What
///   it has not named again by then is gone.
/// - A stream that is dropped kills the program's process group.
///
/// # Assumptions
/// The program itself is trusted: it runs as the controller does, with its environment, no input, and what
/// [`Command::env`] adds. What it prints is not: kubeconfigs are read by [`Policy::strict`], so no programs, no files, no
/// servers on this machine, until [`Command::policy`] says otherwise. What it writes to its standard error goes to the
/// log at the level `debug`, since it may be secret.
#[derive(Clone)]
pub struct Command {
    settings: Settings,
}

#[derive(Clone)]
struct Settings {
    program: OsString,
    args: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    is_streamed: bool,
    interval: Duration,
    deadline: Duration,
    policy: Policy,
    /// The first pause before a streamed program is started again, and the longest.
    pauses: [Duration; 2],
}

impl Command {
    /// The JSON Schema of a line.
    pub const SCHEMA: &'static str = include_str!("schema.json");

    /// The clusters that this program prints: a name to look up, or a path. It is polled.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            settings: Settings {
                program: program.into(),
                args: Vec::new(),
                environment: Vec::new(),
                is_streamed: false,
                interval: Duration::from_mins(1),
                deadline: Duration::from_mins(1),
                policy: Policy::strict(),
                pauses: [Duration::from_secs(1), Duration::from_secs(30)],
            },
        }
    }

    /// Its next argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.settings.args.push(arg.into());
        self
    }

    /// Its next arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.settings.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A variable of its environment, in place of the one of this process. `PATH` also says where it is looked up.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.settings.environment.push((name.into(), value.into()));
        self
    }

    /// The program goes on and prints changes.
    #[must_use]
    pub fn streamed(mut self) -> Self {
        self.settings.is_streamed = true;
        self
    }

    /// From the end of a run of a polled program to the next; a minute by default, a tenth of a second at least.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.settings.interval = interval.max(Duration::from_millis(100));
        self
    }

    /// How long a polled program may run, and how long a streamed one may take until it has synced; a minute by default.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = deadline;
        self
    }

    /// What the kubeconfigs that it prints may ask for. [`Policy::own_files`] is for programs that print what is on
    /// this machine.
    ///
    /// ```
    /// use mcrt::{connect::Policy, providers::Command};
    ///
    /// let eks = Command::new("./eks.sh").policy(Policy::strict().allow_command("aws"));
    /// ```
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.policy = policy;
        self
    }

    #[cfg(test)]
    fn pauses(mut self, pauses: [Duration; 2]) -> Self {
        self.settings.pauses = pauses;
        self
    }
}

impl Settings {
    /// What starts the program.
    fn command(&self) -> impl FnOnce() -> io::Result<tokio::process::Command> + Send + 'static {
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stderr(Stdio::piped());
        move || Ok(command)
    }

    /// Its name in messages. Arguments may be secret.
    fn shown(&self) -> String {
        format!("`{}`", AsRef::<OsStr>::as_ref(&self.program).to_string_lossy())
    }
}

/// Nothing of arguments and environment, which may be secret.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("program", &self.settings.program)
            .field("is_streamed", &self.settings.is_streamed)
            .finish_non_exhaustive()
    }
}

impl Provider for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        let settings = Arc::new(self.settings.clone());
        if self.settings.is_streamed {
            Streamed::changes(settings)
        } else {
            Polled::changes(settings)
        }
    }
}
