//! The simulator's table of built-in kinds is what a real API server says of itself.

use std::error::Error;
use std::path::Path;

use mcrt_tests::builtin_table::render;
use mcrt_tests::control_plane::{ControlPlane, assets};

/// Set to `1`, writes the table instead of comparing it: after an update of the control plane's version.
const WRITE_VARIABLE: &str = "MCRT_WRITE_BUILTIN_TABLE";

#[tokio::test]
async fn the_table_of_built_in_kinds_is_what_the_real_server_says() -> Result<(), Box<dyn Error>> {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let rendered = render(&plane.client()).await?;
    plane.stop().await;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcrt-sim/src/schema/builtin.txt");
    if std::env::var(WRITE_VARIABLE).is_ok_and(|value| value == "1") {
        std::fs::write(&path, rendered)?;
        return Ok(());
    }
    let committed = std::fs::read_to_string(&path)?;
    let differing = rendered
        .lines()
        .zip(committed.lines())
        .find(|(new, old)| new != old);
    assert!(
        rendered == committed,
        "the server says otherwise, first at {differing:?}; {WRITE_VARIABLE}=1 writes the table anew"
    );
    Ok(())
}
