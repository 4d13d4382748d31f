//! Why a control plane did not start.

use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

/// Why a control plane did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Its files could not be written.
    #[error("failed to prepare the files of a control plane: {0}")]
    Files(#[source] io::Error),
    /// No port was to be had.
    #[error("failed to find a free port for a control plane: {0}")]
    Ports(#[source] io::Error),
    /// A program could not be run.
    #[error("failed to run {program}: {source}")]
    Spawn {
        /// The program.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// Controllers were asked for, and there is no program for them.
    #[error(
        "no kube-controller-manager beside {api_server:?}: put one of the same version there, or unset \
         KUBEBUILDER_ASSETS to use the control plane that the tests build"
    )]
    NoControllerManager {
        /// The API server it was looked for beside.
        api_server: PathBuf,
    },
    /// A program ended by itself.
    #[error("{program} ended with {status} while the control plane started; the end of its log:\n{log}")]
    Ended {
        /// The program.
        program: &'static str,
        /// How it ended.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// A program did not become ready in time.
    #[error("{program} was not ready after {waited:?} ({last}); the end of its log:\n{log}")]
    NotReady {
        /// The program.
        program: &'static str,
        /// How long it was waited for.
        waited: Duration,
        /// What was found wrong at last.
        last: String,
        /// The end of its log.
        log: String,
    },
    /// The kubeconfig of the control plane was refused.
    #[error("failed to read the kubeconfig of a control plane: {0}")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
}

impl StartError {
    /// Whether another process took the port in the moment between choosing and using it.
    pub(super) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Ended { log, .. } if log.contains("address already in use"))
    }
}
