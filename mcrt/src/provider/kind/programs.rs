//! The programs that are asked, and what is said of those that fail.
use super::Settings;
use crate::child::{self, Failure, printable};
use secrecy::zeroize::Zeroizing;
use std::{
    ffi::{OsStr, OsString},
    process::Stdio,
};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

/// Most that a program may print: a thousand containers are 300 KiB, a kubeconfig is less.
const MOST: usize = 4 << 20;
/// Most of its complaints that is kept.
const NOISE: usize = 16 << 10;

/// Tells kind which engine to ask.
pub(super) const CHOSEN_ENGINE: &str = "KIND_EXPERIMENTAL_PROVIDER";

/// A program that gave nothing, and the line of its complaint.
pub(super) struct Refusal {
    failure: Failure,
    said: String,
}

impl Refusal {
    /// In words, with the name of the program.
    pub(super) fn told(&self, program: &OsStr, does: &str) -> String {
        let program = program.to_string_lossy();
        let complaint = complaint(&self.said)
            .map(|line| format!(": {line}"))
            .unwrap_or_default();
        format!("`{program}{does}` {}{complaint}", self.failure)
    }

    /// Whether it failed for the template that it was to print by.
    pub(super) fn is_about_template(&self) -> bool {
        matches!(self.failure, Failure::Exit(_))
            && ["template", "can't evaluate field", "error calling index"]
                .iter()
                .any(|hint| self.said.contains(hint))
    }
}

/// Runs a program to its end, with its search path and the engine it is told of.
pub(super) async fn ask(
    settings: &Settings,
    program: &OsStr,
    args: Vec<OsString>,
    engine: Option<&OsStr>,
) -> Result<Zeroizing<Vec<u8>>, Refusal> {
    let mut command = Command::new(program);
    command.args(args).stderr(Stdio::piped());
    if let Some(path) = &settings.search_path {
        command.env("PATH", path);
    }
    if let Some(engine) = engine {
        command.env(CHOSEN_ENGINE, engine);
    }
    let mut said = Vec::new();
    // Dropped is how it is stopped.
    let never = CancellationToken::new();
    let printed = child::run(
        move || Ok(command),
        settings.deadline,
        &never,
        MOST,
        |noise| said.extend(noise.iter().take(NOISE.saturating_sub(said.len()))),
    );
    printed.await.map_err(|failure| Refusal {
        failure,
        said: String::from_utf8_lossy(&said).into_owned(),
    })
}

/// The one line of what a program complained of that tells most: what it calls an error, else its last word. More is
/// not repeated: after its error kind may print what a command in the node gave.
fn complaint(said: &str) -> Option<String> {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &&str| line.to_ascii_lowercase().starts_with("error");
    let line = lines.clone().find(is_error).or_else(|| lines.next_back())?;
    Some(printable(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_lines_the_error_is_told() {
        for (said, told) in [
            ("", None),
            (" \n\n", None),
            (
                "using podman due to KIND_EXPERIMENTAL_PROVIDER\nERROR: no\nCommand Output: SECRET\n",
                Some("ERROR: no"),
            ),
            ("WARNING: old\nCannot connect\x1b[0m\n", Some("Cannot connect[0m")),
        ] {
            assert_eq!(complaint(said).as_deref(), told, "{said}");
        }
    }
}
