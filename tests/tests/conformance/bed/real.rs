//! The one real control plane of this process.

use std::{sync::OnceLock, thread};

use kube::Client;
use mcrt_tests::control_plane::{Assets, ControlPlane, User, assets};
use tokio::runtime;

/// The control plane that all behaviours share, started by the first that asks; `None` where there is none to be had.
///
/// It is never dropped: the keeper of its processes ends them when this process is gone, however that comes about.
pub(super) fn plane() -> Option<&'static ControlPlane> {
    static PLANE: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
    // Asked by every test, because every skipped one is to be named.
    let assets = assets().unwrap_or_else(|error| panic!("{error}"))?;
    match PLANE.get_or_init(|| start(assets)) {
        Ok(plane) => Some(plane),
        Err(error) => panic!("no control plane: {error}"),
    }
}

/// On a thread and a runtime of its own: the tests have one each, and those end with them.
fn start(assets: Assets) -> Result<ControlPlane, String> {
    let starting = thread::spawn(move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let plane = runtime.block_on(ControlPlane::start_with_controllers(&assets));
        plane.map_err(|error| error.to_string())
    });
    starting
        .join()
        .unwrap_or_else(|_| Err("its start panicked".to_owned()))
}

/// A client of the caller's runtime that adds no token: requests bring theirs.
pub(super) fn client(plane: &ControlPlane) -> Client {
    let mut config = plane.config();
    config.auth_info = kube::config::AuthInfo::default();
    // Behaviours see every answer, also those that ask to try again.
    config.default_retry = false;
    Client::try_from(config).unwrap_or_else(|error| panic!("no client: {error}"))
}

pub(super) fn limited_token(plane: &ControlPlane) -> String {
    plane.token(User::Limited)
}
