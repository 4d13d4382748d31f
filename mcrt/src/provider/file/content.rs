//! What one file says, and what it last said that made sense.
use super::sources::parent;
use crate::connect::{parse, read_text};
use kube::config::Kubeconfig;
use secrecy::{ExposeSecret, SecretString};
use std::{
    io::{self, ErrorKind},
    path::Path,
    time::{Duration, Instant},
};

/// Top-level keys whose loss shows that a file was cut off.
const SECTIONS: &[&str] = &["clusters:", "contexts:", "users:"];

/// The last good contents of a file, and the doubt about its present ones.
#[derive(Default)]
pub(super) struct Content {
    good: Option<Good>,
    /// Text that looks cut off, and when it was first seen.
    doubtful: Option<(SecretString, Instant)>,
    /// Not there at the last look: deleted, if it is not there at the next.
    missing: bool,
}

struct Good {
    text: SecretString,
    kubeconfig: Kubeconfig,
}

/// What came of looking at a file.
#[derive(Default)]
pub(super) struct Look {
    /// What to tell the operator.
    pub(super) problem: Option<String>,
    /// When to look again to be sure.
    pub(super) again: Option<Duration>,
}

impl Look {
    fn problem(text: impl Into<String>) -> Self {
        Self {
            problem: Some(text.into()),
            again: None,
        }
    }
}

impl Content {
    /// What counts.
    pub(super) fn good(&self) -> Option<&Kubeconfig> {
        self.good.as_ref().map(|good| &good.kubeconfig)
    }

    /// Whether there is nothing left to remember.
    pub(super) fn is_void(&self) -> bool {
        self.good.is_none()
    }

    /// Reads the file and decides what counts.
    pub(super) fn look(&mut self, path: &Path, debounce: Duration, settle: Duration) -> Look {
        let was_missing = std::mem::take(&mut self.missing);
        match read_text(path) {
            Ok(text) => self.read(path, text, settle),
            Err(error) if error.kind() == ErrorKind::NotFound => self.not_found(path, was_missing, debounce),
            Err(error) => self.kept(path, &error),
        }
    }

    fn read(&mut self, path: &Path, text: String, settle: Duration) -> Look {
        if self
            .good
            .as_ref()
            .is_some_and(|good| good.text.expose_secret() == text)
        {
            self.doubtful = None;
            return Look::default();
        }
        if text.trim().is_empty() {
            return self.kept(path, "is empty");
        }
        let kubeconfig = match parse(&text, Some(&absolute(&parent(path)))) {
            Ok(kubeconfig) => kubeconfig,
            Err(error) => return self.kept(path, error),
        };
        if self
            .good
            .as_ref()
            .is_some_and(|good| cut_off(&text, good.text.expose_secret()))
            && let Some(rest) = self.doubt(&text, settle)
        {
            let look = self.kept(path, "looks half-written");
            return Look {
                again: Some(rest),
                ..look
            };
        }
        self.doubtful = None;
        self.good = Some(Good {
            text: text.into(),
            kubeconfig,
        });
        Look::default()
    }

    /// How much longer a doubtful text must stand still; nothing if it has.
    fn doubt(&mut self, text: &str, settle: Duration) -> Option<Duration> {
        let now = Instant::now();
        let since = match &self.doubtful {
            Some((doubtful, since)) if doubtful.expose_secret() == text => *since,
            _ => {
                self.doubtful = Some((text.to_owned().into(), now));
                now
            }
        };
        settle.checked_sub(now - since).filter(|rest| !rest.is_zero())
    }

    /// Deleted, unless it is a link that leads nowhere, its directory is gone too, or it is back at the next look.
    fn not_found(&mut self, path: &Path, was_missing: bool, debounce: Duration) -> Look {
        if self.good.is_none() {
            return Look::problem(format!("{}: does not exist", path.display()));
        }
        if path.is_symlink() {
            return self.kept(path, "is a link that leads nowhere");
        }
        if !parent(path).is_dir() {
            return self.kept(path, "its directory has vanished");
        }
        if was_missing {
            *self = Self::default();
            return Look::default();
        }
        self.missing = true;
        Look {
            problem: None,
            again: Some(debounce),
        }
    }

    fn kept(&self, path: &Path, reason: impl std::fmt::Display) -> Look {
        let kept = if self.good.is_some() {
            "; its clusters stay as they were"
        } else {
            ""
        };
        Look::problem(format!("{}: {reason}{kept}", path.display()))
    }
}

/// Whether a text that parses is probably the beginning of a longer one.
fn cut_off(text: &str, good: &str) -> bool {
    let lost = |section: &&&str| has_section(good, section) && !has_section(text, section);
    good.starts_with(text)
        || (good.ends_with('\n') && !text.ends_with('\n'))
        || SECTIONS.iter().any(|s| lost(&s))
}

fn has_section(text: &str, section: &str) -> bool {
    text.lines().any(|line| line.starts_with(section))
}

/// Paths in a kubeconfig are seen from its directory, whatever the working directory becomes.
fn absolute(directory: &Path) -> std::path::PathBuf {
    let absolute: io::Result<_> = std::path::absolute(directory);
    absolute.unwrap_or_else(|_| directory.to_owned())
}
