//! The cache of built programs: one entry per state of a source, filled once however many processes ask.

use std::{
    env, fs,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::{BuildError, Source, build, say};

/// The place in the cache of what one state of the Go source builds.
#[derive(Debug)]
pub(super) struct Entry {
    cache: PathBuf,
    name: String,
}

impl Entry {
    /// The entry of the state that the source is in.
    pub(super) fn of(source: &Source) -> Result<Self, BuildError> {
        Ok(Self {
            cache: folder()?,
            name: entry_name(source),
        })
    }

    /// The folder of the programs. An entry appears complete, by a rename, or not at all.
    pub(super) fn find(&self) -> Option<PathBuf> {
        Some(self.folder()).filter(|folder| folder.is_dir())
    }

    /// Builds it unless it is there, one process at a time.
    pub(super) fn fill(&self, source: &Source) -> Result<PathBuf, BuildError> {
        if let Some(found) = self.find() {
            return Ok(found);
        }
        fs::create_dir_all(&self.cache).map_err(failed("create", &self.cache))?;
        // Held until the end of this function: the lock goes with the file.
        let _lock = self.lock(source.title)?;
        if let Some(found) = self.find() {
            return Ok(found);
        }
        // A fixed name, so that what a killed build left is found and removed by the next.
        let partial = self.cache.join(format!("{}.partial", self.name));
        remove_folder(&partial)?;
        fs::create_dir(&partial).map_err(failed("create", &partial))?;
        build_into(source, &partial)?;
        fs::rename(&partial, self.folder()).map_err(failed("rename", &partial))?;
        say(format_args!(
            "{}: ready in {}",
            source.title,
            self.folder().display()
        ));
        Ok(self.folder())
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.cache.join(&self.name)
    }

    fn lock(&self, title: &str) -> Result<File, BuildError> {
        let path = self.cache.join(format!("{}.lock", self.name));
        let file = File::create(&path).map_err(failed("create", &path))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                say(format_args!("{title}: being built elsewhere, waiting for that"));
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock", &path)(source)),
        }
        file.lock().map_err(failed("lock", &path))?;
        Ok(file)
    }
}

fn build_into(source: &Source, folder: &Path) -> Result<(), BuildError> {
    let mut names = source.names.iter().map(|name| folder.join(name));
    let Some(first) = names.next() else {
        return Ok(());
    };
    build::build(source, &first)?;
    for other in names {
        // Some file systems know no hard links: a copy costs space and is as good.
        fs::hard_link(&first, &other)
            .or_else(|_| fs::copy(&first, &other).map(drop))
            .map_err(failed("create", &other))?;
    }
    Ok(())
}

fn remove_folder(path: &Path) -> Result<(), BuildError> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(source)),
        _ => Ok(()),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::Cache { action, path, source }
}

fn folder() -> Result<PathBuf, BuildError> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("MCRT_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("mcrt")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("mcrt")))
        .ok_or(BuildError::NoCacheFolder)
}

fn entry_name(source: &Source) -> String {
    let content = [source.module, &source.files.concat()].concat();
    format!(
        "{}-{}-{:016x}",
        source.title.replace(' ', "-"),
        source.version().trim_start_matches('v'),
        fingerprint(content.as_bytes())
    )
}

/// FNV-1a: tells one state of the source from another, on every machine and in every Rust release alike.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    static SOURCE: Source = Source {
        title: "some programs",
        folder: "",
        module: "require k8s.io/component-base v0.37.2",
        files: &["package main"],
        names: &["one", "other"],
    };

    fn entry(cache: &tempfile::TempDir) -> Entry {
        Entry {
            cache: cache.path().to_owned(),
            name: "some-programs".into(),
        }
    }

    #[test]
    fn the_name_of_an_entry_says_the_version_of_kubernetes() {
        let name = entry_name(&SOURCE);
        assert!(name.starts_with("some-programs-1.37.2-"), "{name}");
        assert_eq!(name, entry_name(&SOURCE));
    }

    #[test]
    fn a_fingerprint_is_the_published_one() {
        assert_eq!(fingerprint(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn an_entry_that_was_never_filled_is_not_found() {
        let cache = tempfile::tempdir().unwrap();
        let entry = entry(&cache);
        assert_eq!(entry.find(), None);
    }

    #[test]
    fn an_entry_filled_by_another_process_is_not_built_again() {
        let cache = tempfile::tempdir().unwrap();
        let entry = entry(&cache);
        fs::create_dir(entry.folder()).unwrap();
        // Building would fail: the source has no folder.
        assert_eq!(entry.fill(&SOURCE).unwrap(), entry.folder());
    }

    #[test]
    fn the_lock_of_an_entry_is_exclusive() {
        let cache = tempfile::tempdir().unwrap();
        let entry = entry(&cache);
        let held = entry.lock(SOURCE.title).unwrap();
        let other = File::open(cache.path().join("some-programs.lock")).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        other.lock().unwrap();
    }
}
