//! The cache of built control planes: one entry per source, filled once however many processes ask.

use std::{
    env, fs,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::{
    assets::{Assets, BuildError, say},
    go,
};

/// The names the one program goes by; it becomes the part it is called as.
const NAMES: [&str; 3] = ["etcd", "kube-apiserver", "kube-controller-manager"];

/// The place in the cache of what one state of the Go source builds.
#[derive(Debug)]
pub(super) struct Entry {
    cache: PathBuf,
    name: String,
}

impl Entry {
    /// The entry of the source that this crate was compiled with.
    pub(super) fn of_this_source() -> Result<Self, BuildError> {
        Ok(Self {
            cache: folder()?,
            name: entry_name(),
        })
    }

    /// What the cache holds of it. An entry appears complete, by a rename, or not at all.
    pub(super) fn find(&self) -> Result<Option<Assets>, BuildError> {
        let folder = self.folder();
        if folder.is_dir() {
            Assets::in_folder(&folder).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Builds it unless it is there, one process at a time.
    pub(super) fn fill(&self) -> Result<Assets, BuildError> {
        fs::create_dir_all(&self.cache).map_err(failed("create", &self.cache))?;
        // Held until the end of this function: the lock goes with the file.
        let _lock = self.lock()?;
        if let Some(found) = self.find()? {
            return Ok(found);
        }
        // A fixed name, so that what a killed build left is found and removed by the next.
        let partial = self.cache.join(format!("{}.partial", self.name));
        remove_folder(&partial)?;
        fs::create_dir(&partial).map_err(failed("create", &partial))?;
        build_into(&partial)?;
        fs::rename(&partial, self.folder()).map_err(failed("rename", &partial))?;
        say(format_args!(
            "control plane: ready in {}",
            self.folder().display()
        ));
        Assets::in_folder(&self.folder())
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.cache.join(&self.name)
    }

    fn lock(&self) -> Result<File, BuildError> {
        let path = self.cache.join(format!("{}.lock", self.name));
        let file = File::create(&path).map_err(failed("create", &path))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                say(format_args!(
                    "control plane: being built elsewhere, waiting for that"
                ));
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock", &path)(source)),
        }
        file.lock().map_err(failed("lock", &path))?;
        Ok(file)
    }
}

fn build_into(folder: &Path) -> Result<(), BuildError> {
    let [first, others @ ..] = NAMES.map(|name| folder.join(name));
    go::build(&first)?;
    for other in others {
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

fn entry_name() -> String {
    let source = [go::MODULE, go::SUMS, go::MAIN].concat();
    format!(
        "control-plane-{}-{:016x}",
        go::version().trim_start_matches('v'),
        fingerprint(source.as_bytes())
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

    #[test]
    fn the_name_of_an_entry_says_the_version_of_kubernetes() {
        let name = entry_name();
        assert!(name.starts_with("control-plane-1."), "{name}");
        assert_eq!(name, entry_name());
    }

    #[test]
    fn a_fingerprint_is_the_published_one() {
        assert_eq!(fingerprint(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn an_entry_that_was_never_filled_is_not_found() {
        let cache = tempfile::tempdir().unwrap();
        let entry = Entry {
            cache: cache.path().to_owned(),
            name: "control-plane".into(),
        };
        assert_eq!(entry.find().unwrap(), None);
    }

    #[test]
    fn an_entry_filled_by_another_process_is_not_built_again() {
        let cache = tempfile::tempdir().unwrap();
        let entry = Entry {
            cache: cache.path().to_owned(),
            name: "control-plane".into(),
        };
        fs::create_dir(entry.folder()).unwrap();
        for name in NAMES {
            fs::write(entry.folder().join(name), "").unwrap();
        }
        let found = entry.fill().unwrap();
        assert_eq!(
            found.controller_manager,
            Some(entry.folder().join("kube-controller-manager"))
        );
    }

    #[test]
    fn the_lock_of_an_entry_is_exclusive() {
        let cache = tempfile::tempdir().unwrap();
        let entry = Entry {
            cache: cache.path().to_owned(),
            name: "control-plane".into(),
        };
        let held = entry.lock().unwrap();
        let other = File::open(cache.path().join("control-plane.lock")).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        other.lock().unwrap();
    }
}
