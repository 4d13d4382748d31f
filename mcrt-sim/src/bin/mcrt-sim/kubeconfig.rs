//! The kubeconfig that leads to the fleet.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Where a cluster is served and how to get in.
pub(crate) struct Way {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) token: String,
}

/// A context, a cluster and a user for each way; the first is the current one.
pub(crate) fn kubeconfig(ways: &[&Way], authority: Option<&str>) -> Value {
    let each = |entry: &dyn Fn(&Way) -> Value| ways.iter().map(|way| entry(way)).collect::<Vec<_>>();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": ways.first().map_or("", |way| way.name.as_str()),
        "clusters": each(&|way| {
            let mut cluster = json!({"server": way.url});
            if let Some(authority) = authority {
                cluster["certificate-authority-data"] = STANDARD.encode(authority).into();
            }
            json!({"name": way.name, "cluster": cluster})
        }),
        "users": each(&|way| json!({"name": way.name, "user": {"token": way.token}})),
        "contexts": each(&|way| {
            json!({"name": way.name, "context": {"cluster": way.name, "user": way.name, "namespace": "default"}})
        }),
    })
}

/// Writes it as JSON, which is YAML too, for its owner's eyes only: it holds tokens.
pub(crate) fn write(path: &Path, kubeconfig: &Value) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    writeln!(file, "{kubeconfig:#}")
}
