//! What clusters of real API servers go through: five of fifty go dark and return, kubeconfigs change, break and lie,
//! one comes and goes all the time. All of them share two control planes, and run at once.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod churn;
mod dark;
mod sources;
mod work;

use std::{error::Error, net::SocketAddr};

use mcrt_tests::control_plane::{ControlPlane, Options, assets, start_many};
use tokio::sync::OnceCell;

type Outcome = Result<(), Box<dyn Error>>;

/// The control planes of all tests here.
struct Planes {
    /// Nothing ever happens to it.
    good: ControlPlane,
    /// Stopped and continued by one test, and used by no other.
    frozen: ControlPlane,
}

/// Started by the first test that asks; gone with the process.
async fn planes() -> Result<Option<&'static Planes>, Box<dyn Error>> {
    static PLANES: OnceCell<Planes> = OnceCell::const_new();
    let Some(assets) = assets()? else { return Ok(None) };
    let started = PLANES.get_or_try_init(async || {
        let mut planes = start_many(2, &assets, &Options::default()).await?;
        let frozen = planes.pop().ok_or("two were asked for")?;
        let good = planes.pop().ok_or("two were asked for")?;
        Ok::<_, Box<dyn Error>>(Planes { good, frozen })
    });
    started.await.map(Some)
}

fn address(plane: &ControlPlane) -> SocketAddr {
    let address = plane.server_url().strip_prefix("https://").unwrap();
    address.trim_end_matches('/').parse().unwrap()
}

/// The administrator's kubeconfig of one context, which leads through an address.
fn through(plane: &ControlPlane, context: &str, address: SocketAddr) -> String {
    plane
        .kubeconfig(context)
        .replace(plane.server_url(), &format!("https://{address}"))
}
