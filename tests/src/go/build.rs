//! Builds a program from its Go module.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::{BuildError, Source, say};

/// Lines of the compiler's output that an error shows.
const LAST_LINES: usize = 30;
/// Between two lines of progress: often enough to be seen alive, rare enough for a log.
const PROGRESS: Duration = Duration::from_secs(15);

/// Compiles the program to `output`.
pub(super) fn build(source: &Source, output: &Path) -> Result<(), BuildError> {
    say(format_args!(
        "{}: building Kubernetes {} with Go, this takes minutes once",
        source.title,
        source.version()
    ));
    // Without the version the API server would call itself v0.0.0 and refuse to guess its own compatibility.
    let flags = format!(
        "-s -w -X k8s.io/component-base/version.gitVersion={}",
        source.version()
    );
    let no_go = |error| BuildError::NoGo {
        title: source.title,
        source: error,
    };
    let mut go = Command::new("go")
        .args(["build", "-C", source.folder, "-v", "-ldflags", &flags, "-o"])
        .args([output, Path::new(".")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(no_go)?;
    let lines = go
        .stderr
        .take()
        .map(|output| follow(source.title, output))
        .unwrap_or_default();
    let status = go.wait().map_err(no_go)?;
    if status.success() {
        Ok(())
    } else {
        Err(BuildError::Go {
            title: source.title,
            status,
            output: lines,
        })
    }
}

/// Reads what the compiler prints, a line per package, to its end; returns the last lines.
fn follow(title: &str, output: impl Read) -> String {
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
                "{title}: {packages} packages after {seconds} s, now {line}"
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
    fn a_failed_build_shows_its_last_lines_only() {
        let printed = (0..100)
            .map(|n| format!("line {n}"))
            .collect::<Vec<_>>()
            .join("\n");
        let shown = follow("some programs", printed.as_bytes());
        assert!(
            shown.starts_with("line 70") && shown.ends_with("line 99"),
            "{shown}"
        );
    }
}
