//! Where the checks take place: members behind TLS in this process, or real API servers, started once.
#![expect(clippy::panic, reason = "this is how a test fails")]
use mcrt::testing::conformance::{Adapter, Outside, Site, run_all};
use mcrt_tests::control_plane::{ControlPlane, Options, assets, start_many};
use std::sync::OnceLock;

/// A host and three members.
const PLANES: usize = 4;

/// Runs all checks with a simulated host and simulated members behind TLS.
pub(crate) fn served<A: Adapter>() {
    run_all::<A>(async || Some(Site::served().await));
}

/// Runs all checks on real API servers; nothing, and says so, if there are none to be had.
pub(crate) fn real<A: Adapter>() {
    let Some(planes) = planes() else { return };
    run_all::<A>(async || {
        let mut servers = planes.iter().map(|plane| Outside::of(&plane.kubeconfig("admin")));
        let host = servers.next()?;
        Some(Site::outside(host, servers))
    });
}

/// Started by whoever comes first, in a runtime of their own: tests have each its own, and end before they do.
fn planes() -> Option<&'static [ControlPlane]> {
    static PLANES_OF_ALL: OnceLock<Option<Vec<ControlPlane>>> = OnceLock::new();
    let planes = PLANES_OF_ALL.get_or_init(|| {
        let assets = assets().unwrap_or_else(|error| panic!("{error}"))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let started = runtime
            .unwrap()
            .block_on(start_many(PLANES, &assets, &Options::default()));
        Some(started.unwrap_or_else(|error| panic!("{error}")))
    });
    planes.as_deref()
}
