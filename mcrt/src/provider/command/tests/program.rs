//! A program that prints what a test writes down.
use crate::provider::{providers::Command, tests::Reader};
use std::{fs, path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;

/// Between two runs.
pub(super) const RUN: Duration = Duration::from_millis(100);

/// A directory with a script: `sh` runs it.
pub(super) struct Program(TempDir);

impl Program {
    /// Prints these lines, of whatever length, and ends.
    pub(super) fn printing(lines: &[&str]) -> Self {
        let program = Self::of("cat output");
        program.prints(lines);
        program
    }

    pub(super) fn of(script: &str) -> Self {
        let program = Self(tempfile::tempdir().unwrap());
        program.runs(script);
        program
    }

    /// What the script is from the next run on.
    pub(super) fn runs(&self, script: &str) {
        let directory = self.0.path().display();
        self.write("script", &format!("cd {directory} || exit 99\n{script}\n"));
    }

    pub(super) fn prints(&self, lines: &[&str]) {
        self.write("output", &(lines.join("\n") + "\n"));
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// In one step, so that no run sees half of it.
    pub(super) fn write(&self, name: &str, text: &str) {
        let new = self.path(".new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path(name)).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(super) fn command(&self) -> Command {
        Command::new("/bin/sh")
            .arg(self.path("script"))
            .interval(RUN)
            .pauses([Duration::from_millis(10), Duration::from_millis(40)])
    }

    pub(super) fn poll(&self) -> Reader {
        Reader::of(&Arc::new(self.command()))
    }

    pub(super) fn stream(&self) -> Reader {
        Reader::of(&Arc::new(self.command().streamed()))
    }
}

/// A line for a cluster at an address that is called like it.
pub(super) fn line(name: &str) -> String {
    at(name, name)
}

/// A line for a cluster at this address.
pub(super) fn at(name: &str, host: &str) -> String {
    let server = format!("https://{host}.test:6443");
    serde_json::json!({"name": name, "access": {"server": server, "token": "SECRET"}}).to_string()
}
