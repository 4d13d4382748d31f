//! Builds the one program that is a whole control plane from its Go module.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::assets::{BuildError, say};

/// The folder of the Go module.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/control-plane");
pub(super) const MODULE: &str = include_str!("../../control-plane/go.mod");
pub(super) const SUMS: &str = include_str!("../../control-plane/go.sum");
pub(super) const MAIN: &str = include_str!("../../control-plane/main.go");

/// Lines of the compiler's output that an error shows.
const LAST_LINES: usize = 30;
/// Between two lines of progress: often enough to be seen alive, rare enough for a log.
const PROGRESS: Duration = Duration::from_secs(15);

/// The version of Kubernetes that the module requires, as in `v1.37.2`.
pub(super) fn version() -> &'static str {
    MODULE
        .lines()
        .find_map(|line| {
            line.trim_start_matches("require")
                .trim()
                .strip_prefix("k8s.io/kubernetes ")
        })
        .map_or("unknown", |rest| {
            rest.split_whitespace().next().unwrap_or("unknown")
        })
}

/// Compiles the program to `output`.
pub(super) fn build(output: &Path) -> Result<(), BuildError> {
    say(format_args!(
        "control plane: building Kubernetes {} with Go, this takes minutes once",
        version()
    ));
    // Without the version the API server would call itself v0.0.0 and refuse to guess its own compatibility.
    let flags = format!("-s -w -X k8s.io/component-base/version.gitVersion={}", version());
    let mut go = Command::new("go")
        .args(["build", "-C", FOLDER, "-v", "-ldflags", &flags, "-o"])
        .args([output, Path::new(".")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(BuildError::NoGo)?;
    let lines = go.stderr.take().map(follow).unwrap_or_default();
    let status = go.wait().map_err(BuildError::NoGo)?;
    if status.success() {
        Ok(())
    } else {
        Err(BuildError::Go {
            status,
            output: lines,
        })
    }
}

/// Reads what the compiler prints, a line per package, to its end; returns the last lines.
fn follow(output: impl Read) -> String {
    let started = Instant::now();
    let mut told = started;
    let mut packages = 0_usize;
    let mut last = VecDeque::with_capacity(LAST_LINES);
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        packages += 1;
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            let seconds = started.elapsed().as_secs();
            say(format_args!(
                "control plane: {packages} packages after {seconds} s, now {line}"
            ));
        }
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        last.push_back(line);
    }
    Vec::from(last).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_the_module() {
        assert!(version().starts_with("v1."), "{}", version());
    }

    #[test]
    fn a_failed_build_shows_its_last_lines_only() {
        let printed = (0..100)
            .map(|n| format!("line {n}"))
            .collect::<Vec<_>>()
            .join("\n");
        let shown = follow(printed.as_bytes());
        assert!(
            shown.starts_with("line 70") && shown.ends_with("line 99"),
            "{shown}"
        );
    }
}
