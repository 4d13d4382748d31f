//! Every way in which a file may be wrong for a while.
mod cut;
mod failures;
mod following;
mod refusals;
mod sources;

use super::{File, Timing};
use crate::provider::tests::Reader;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;

/// Polling is out of the question: what a test sees came by a watch, or by a second look.
const HURRIED: Timing = Timing {
    debounce: Duration::from_millis(100),
    poll: Duration::from_mins(10),
    settle: Duration::from_millis(700),
    patience: Duration::from_secs(10),
};

/// A directory for one test.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

/// A kubeconfig as `kubectl` writes it: one context, cluster and user per name.
fn config(names: &[&str]) -> String {
    let mut text = String::from("apiVersion: v1\nclusters:\n");
    for name in names {
        let _ = write!(
            text,
            "- cluster:\n    server: https://{name}.test:6443\n  name: {name}-cluster\n"
        );
    }
    text += "contexts:\n";
    for name in names {
        let _ = write!(
            text,
            "- context:\n    cluster: {name}-cluster\n    user: {name}-user\n  name: {name}\n"
        );
    }
    text += "kind: Config\nusers:\n";
    for name in names {
        let _ = write!(
            text,
            "- name: {name}-user\n  user:\n    token: secret-of-{name}\n"
        );
    }
    text
}

fn follow(paths: &[&Path]) -> (Arc<File>, Reader) {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    let file = Arc::new(File::hurried(&paths, HURRIED));
    let reader = Reader::of(&file);
    (file, reader)
}
