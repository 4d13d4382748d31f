//! Child processes that never outlive the test, not even one that is killed.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process};

/// Lines of a program's log that an error shows.
const LAST_LINES: usize = 25;

/// How long a frozen program's threads may take to stand still.
const FREEZE_DEADLINE: Duration = Duration::from_secs(5);

/// Lives as long as the pipe from the test: with that gone, removes the folder and kills its process group.
/// The kernel closes the pipe however the test ends, so this holds for SIGKILL too.
const KEEP: &str = r#"while read -r _; do :; done; rm -rf -- "$1"; kill -KILL 0"#;

/// A shell that leads a process group and takes it down when the test is gone.
#[derive(Debug)]
pub(super) struct Keeper {
    shell: Child,
}

impl Keeper {
    /// Starts it; `folder` is what it removes if the test does not live to do so.
    pub(super) fn start(folder: &Path) -> io::Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", KEEP, "keeper"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { shell })
    }

    /// Starts a program in the kept group, its output in `log`.
    pub(super) fn spawn(&self, name: &'static str, command: &mut Command, log: &Path) -> io::Result<Process> {
        let log_file = File::options().create(true).append(true).open(log)?;
        let group = i32::try_from(self.shell.id()).map_err(io::Error::other)?;
        let child = command
            // The group is joined before the program starts: there is no moment in which it is not kept.
            .process_group(group)
            .stdin(Stdio::null())
            .stdout(log_file.try_clone()?)
            .stderr(log_file)
            .spawn()?;
        Ok(Process {
            name,
            log: log.to_owned(),
            child: Mutex::new(child),
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.shell.id()
    }
}

impl Drop for Keeper {
    /// The processes of the group have ended before it; see the order of fields in `ControlPlane`.
    fn drop(&mut self) {
        end(&mut self.shell);
    }
}

/// A running program; dropping it kills it and waits until it is gone.
#[derive(Debug)]
pub(super) struct Process {
    name: &'static str,
    log: PathBuf,
    child: Mutex<Child>,
}

impl Process {
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.lock().id()
    }

    /// How it ended, if it did.
    pub(super) fn exited(&self) -> Option<ExitStatus> {
        self.child.lock().try_wait().ok().flatten()
    }

    /// Sends a signal; nothing happens to a program that has ended.
    pub(super) fn signal(&self, signal: Signal) {
        let mut child = self.child.lock();
        // Only a child that was not waited for is sure to still own its pid.
        if let Ok(None) = child.try_wait() {
            let _ = kill_process(Pid::from_child(&child), signal);
        }
    }

    /// Stops every thread of the program, and returns once they stand still: a signal reaches one of them, and the
    /// others still finish what they are at.
    pub(super) fn freeze(&self) {
        self.signal(Signal::STOP);
        let threads = format!("/proc/{}/task", self.pid());
        let deadline = Instant::now() + FREEZE_DEADLINE;
        while Instant::now() < deadline && !stands_still(Path::new(&threads)) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The end of what it printed.
    pub(super) fn last_lines(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines = log.lines().collect::<Vec<_>>();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        end(self.child.get_mut());
    }
}

/// SIGKILL, then wait: short, because a killed process has no say, and needed, because of zombies and ports.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Whether every thread is stopped, or there is nothing to tell it by.
fn stands_still(threads: &Path) -> bool {
    let Ok(threads) = fs::read_dir(threads) else {
        return true;
    };
    threads.flatten().all(|thread| {
        // The state follows the name, which is in parentheses and may hold anything.
        let status = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        status
            .rsplit_once(')')
            .is_none_or(|(_, rest)| rest.trim_start().starts_with('T'))
    })
}

#[cfg(test)]
mod tests {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use rustix::process::test_kill_process;

    use super::*;

    fn alive(pid: u32) -> bool {
        // A zombie still has its pid: for a process that is not our child, `/proc` would tell, but not everywhere.
        test_kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap()).is_ok()
    }

    fn sleeper(keeper: &Keeper, folder: &Path) -> Process {
        keeper
            .spawn("sleep", Command::new("sleep").arg("600"), &folder.join("log"))
            .unwrap()
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::start(folder.path()).unwrap();
        let process = sleeper(&keeper, folder.path());
        let pid = process.pid();
        assert!(alive(pid));
        drop(process);
        assert!(!alive(pid));
    }

    #[test]
    fn a_frozen_process_can_be_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::start(folder.path()).unwrap();
        let process = sleeper(&keeper, folder.path());
        process.signal(Signal::STOP);
        let pid = process.pid();
        drop(process);
        assert!(!alive(pid));
    }

    #[test]
    fn the_group_ends_and_the_folder_goes_when_the_pipe_of_the_test_closes() {
        let folder = tempfile::tempdir().unwrap();
        let mut keeper = Keeper::start(folder.path()).unwrap();
        let process = sleeper(&keeper, folder.path());
        process.signal(Signal::STOP);
        drop(keeper.shell.stdin.take());
        let deadline = Instant::now() + Duration::from_secs(20);
        while process.exited().is_none() {
            assert!(Instant::now() < deadline, "the keeper did not end its group");
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!folder.path().exists());
    }

    #[test]
    fn the_last_lines_of_a_log_are_shown() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::start(folder.path()).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "for n in 1 2 3; do echo line $n; done"]);
        let process = keeper
            .spawn("sh", &mut command, &folder.path().join("log"))
            .unwrap();
        process.child.lock().wait().unwrap();
        assert_eq!(process.last_lines(), "line 1\nline 2\nline 3");
    }
}
