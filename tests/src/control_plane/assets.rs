//! Where the programs of a control plane are: named by the environment, found in the cache, or built into it.

use std::{
    env, fmt, io,
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
};

use super::cache;

/// Names the folder that holds `etcd`, `kube-apiserver` and perhaps `kube-controller-manager`.
const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";
/// Set to `1`, makes the absence of a control plane a failure, and building one allowed.
const REQUIRE_VARIABLE: &str = "MCRT_REQUIRE_CONTROL_PLANE";

/// The programs of a control plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assets {
    /// The store of the API server.
    pub etcd: PathBuf,
    /// The API server.
    pub api_server: PathBuf,
    /// The controllers; what `KUBEBUILDER_ASSETS` names often comes without.
    pub controller_manager: Option<PathBuf>,
}

impl Assets {
    /// Takes the programs of a folder by their usual names.
    pub fn in_folder(folder: &Path) -> Result<Self, BuildError> {
        let required = |name: &'static str| {
            let path = folder.join(name);
            if path.is_file() {
                Ok(path)
            } else {
                Err(BuildError::Missing {
                    folder: folder.to_owned(),
                    name,
                })
            }
        };
        let controller_manager = folder.join("kube-controller-manager");
        Ok(Self {
            etcd: required("etcd")?,
            api_server: required("kube-apiserver")?,
            controller_manager: controller_manager.is_file().then_some(controller_manager),
        })
    }
}

/// Why there is no control plane although one was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A folder that should hold the programs lacks one.
    #[error(
        "{folder:?} holds no `{name}`: point KUBEBUILDER_ASSETS at a folder with etcd and kube-apiserver, or unset it"
    )]
    Missing {
        /// The folder looked at.
        folder: PathBuf,
        /// The program it lacks.
        name: &'static str,
    },
    /// Neither an override nor a home folder says where the cache is.
    #[error("no folder for the cache of control planes: set MCRT_CACHE_DIR, XDG_CACHE_HOME or HOME")]
    NoCacheFolder,
    /// The cache could not be read or written.
    #[error("failed to {action} {path:?} in the cache of control planes (see MCRT_CACHE_DIR): {source}")]
    Cache {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The Go tool could not be run.
    #[error(
        "failed to run `go`, which builds the control plane (install Go, or set KUBEBUILDER_ASSETS): {0}"
    )]
    NoGo(#[source] io::Error),
    /// The Go tool ran and failed.
    #[error("failed to build the control plane: `go build` ended with {status}, its last lines:\n{output}")]
    Go {
        /// How it ended.
        status: ExitStatus,
        /// The end of what it printed.
        output: String,
    },
}

/// Finds the programs of a control plane for a test.
///
/// `None` means that the test is to be skipped; the line that says so has been written to stderr.
/// With `MCRT_REQUIRE_CONTROL_PLANE=1` they are built if need be, and there is no `None`.
pub fn assets() -> Result<Option<Assets>, BuildError> {
    if let Some(found) = find()? {
        return Ok(Some(found));
    }
    if env::var(REQUIRE_VARIABLE).is_ok_and(|value| value == "1") {
        return build().map(Some);
    }
    tell_skipped(thread::current().name().unwrap_or("a test"));
    Ok(None)
}

/// Finds the programs without building anything.
pub fn find() -> Result<Option<Assets>, BuildError> {
    match env::var_os(ASSETS_VARIABLE) {
        Some(folder) if !folder.is_empty() => Assets::in_folder(Path::new(&folder)).map(Some),
        _ => cache::Entry::of_this_source()?.find(),
    }
}

/// Finds the programs, or builds them into the cache; says on stderr how far it is.
pub fn build() -> Result<Assets, BuildError> {
    match find()? {
        Some(found) => Ok(found),
        None => cache::Entry::of_this_source()?.fill(),
    }
}

/// Written past the capture of the test runner: whoever reads the log of a green run must see what did not run.
fn tell_skipped(test: &str) {
    say(format_args!(
        "skipped {test}: no control plane at hand; set KUBEBUILDER_ASSETS, or run `cargo run -p mcrt-tests --bin \
         control-plane` once (needs Go, takes minutes), or set {REQUIRE_VARIABLE}=1"
    ));
}

/// Writes a line to stderr itself, which the print macros do not do inside a test.
pub(super) fn say(line: fmt::Arguments<'_>) {
    // A closed stderr is no reason to fail a test.
    let _ = writeln!(io::stderr().lock(), "{line}");
}
