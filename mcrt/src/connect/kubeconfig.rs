//! Kubeconfig files: where they are, how they are read and merged, and where they are wrong.
use super::error::Rejected;
use kube::config::{Kubeconfig, KubeconfigError};
use std::{
    env, fs,
    io::Read,
    path::{Path, PathBuf},
};

/// Largest kubeconfig that is read: etcd's limit for one object is about as much.
pub(crate) const MAX_KUBECONFIG: u64 = 1 << 20;

/// Fields of the format, the only words of a broken file that an error may repeat.
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
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "proxy-url",
    "disable-compression",
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
    "auth-provider",
    "exec",
    "command",
    "args",
    "env",
];

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
        return Err(other("larger than 1 MiB, which no kubeconfig is"));
    }
    let text = String::from_utf8(bytes).map_err(|_| other("not UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Parses a kubeconfig and makes the paths in it absolute, seen from `dir`.
pub(crate) fn parse(text: &str, dir: Option<&Path>) -> Result<Kubeconfig, Rejected> {
    let mut kubeconfig = Kubeconfig::from_yaml(text).map_err(|error| Rejected::Syntax {
        place: match &error {
            KubeconfigError::Parse(error) => place(text, error.location()),
            KubeconfigError::KindMismatch => ": `kind` differs between its documents".into(),
            KubeconfigError::ApiVersionMismatch => ": `apiVersion` differs between its documents".into(),
            _ => String::new(),
        },
    })?;
    if let Some(dir) = dir {
        absolute_paths(&mut kubeconfig, dir);
    }
    Ok(kubeconfig)
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
    FIELDS.iter().find(|field| **field == key).copied()
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
    }
}
