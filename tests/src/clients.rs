//! Clients of Kubernetes that others wrote, in Go, for tests of the simulator.

use std::path::{Path, PathBuf};

pub use crate::go::BuildError;
use crate::go::Source;

static SOURCE: Source = Source {
    title: "clients",
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/clients"),
    module: include_str!("../clients/go.mod"),
    files: &[
        include_str!("../clients/go.sum"),
        include_str!("../clients/main.go"),
        include_str!("../clients/informers.go"),
    ],
    names: &["kubectl", "informers"],
};

/// The programs of the clients.
#[derive(Debug, Clone)]
pub struct Clients {
    /// The command line client of Kubernetes.
    pub kubectl: PathBuf,
    /// A controller made with `controller-runtime`: copies `data.wanted` to `data.done` in the `ConfigMap`s labelled
    /// `informers=yes` of every cluster that the file of `--kubeconfig` has a context for.
    pub informers: PathBuf,
}

impl Clients {
    fn in_folder(folder: &Path) -> Self {
        Self {
            kubectl: folder.join("kubectl"),
            informers: folder.join("informers"),
        }
    }
}

/// Finds the clients for a test.
///
/// `None` means that the test is to be skipped; the line that says so has been written to stderr.
/// With `MCRT_REQUIRE_CONTROL_PLANE=1` they are built if need be, and there is no `None`.
pub fn clients() -> Result<Option<Clients>, BuildError> {
    Ok(SOURCE.required()?.map(|folder| Clients::in_folder(&folder)))
}

/// Finds the clients, or builds them into the cache; says on stderr how far it is.
pub fn build() -> Result<Clients, BuildError> {
    SOURCE.build().map(|folder| Clients::in_folder(&folder))
}
