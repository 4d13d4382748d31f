//! Kubeconfig files: where they are, how they are read and merged, and where they are wrong.
use super::error::Rejected;
use kube::config::{Kubeconfig, KubeconfigError};
use serde_saphyr::Error as YamlError;
use std::{
    env, fs,
    io::Read,
    path::{Path, PathBuf},
};

/// Largest kubeconfig that is read: etcd's limit for one object is about as much.
pub(crate) const MAX_KUBECONFIG: u64 = 1 << 20;

/// Fields of the format: with those of clusters, users and programs the only words of a broken file that an error may
/// repeat.
const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "preferences",
    "clusters",
    "users",
    "contexts",
    "current-context",
    "extensions",
    "name",
    "cluster",
    "user",
    "context",
    "namespace",
    "auth-provider",
];

/// Fields of a cluster.
pub(crate) const CLUSTER: &[&str] = &[
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "proxy-url",
    "disable-compression",
];

/// Fields of a user.
pub(crate) const USER: &[&str] = &[
    "token",
    "tokenFile",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "username",
    "password",
    "as",
    "as-uid",
    "as-groups",
    "as-user-extra",
    "exec",
];

/// Fields of a credential program.
pub(super) const EXEC: &[&str] = &[
    "apiVersion",
    "command",
    "args",
    "env",
    "installHint",
    "provideClusterInfo",
    "interactiveMode",
];

/// Anchors and aliases that a kubeconfig may have: more than people write, too few to unfold to much.
const ALIASES: usize = 100;
/// What they may unfold to, in events of the parser: a list, a map and a text are one each.
const UNFOLDED: usize = 10_000;

const TOO_LARGE: &str = "larger than 1 MiB, which no kubeconfig is";

/// Where `$KUBECONFIG` points, else `~/.kube/config`; empty without a home.
pub(crate) fn default_paths() -> Vec<PathBuf> {
    let listed: Vec<_> = env::var_os("KUBECONFIG")
        .map(|list| {
            env::split_paths(&list)
                .filter(|path| !path.as_os_str().is_empty())
                .collect()
        })
        .unwrap_or_default();
    if !listed.is_empty() {
        return listed;
    }
    let home = env::home_dir().filter(|home| !home.as_os_str().is_empty());
    home.map(|home| home.join(".kube").join("config"))
        .into_iter()
        .collect()
}

/// Reads and merges files; see [`Connection::from_files`](super::Connection::from_files).
pub(super) fn read(paths: &[impl AsRef<Path>]) -> Result<Kubeconfig, Rejected> {
    let mut merged: Option<Kubeconfig> = None;
    for path in paths.iter().map(AsRef::as_ref) {
        let failed = |reason: String| Rejected::File {
            path: path.to_owned(),
            reason,
        };
        let text = match read_text(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            text => text.map_err(|error| failed(error.to_string()))?,
        };
        let next = parse(&text, path.parent()).map_err(|error| failed(error.to_string()))?;
        merged = Some(match merged {
            None => next,
            Some(first) => merge(first, next),
        });
    }
    merged.ok_or_else(|| Rejected::File {
        path: paths
            .first()
            .map(|path| path.as_ref().to_owned())
            .unwrap_or_default(),
        reason: "does not exist".into(),
    })
}

/// Reads a file of bounded size as text, without its byte order mark.
pub(crate) fn read_text(path: &Path) -> std::io::Result<String> {
    let other = |reason| std::io::Error::new(std::io::ErrorKind::InvalidData, reason);
    // A pipe or a device could block for ever.
    if !fs::metadata(path)?.is_file() {
        return Err(other("not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(MAX_KUBECONFIG + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_KUBECONFIG {
        return Err(other(TOO_LARGE));
    }
    let text = String::from_utf8(bytes).map_err(|_| other("not UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Parses a kubeconfig and makes the paths in it absolute, seen from `dir`. Several documents are merged.
pub(crate) fn parse(text: &str, dir: Option<&Path>) -> Result<Kubeconfig, Rejected> {
    let mut kubeconfig = documents(text)?
        .into_iter()
        .try_fold(Kubeconfig::default(), Kubeconfig::merge)
        .map_err(|error| Rejected::Unreadable {
            reason: match error {
                KubeconfigError::KindMismatch => "`kind` differs between its documents",
                _ => "`apiVersion` differs between its documents",
            },
        })?;
    if let Some(dir) = dir {
        absolute_paths(&mut kubeconfig, dir);
    }
    Ok(kubeconfig)
}

/// Parses a kubeconfig that comes without a file. It is one document: of several, programs differ in which count.
pub(super) fn parse_one(bytes: &[u8]) -> Result<Kubeconfig, Rejected> {
    let unreadable = |reason| Rejected::Unreadable { reason };
    if bytes.len() as u64 > MAX_KUBECONFIG {
        return Err(unreadable(TOO_LARGE));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable("not UTF-8"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut documents = documents(text)?;
    match (documents.pop(), documents.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) => Err(unreadable("has several documents: keep one")),
        (None, _) => Err(unreadable("empty")),
    }
}

fn documents(text: &str) -> Result<Vec<Kubeconfig>, Rejected> {
    let options = serde_saphyr::options! {
        // What is never made cannot be printed: it quotes the file.
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_aliases: ALIASES,
            max_anchors: ALIASES,
            max_recorded_anchor_events: UNFOLDED,
            max_documents: ALIASES,
            max_merge_keys: ALIASES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: UNFOLDED,
        },
    };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| {
        if is_excess(&error) {
            return Rejected::Unreadable {
                reason: "it nests too deeply, or has more parts, anchors or aliases than a kubeconfig needs",
            };
        }
        Rejected::Syntax {
            place: place(text, error.location()),
        }
    })
}

fn is_excess(error: &YamlError) -> bool {
    match error {
        YamlError::WithSnippet { error, .. } | YamlError::AliasError { error, .. } => is_excess(error),
        YamlError::Budget { .. }
        | YamlError::AliasReplayCounterOverflow { .. }
        | YamlError::AliasReplayLimitExceeded { .. }
        | YamlError::AliasExpansionLimitExceeded { .. }
        | YamlError::AliasReplayStackDepthExceeded { .. } => true,
        _ => false,
    }
}

/// Merges by the rules of `kubectl`: the first to name a thing wins, nothing is mixed.
pub(crate) fn merge(first: Kubeconfig, next: Kubeconfig) -> Kubeconfig {
    // `kind` and `apiVersion` say nothing here, and a difference would lose both files.
    let next = Kubeconfig {
        kind: None,
        api_version: None,
        ..next
    };
    let kept = first.clone();
    first.merge(next).unwrap_or(kept)
}

/// Line, column and the field's name if the line starts with one that the format knows.
fn place(text: &str, location: Option<serde_saphyr::Location>) -> String {
    let Some(location) = location else {
        return String::new();
    };
    let (line, column) = (location.line(), location.column());
    let near = usize::try_from(line)
        .ok()
        .and_then(|line| text.lines().nth(line.checked_sub(1)?))
        .and_then(known_field)
        .map(|field| format!(", near `{field}`"))
        .unwrap_or_default();
    format!(": line {line}, column {column}{near}")
}

fn known_field(line: &str) -> Option<&'static str> {
    let key = line
        .trim_start_matches([' ', '-', '"', '{'])
        .split([':', '"'])
        .next()?
        .trim();
    let fields = [FIELDS, CLUSTER, USER, EXEC].into_iter().flatten();
    fields.copied().find(|field| *field == key)
}

fn absolute_paths(kubeconfig: &mut Kubeconfig, dir: &Path) {
    let absolute = |path: &mut Option<String>| {
        if let Some(relative) = path
            && !relative.is_empty()
            && Path::new(relative).is_relative()
            && let Some(joined) = dir.join(&*relative).to_str()
        {
            *path = Some(joined.to_owned());
        }
    };
    for cluster in kubeconfig
        .clusters
        .iter_mut()
        .filter_map(|named| named.cluster.as_mut())
    {
        absolute(&mut cluster.certificate_authority);
    }
    for user in kubeconfig
        .auth_infos
        .iter_mut()
        .filter_map(|named| named.auth_info.as_mut())
    {
        absolute(&mut user.client_certificate);
        absolute(&mut user.client_key);
        absolute(&mut user.token_file);
        // A command without a separator is looked up in `PATH`.
        if let Some(exec) = &mut user.exec
            && let Some(command) = &exec.command
            && command.contains(std::path::is_separator)
        {
            absolute(&mut exec.command);
        }
    }
}
