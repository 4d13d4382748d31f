//! Watches on directories: a hint that it is time to look again.
use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::Notify;

/// Watches directories, not files: a file that is replaced takes its own watch with it.
pub(super) struct Watch {
    /// Absent if the operating system gave none: then looks at intervals must do.
    watcher: Option<RecommendedWatcher>,
    watched: BTreeMap<PathBuf, u64>,
    changed: Arc<Notify>,
}

impl Watch {
    /// Also says why there is no watcher, if there is none.
    pub(super) fn new() -> (Self, Option<String>) {
        let changed = Arc::new(Notify::new());
        let hint = Arc::clone(&changed);
        let made = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // An error may stand for lost events.
            if event.is_ok_and(|event| is_reading(event.kind)) {
                return;
            }
            hint.notify_one();
        });
        let (watcher, problem) = match made {
            Ok(watcher) => (Some(watcher), None),
            Err(error) => (
                None,
                Some(format!("files are looked at every 10 s only: {error}")),
            ),
        };
        let watch = Self {
            watcher,
            watched: BTreeMap::new(),
            changed,
        };
        (watch, problem)
    }

    /// Waits for a hint; one that came while nobody waited counts.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Watches these directories and no others; tells whether any is new. Of one that does not exist its nearest
    /// ancestor is watched.
    pub(super) fn cover(&mut self, directories: &BTreeSet<PathBuf>) -> bool {
        let Some(watcher) = &mut self.watcher else {
            return false;
        };
        let wanted: BTreeMap<_, _> = directories.iter().filter_map(|path| existing(path)).collect();
        self.watched.retain(|path, id| {
            let keep = wanted.get(path) == Some(id);
            if !keep {
                // Fails if the directory is gone, which ended the watch.
                let _ = watcher.unwatch(path);
            }
            keep
        });
        let mut new = false;
        for (path, id) in wanted {
            // A failure is tried again at the next look.
            if !self.watched.contains_key(&path) && watcher.watch(&path, RecursiveMode::NonRecursive).is_ok()
            {
                self.watched.insert(path, id);
                new = true;
            }
        }
        new
    }
}

/// Our own reading must not make us read again.
fn is_reading(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        EventKind::Access(_) => true,
        _ => false,
    }
}

/// A directory and what tells it from another of the same path.
fn existing(path: &Path) -> Option<(PathBuf, u64)> {
    let path = path.ancestors().find(|path| path.is_dir())?;
    Some((path.to_owned(), identity(path)))
}

#[cfg(unix)]
fn identity(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    path.metadata().map(|metadata| metadata.ino()).unwrap_or_default()
}

#[cfg(not(unix))]
fn identity(_: &Path) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_watch_that_is_dropped_ends_its_thread() {
        let directory = tempfile::tempdir().unwrap();
        let (mut watch, _) = Watch::new();
        assert!(watch.cover(&BTreeSet::from([directory.path().to_owned()])));
        std::fs::write(directory.path().join("a"), "").unwrap();
        watch.changed().await;
        let held = Arc::downgrade(&watch.changed);
        drop(watch);
        let released = async {
            while held.strong_count() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let released = tokio::time::timeout(Duration::from_secs(5), released);
        released.await.expect("the thread lets go");
    }

    #[tokio::test]
    async fn reading_a_file_is_no_change() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "").unwrap();
        let (mut watch, _) = Watch::new();
        watch.cover(&BTreeSet::from([directory.path().to_owned()]));
        std::fs::read(&path).unwrap();
        let hint = tokio::time::timeout(Duration::from_millis(200), watch.changed()).await;
        assert!(hint.is_err());
        std::fs::write(&path, "x").unwrap();
        watch.changed().await;
    }
}
