//! Child processes: each has a deadline and bounded output, and is gone with all that it started when nobody wants it.
mod failure;
mod printable;

pub(crate) use failure::Failure;
pub(crate) use printable::printable;

use rustix::process::{Pid, Signal, kill_process_group};
use secrecy::zeroize::Zeroizing;
use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{ChildStderr, ChildStdout, Command},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// How long output is waited for after a program has ended: children that it left behind may hold the pipe open.
const REST: Duration = Duration::from_secs(1);
/// How long a killed program is waited for; only one that hangs in the kernel takes longer.
const REAPED: Duration = Duration::from_secs(5);

/// Runs a program to its end and gives what it printed, once it has ended well. When `stop` is cancelled, the deadline
/// is over, or the future is dropped, its process group is killed.
///
/// It gets no input. What it writes to its standard error goes to `noise` as it comes, where that is piped.
pub(crate) async fn run(
    command: impl FnOnce() -> io::Result<Command> + Send + 'static,
    deadline: Duration,
    stop: &CancellationToken,
    most: usize,
    noise: impl FnMut(&[u8]),
) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut child = None;
    let output = async {
        let started = Child::start(command).await?;
        child.insert(started).output(most, noise).await
    };
    let output = tokio::select! {
        biased;
        () = stop.cancelled() => Err(Failure::Stopped),
        output = timeout(deadline, output) => output.unwrap_or(Err(Failure::TimedOut(deadline))),
    };
    if let Some(mut child) = child {
        child.gone().await;
    }
    output
}

/// A child process that leads a group of its own; dropped, the group is killed.
pub(crate) struct Child(tokio::process::Child);

impl Child {
    /// Starting a program can block for as long as the file system that it lies on: it is done where that is allowed.
    pub(crate) async fn start(
        command: impl FnOnce() -> io::Result<Command> + Send + 'static,
    ) -> Result<Self, Failure> {
        let start = move || {
            let mut command = command()?;
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .process_group(0)
                .kill_on_drop(true);
            command.spawn().map(Self)
        };
        let started = tokio::task::spawn_blocking(start).await;
        started.map_err(|_| Failure::Stopped)?.map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                Failure::NotFound
            } else {
                Failure::NotStarted(error.kind())
            }
        })
    }

    /// Its standard output, once.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }

    /// Its standard error, once, where it is piped.
    pub(crate) fn stderr(&mut self) -> Option<ChildStderr> {
        self.0.stderr.take()
    }

    /// Until it has ended; an error unless it ended well.
    #[cfg(feature = "command")]
    pub(crate) async fn end(&mut self) -> Result<(), Failure> {
        ended_well(self.0.wait().await)
    }

    /// What it prints, once it has ended well.
    async fn output(&mut self, most: usize, noise: impl FnMut(&[u8])) -> Result<Zeroizing<Vec<u8>>, Failure> {
        let mut stdout = self.stdout().ok_or(Failure::Stopped)?;
        let stderr = self.stderr();
        let mut output = Zeroizing::new(Vec::with_capacity(16 << 10));
        let printed = AtomicUsize::new(0);
        let read = async {
            loop {
                match stdout.read_buf(&mut *output).await {
                    Ok(0) => return Ok(()),
                    Ok(_) if output.len() > most => return Err(Failure::TooMuch(most)),
                    Ok(_) => printed.store(output.len(), Relaxed),
                    Err(error) => return Err(Failure::Output(error.kind())),
                }
            }
        };
        let ended = {
            let reading = async {
                let heard = async {
                    hear(stderr, noise).await;
                    Ok(())
                };
                tokio::try_join!(read, heard).map(drop)
            };
            tokio::pin!(reading);
            tokio::select! {
                biased;
                read = &mut reading => {
                    read?;
                    self.0.wait().await
                }
                status = self.0.wait() => {
                    // What it printed itself is in the pipe, and read at once.
                    let mut rest = timeout(REST / 2, &mut reading).await;
                    let by_itself = printed.load(Relaxed);
                    if rest.is_err() {
                        rest = timeout(REST / 2, &mut reading).await;
                    }
                    match rest {
                        Ok(read) => read?,
                        Err(_) if printed.load(Relaxed) > by_itself => return Err(Failure::Unfinished),
                        // Children that go on in silence are none of ours.
                        Err(_) => {}
                    }
                    status
                }
            }
        };
        ended_well(ended)?;
        Ok(output)
    }

    /// Sees to it that it runs no more, and its children neither unless it ended by itself.
    pub(crate) async fn gone(&mut self) {
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

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads to the end, so that the writer never waits for a reader.
pub(crate) async fn hear(source: Option<impl AsyncRead + Unpin>, mut noise: impl FnMut(&[u8])) {
    let Some(mut source) = source else { return };
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = source.read(&mut chunk).await {
        noise(&chunk[..read]);
    }
}

fn ended_well(ended: io::Result<ExitStatus>) -> Result<(), Failure> {
    let status = ended.map_err(|error| Failure::Output(error.kind()))?;
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::Exit(code)),
        (None, signal) => Err(Failure::Signal(signal.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn printed(script: &'static str) -> Result<Vec<u8>, Failure> {
        let command = move || {
            let mut command = Command::new("/bin/sh");
            // What goes on in the background holds nothing of the test's own.
            command.args(["-c", script]).stderr(Stdio::null());
            Ok(command)
        };
        let (deadline, stop) = (Duration::from_mins(1), CancellationToken::new());
        run(command, deadline, &stop, 1 << 20, |_| {})
            .await
            .map(|output| output.to_vec())
    }

    #[tokio::test]
    async fn output_is_not_whole_while_something_that_the_program_started_goes_on_printing() {
        let going_on = "(for turn in $(seq 60); do echo more; sleep 0.05; done) & echo first";
        assert_eq!(printed(going_on).await, Err(Failure::Unfinished));
        let silent = "sleep 10 & echo first";
        assert_eq!(printed(silent).await.as_deref(), Ok(&b"first\n"[..]));
        let large = "sleep 10 & head -c 200000 /dev/zero; true";
        assert_eq!(printed(large).await.map(|output| output.len()), Ok(200_000));
    }
}
