//! The program as a user starts it, and what it says.
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Generous: the machine may build something else meanwhile, and a member leaves only after 10 s.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

/// A line of the program, by where it was written.
#[derive(Clone, Debug)]
pub(crate) enum Line {
    Out(String),
    Log(String),
}

/// The running program; dropping it kills it.
pub(crate) struct Program {
    child: Child,
    lines: Receiver<Line>,
    pub(crate) seen: Vec<Line>,
    readers: Vec<JoinHandle<()>>,
}

impl Program {
    /// Starts it with these arguments; `prepare` may change its environment.
    pub(crate) fn start(arguments: &[String], prepare: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleet-configmaps"));
        // Nothing that the tester's shell exports may choose another provider.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"MCRT_"))
        {
            command.env_remove(name);
        }
        prepare(command.args(arguments));
        let mut child = command
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let readers = vec![
            read(child.stdout.take().unwrap(), sender.clone(), Line::Out),
            read(child.stderr.take().unwrap(), sender, Line::Log),
        ];
        Self {
            child,
            lines,
            seen: Vec::new(),
            readers,
        }
    }

    /// Takes lines until what was seen is enough; `look` is asked again after each line.
    pub(crate) fn wait_for<T>(&mut self, what: &str, look: impl Fn(&[Line]) -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(found) = look(&self.seen) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push(line),
                Err(error) => panic!("{what}: {error}; so far: {:#?}", self.seen),
            }
        }
    }

    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let deadline = Instant::now() + LIMIT;
        // Both pipes close when the process ends; until then there is something to wait for.
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Timeout) => panic!("it goes on; so far: {:#?}", self.seen),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.child.wait().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

fn read(
    from: impl Read + Send + 'static,
    to: Sender<Line>,
    kind: impl Fn(String) -> Line + Send + 'static,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let lines = BufReader::new(from).lines().map_while(Result::ok);
        for line in lines {
            if to.send(kind(line)).is_err() {
                break;
            }
        }
    })
}

/// A line of the log with this in it.
pub(crate) fn log<'a>(seen: &'a [Line], has: &str) -> Option<&'a str> {
    seen.iter().find_map(|line| match line {
        Line::Log(text) if text.contains(has) => Some(text.as_str()),
        _ => None,
    })
}
