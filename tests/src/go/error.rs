//! Why there is no program although one was asked for.

use std::{io, path::PathBuf, process::ExitStatus};

/// Why there is no control plane, or other program in Go, although one was asked for.
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
    #[error("no folder for the cache of built programs: set MCRT_CACHE_DIR, XDG_CACHE_HOME or HOME")]
    NoCacheFolder,
    /// The cache could not be read or written.
    #[error("failed to {action} {path:?} in the cache of built programs (see MCRT_CACHE_DIR): {source}")]
    Cache {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The Go tool could not be run.
    #[error("failed to run `go`, which builds the {title} (install Go, or set KUBEBUILDER_ASSETS): {source}")]
    NoGo {
        /// What was to be built.
        title: &'static str,
        /// Why it could not be run.
        source: io::Error,
    },
    /// The Go tool ran and failed.
    #[error("failed to build the {title}: `go build` ended with {status}, its last lines:\n{output}")]
    Go {
        /// What was to be built.
        title: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it printed.
        output: String,
    },
}
