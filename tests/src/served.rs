//! A simulated fleet over TLS in a process of its own, so that what is measured here is the client alone.

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::Stdio,
};

use k8s_openapi::ByteString;
use mcrt_sim::{Authority, Listen, Server, User};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

/// Said by the child once its kubeconfig is written.
const READY: &str = "ready";

/// The child; dropped, it is killed.
#[derive(Debug)]
pub struct Served {
    folder: TempDir,
    child: Child,
}

impl Served {
    /// Runs this program again with `--serve` and `--kubeconfig`; it has to call [`serve`] then.
    pub async fn start(clusters: usize) -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--serve", &clusters.to_string(), "--kubeconfig"])
            .arg(folder.path().join("kubeconfig"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().ok_or("the child has no output")?;
        let line = BufReader::new(output).lines().next_line().await?;
        if line.as_deref() != Some(READY) {
            return Err(format!("the server said {line:?}").into());
        }
        Ok(Self { folder, child })
    }

    /// A context for each cluster.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Kills it and waits for its end.
    pub async fn stop(mut self) -> std::io::Result<()> {
        self.child.kill().await
    }
}

/// Serves that many clusters until the process is killed.
pub async fn serve(clusters: usize, kubeconfig: &Path) -> Result<(), Box<dyn Error>> {
    let authority = Authority::new("fleet")?;
    let ca = serde_json::to_value(ByteString(authority.pem().as_bytes().to_vec()))?;
    let (mut listeners, mut ways, mut contexts) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..clusters {
        let name = format!("cluster-{number}");
        let server = Server::new(&name);
        server.add_token("token", User::admin("admin").group("system:masters"));
        let listener = server.listen_with(Listen::new().tls(&authority)).await?;
        ways.push(json!({
            "name": name,
            "cluster": {"server": listener.url(), "certificate-authority-data": ca},
        }));
        contexts.push(json!({"name": name, "context": {"cluster": name, "user": "admin"}}));
        listeners.push((server, listener));
    }
    let users = json!([{"name": "admin", "user": {"token": "token"}}]);
    let text = json!({"clusters": ways, "users": users, "contexts": contexts}).to_string();
    std::fs::write(kubeconfig, text)?;
    println!("{READY}");
    std::future::pending::<()>().await;
    drop(listeners);
    Ok(())
}
