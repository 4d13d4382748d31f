//! The program as a user starts it: what it prints on the simulated fleet, and how it ends.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail as tests do"
)]
use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// Generous: the machine may build something else meanwhile, and a member leaves only after 10 s.
const LIMIT: Duration = Duration::from_secs(90);

/// A line of the program, by where it was written.
#[derive(Clone, Debug)]
enum Line {
    Out(String),
    Log(String),
}

/// The running program; dropping it kills it.
struct Program {
    child: Child,
    lines: Receiver<Line>,
    seen: Vec<Line>,
    readers: Vec<JoinHandle<()>>,
}

impl Program {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleet-configmaps"));
        // Nothing that the tester's shell exports may choose another provider.
        for name in [
            "MCRT_PROVIDER",
            "MCRT_HOST",
            "MCRT_FILE",
            "MCRT_LOG",
            "MCRT_LOG_FORMAT",
        ] {
            command.env_remove(name);
        }
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
    fn wait_for<T>(&mut self, what: &str, look: impl Fn(&[Line]) -> Option<T>) -> T {
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

    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
    }

    fn wait_for_exit(&mut self) -> ExitStatus {
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

/// The clusters whose root certificate was printed: every namespace of a cluster has one.
fn clusters(seen: &[Line]) -> BTreeSet<String> {
    let printed = seen.iter().filter_map(|line| match line {
        Line::Out(text) if text.ends_with("name=kube-root-ca.crt") => text.split_whitespace().next(),
        _ => None,
    });
    printed
        .map(|word| word.trim_start_matches("cluster=").to_owned())
        .collect()
}

fn log<'a>(seen: &'a [Line], has: &str) -> Option<&'a str> {
    seen.iter().find_map(|line| match line {
        Line::Log(text) if text.contains(has) => Some(text.as_str()),
        _ => None,
    })
}

#[test]
fn it_prints_the_simulated_fleet_follows_it_and_ends_on_ctrl_c() {
    let mut program = Program::start();

    let first = program.wait_for("a first log line", |seen| log(seen, "").map(str::to_owned));
    assert!(first.contains("SIMULATED"), "{first}");
    assert!(first.contains("provider `sim`, because"), "{first}");

    let three = program.wait_for("three clusters", |seen| {
        Some(clusters(seen)).filter(|clusters| clusters.len() >= 3)
    });
    let four = program.wait_for("the one that joins", |seen| {
        Some(clusters(seen)).filter(|clusters| clusters.len() >= 4)
    });
    assert!(four.is_superset(&three), "{three:?}, then {four:?}");

    let leaving = program.wait_for("the one that leaves", |seen| {
        log(seen, "disengaging").map(str::to_owned)
    });
    assert!(
        four.iter()
            .any(|cluster| leaving.contains(&format!("cluster={cluster}"))),
        "{leaving}"
    );

    program.interrupt();
    let status = program.wait_for_exit();
    assert!(status.success(), "{status}; {:#?}", program.seen);
    assert!(log(&program.seen, "stopped").is_some(), "{:#?}", program.seen);
}
