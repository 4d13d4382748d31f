//! Where the programs of a control plane are: named by the environment, found in the cache, or built into it.

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::go::{BuildError, Source};

/// Names the folder that holds `etcd`, `kube-apiserver` and perhaps `kube-controller-manager`.
const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";

static SOURCE: Source = Source {
    title: "control plane",
    folder: concat!(env!("CARGO_MANIFEST_DIR"), "/control-plane"),
    module: include_str!("../../control-plane/go.mod"),
    files: &[
        include_str!("../../control-plane/go.sum"),
        include_str!("../../control-plane/main.go"),
    ],
    names: &["etcd", "kube-apiserver", "kube-controller-manager"],
};

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

/// Finds the programs of a control plane for a test.
///
/// `None` means that the test is to be skipped; the line that says so has been written to stderr.
/// With `MCRT_REQUIRE_CONTROL_PLANE=1` they are built if need be, and there is no `None`.
pub fn assets() -> Result<Option<Assets>, BuildError> {
    let folder = match named() {
        Some(folder) => Some(folder),
        None => SOURCE.required()?,
    };
    folder.map(|folder| Assets::in_folder(&folder)).transpose()
}

/// Finds the programs without building anything.
pub fn find() -> Result<Option<Assets>, BuildError> {
    let folder = match named() {
        Some(folder) => Some(folder),
        None => SOURCE.find()?,
    };
    folder.map(|folder| Assets::in_folder(&folder)).transpose()
}

/// Finds the programs, or builds them into the cache; says on stderr how far it is.
pub fn build() -> Result<Assets, BuildError> {
    let folder = match named() {
        Some(folder) => folder,
        None => SOURCE.build()?,
    };
    Assets::in_folder(&folder)
}

fn named() -> Option<PathBuf> {
    env::var_os(ASSETS_VARIABLE)
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
}
