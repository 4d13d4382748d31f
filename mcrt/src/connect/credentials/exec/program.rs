//! One run of a credential program: a child process with a deadline and bounded output, gone when the run is.
use super::{
    super::super::connection::ExecPlugin,
    answer::{self, Credential},
    failure::Failure,
};
use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::zeroize::Zeroizing;
use serde::Serialize;
use serde_json::value::RawValue;
use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// Most that a program may print.
const MOST: usize = 1 << 20;
/// How long output is waited for after the program has ended: children that it left behind may hold the pipe open.
const REST: Duration = Duration::from_secs(1);
/// How long a killed program is waited for; only one that hangs in the kernel takes longer.
const REAPED: Duration = Duration::from_secs(5);

/// Runs a program and reads what it gives. When `stop` is cancelled, or the future dropped, its process group is
/// killed.
///
/// It gets no input, the environment of this process with that of its description, and `KUBERNETES_EXEC_INFO`. What it
/// writes to its standard error is discarded: it may be secret.
pub(in super::super) async fn run(
    plugin: Arc<ExecPlugin>,
    deadline: Duration,
    stop: CancellationToken,
) -> Result<Credential, Failure> {
    let mut program = None;
    let output = async {
        let child = spawn(&plugin).await?;
        program.insert(Program(child)).output().await
    };
    let output = tokio::select! {
        biased;
        () = stop.cancelled() => Err(Failure::Stopped),
        output = timeout(deadline, output) => output.unwrap_or(Err(Failure::TimedOut(deadline))),
    };
    if let Some(mut program) = program {
        program.gone().await;
    }
    let output = output?;
    // Keys are checked and a mebibyte of YAML is parsed: not on a worker.
    let read = tokio::task::spawn_blocking(move || answer::read(&plugin, &output, SystemTime::now()));
    read.await.unwrap_or(Err(Failure::Stopped))
}

/// Starting a program can block for as long as the file system that it lies on.
async fn spawn(plugin: &Arc<ExecPlugin>) -> Result<Child, Failure> {
    let described = Arc::clone(plugin);
    let spawned = tokio::task::spawn_blocking(move || command(&described)?.spawn()).await;
    match spawned.map_err(|_| Failure::Stopped)? {
        Ok(child) => Ok(child),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::NotFound {
            hint: plugin.install_hint.as_deref().map(printable),
        }),
        Err(error) => Err(Failure::NotStarted(error.kind())),
    }
}

fn command(plugin: &ExecPlugin) -> io::Result<Command> {
    let mut command = Command::new(&plugin.command);
    command
        .args(&plugin.args)
        .envs(plugin.env.iter().map(|(name, value)| (name, value)))
        .env("KUBERNETES_EXEC_INFO", info(plugin)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    Ok(command)
}

/// What the program is told: an `ExecCredential` with a `spec`.
fn info(plugin: &ExecPlugin) -> io::Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Info<'a> {
        api_version: &'a str,
        kind: &'static str,
        spec: Spec<'a>,
    }
    #[derive(Serialize)]
    struct Spec<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        cluster: Option<&'a RawValue>,
        interactive: bool,
    }
    let cluster = plugin
        .cluster_info
        .as_deref()
        .map(serde_json::from_str)
        .transpose()?;
    let info = Info {
        api_version: &plugin.api_version,
        kind: "ExecCredential",
        spec: Spec {
            cluster,
            interactive: false,
        },
    };
    Ok(serde_json::to_string(&info)?)
}

/// A hint is somebody's text: one line of it, without control characters.
fn printable(hint: &str) -> String {
    let words: Vec<_> = hint.split_whitespace().collect();
    words
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .take(300)
        .collect()
}

/// A child process that leads a group of its own.
struct Program(Child);

impl Program {
    /// What it prints, once it has ended well.
    async fn output(&mut self) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let mut stdout = self.0.stdout.take().ok_or(Failure::Stopped)?;
        let mut output = Zeroizing::new(Vec::with_capacity(16 << 10));
        let mut read = async || loop {
            match stdout.read_buf(&mut *output).await {
                Ok(0) => return Ok(()),
                Ok(_) if output.len() > MOST => return Err(Failure::TooMuch),
                Ok(_) => {}
                Err(error) => return Err(Failure::Output(error.kind())),
            }
        };
        let status = {
            let reading = read();
            tokio::pin!(reading);
            tokio::select! {
                biased;
                read = &mut reading => {
                    read?;
                    self.0.wait().await
                }
                status = self.0.wait() => {
                    // Children that go on are none of ours; what they hold back was not meant for us.
                    timeout(REST, reading).await.unwrap_or(Ok(()))?;
                    status
                }
            }
        };
        ended_well(status.map_err(|error| Failure::Output(error.kind()))?)?;
        Ok(output)
    }

    /// Sees to it that it runs no more, and its children neither unless it ended by itself.
    async fn gone(&mut self) {
        self.kill();
        // Waits for nothing if it has ended.
        let _ = timeout(REAPED, self.0.wait()).await;
    }

    fn kill(&self) {
        // No number once it has been waited for: then the group's may be somebody else's.
        let number = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = number.and_then(Pid::from_raw) {
            // Fails if the group is gone already.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

fn ended_well(status: ExitStatus) -> Result<(), Failure> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::Exit(code)),
        (None, signal) => Err(Failure::Signal(signal.unwrap_or_default())),
    }
}
