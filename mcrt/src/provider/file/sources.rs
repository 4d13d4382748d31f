//! Which files belong to a path, a directory or a pattern right now.
use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

/// Endings of file names that count in a directory.
const ENDINGS: &[&str] = &["kubeconfig", "yaml", "yml", "conf"];

/// One thing that the operator named, and what it was at the last look.
pub(super) struct Source {
    kind: Kind,
    /// Files of the last look that worked.
    known: BTreeSet<PathBuf>,
}

enum Kind {
    /// Files that are merged into one kubeconfig.
    List(Vec<PathBuf>),
    /// A file, or a directory.
    Path { path: PathBuf, was_directory: bool },
    /// A pattern, and the directory that it starts from.
    Pattern { pattern: String, base: PathBuf },
}

/// Files that are merged with each other, in order.
pub(super) type Group = Vec<PathBuf>;

/// What a look at the sources found.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) groups: Vec<Group>,
    pub(super) problems: Vec<String>,
    /// Directories in which something may change.
    pub(super) directories: BTreeSet<PathBuf>,
}

impl Source {
    pub(super) fn of(path: &Path) -> Self {
        let parts: Vec<_> = env::split_paths(path)
            .filter(|part| !part.as_os_str().is_empty())
            .collect();
        if parts.len() > 1 {
            return Self::list(parts);
        }
        let path = parts.into_iter().next().unwrap_or_default();
        let text = path.to_string_lossy();
        let kind = if text.contains(['*', '?', '[']) && !path.exists() {
            Kind::Pattern {
                pattern: text.clone().into_owned(),
                base: literal_base(&path),
            }
        } else {
            Kind::Path {
                path: path.clone(),
                was_directory: false,
            }
        };
        Self::from(kind)
    }

    pub(super) fn list(paths: Vec<PathBuf>) -> Self {
        Self::from(Kind::List(paths))
    }

    fn from(kind: Kind) -> Self {
        Self {
            kind,
            known: BTreeSet::new(),
        }
    }

    /// Adds what there is now. A directory that cannot be listed counts as it last was.
    pub(super) fn look(&mut self, listing: &mut Listing) {
        let found = match &mut self.kind {
            Kind::List(paths) => {
                listing.directories.extend(paths.iter().map(|path| parent(path)));
                listing.groups.push(paths.clone());
                return;
            }
            Kind::Path { path, was_directory } => {
                *was_directory |= path.is_dir();
                if !*was_directory || path.is_file() {
                    listing.directories.insert(parent(path));
                    listing.groups.push(vec![path.clone()]);
                    return;
                }
                listing.directories.insert(path.clone());
                in_directory(path)
            }
            Kind::Pattern { pattern, base } => {
                listing.directories.insert(base.clone());
                matching(pattern, base)
            }
        };
        match found {
            Ok(files) => self.known = files,
            Err(problem) => listing.problems.push(if self.known.is_empty() {
                problem
            } else {
                format!("{problem}; its clusters stay as they were")
            }),
        }
        listing
            .directories
            .extend(self.known.iter().map(|path| parent(path)));
        listing
            .groups
            .extend(self.known.iter().map(|path| vec![path.clone()]));
    }
}

fn in_directory(directory: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("directory {}: {error}", directory.display());
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        // A link that leads nowhere is kept: what it was must not be taken for deleted.
        if counts(&path) && !path.is_dir() {
            files.insert(path);
        }
    }
    Ok(files)
}

fn counts(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let ending = path
        .extension()
        .and_then(|ending| ending.to_str())
        .unwrap_or_default();
    !name.starts_with('.') && (matches!(name, "config" | "kubeconfig") || ENDINGS.contains(&ending))
}

fn matching(pattern: &str, base: &Path) -> Result<BTreeSet<PathBuf>, String> {
    // A pattern below a directory that is not there matches nothing, which would pass for deletion.
    fs::read_dir(base).map_err(|error| format!("directory {}: {error}", base.display()))?;
    let found = glob::glob(pattern).map_err(|error| format!("pattern {pattern}: {}", error.msg))?;
    let mut files = BTreeSet::new();
    for path in found {
        let path = path.map_err(|error| format!("pattern {pattern}: {}", error.error()))?;
        if !path.is_dir() {
            files.insert(path);
        }
    }
    Ok(files)
}

/// The part of a pattern before the first component with a wildcard.
fn literal_base(pattern: &Path) -> PathBuf {
    let literal =
        |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let base: PathBuf = pattern.components().take_while(literal).collect();
    or_here(&base)
}

pub(super) fn parent(path: &Path) -> PathBuf {
    or_here(path.parent().unwrap_or(path))
}

/// The empty path stands for the working directory, but nothing can be asked of it.
fn or_here(path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        return PathBuf::from(".");
    }
    path.to_owned()
}
