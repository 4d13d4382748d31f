//! Places in a kubeconfig: how messages name them, what may stand there, and the data that they hold.
use super::super::{
    error::Rejected,
    kubeconfig::read_text,
    policy::{NoFile, Policy},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{Path, PathBuf},
};

/// Longest part of a name that a message repeats: names are the kubeconfig's to choose.
const LONGEST_NAME: usize = 100;

const FILE: &str = "names a file of the controller's machine: put its contents inline, or allow its directory with \
                    `Policy::allow_files_under`";

/// A place, and what the operator allows there.
pub(super) struct At<'a> {
    context: String,
    path: String,
    pub(super) policy: &'a Policy,
}

/// What was found at a field, and which field it was.
pub(super) type Found = (&'static str, Vec<u8>);

impl<'a> At<'a> {
    pub(super) fn new(context: &str, policy: &'a Policy, path: String) -> Self {
        Self {
            context: shown(context),
            path,
            policy,
        }
    }

    pub(super) fn invalid(&self, field: &str, reason: impl Display) -> Rejected {
        Rejected::Invalid {
            context: self.context.clone(),
            field: format!("{}{field}", self.path),
            reason: reason.to_string(),
        }
    }

    pub(super) fn unsupported(&self, field: &str, reason: impl Display) -> Rejected {
        Rejected::Unsupported {
            context: self.context.clone(),
            field: format!("{}{field}", self.path),
            reason: reason.to_string(),
        }
    }

    /// Refuses a field unless the policy allows it.
    pub(super) fn allow(&self, allowed: bool, field: &str, reason: &'static str) -> Result<(), Rejected> {
        if allowed {
            return Ok(());
        }
        Err(Rejected::Forbidden {
            context: self.context.clone(),
            field: format!("{}{field}", self.path),
            reason,
        })
    }

    /// The bytes of `<field>-data`, or else of the file that `<field>` names. A file that is not allowed is refused
    /// even where data go before it.
    pub(super) fn data_or_file(
        &self,
        data: Option<&str>,
        file: Option<&str>,
        field: &'static str,
    ) -> Result<Option<Found>, Rejected> {
        let file = file.filter(|file| !file.is_empty()).map(Path::new);
        let verdict = file.map(|file| self.policy.file(file));
        self.allow(verdict != Some(Err(NoFile::Forbidden)), field, FILE)?;
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            let field = data_field(field);
            return Ok(Some((field, self.decoded(data, field)?)));
        }
        let Some(verdict) = verdict else {
            return Ok(None);
        };
        let text = self
            .found(verdict, field)
            .and_then(|path| read_text(&path).map_err(|error| self.invalid(field, error)))?;
        Ok(Some((field, text.into_bytes())))
    }

    /// A file that may be read, as it is named: links in it may lead elsewhere tomorrow, as in mounted Secrets.
    pub(super) fn file(&self, file: &Path, field: &'static str) -> Result<PathBuf, Rejected> {
        self.found(self.policy.file(file), field)?;
        Ok(file.to_owned())
    }

    fn found(&self, verdict: Result<PathBuf, NoFile>, field: &'static str) -> Result<PathBuf, Rejected> {
        match verdict {
            Ok(path) => Ok(path),
            Err(NoFile::Absent(kind)) => Err(self.invalid(field, kind)),
            Err(NoFile::Forbidden) => self.allow(false, field, FILE).map(|()| PathBuf::new()),
        }
    }

    fn decoded(&self, data: &str, field: &'static str) -> Result<Vec<u8>, Rejected> {
        // Line breaks are no part of the code, as for kubectl.
        let data: String = data.split(['\n', '\r', ' ']).collect();
        STANDARD
            .decode(data)
            .map_err(|_| self.invalid(field, "not base64"))
    }
}

/// Refuses fields that are not known. Their names are left out, because a secret in the wrong column is one; but a name
/// that is nearly a known one is corrected.
pub(super) fn unknown(
    other: &BTreeMap<String, Value>,
    at: &At<'_>,
    field: &'static str,
    known: &[&str],
) -> Result<(), Rejected> {
    if other.is_empty() {
        return Ok(());
    }
    let meant = other.keys().find_map(|name| {
        let same = |known: &&&str| plain(known) == plain(name);
        known.iter().find(same)
    });
    let meant = meant
        .map(|known| format!(", perhaps to `{known}`"))
        .unwrap_or_default();
    let reason = format!("has a field that is not known: remove it, or correct its name{meant}");
    Err(at.unsupported(field, reason))
}

fn plain(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// A name for messages: a line of bounded length.
pub(super) fn shown(name: &str) -> String {
    let mut shown = String::new();
    for (count, c) in name.chars().enumerate() {
        if count == LONGEST_NAME {
            shown.push('…');
            break;
        }
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

fn data_field(field: &'static str) -> &'static str {
    match field {
        ".certificate-authority" => ".certificate-authority-data",
        ".client-certificate" => ".client-certificate-data",
        _ => ".client-key-data",
    }
}
