//! One run of a credential program.
use super::{
    super::super::connection::ExecPlugin,
    answer::{self, Credential},
    failure::Failure,
};
use crate::child::{self, printable};
use serde::Serialize;
use serde_json::value::RawValue;
use std::{
    io,
    process::Stdio,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

/// Most that a program may print.
const MOST: usize = 1 << 20;

/// Runs a program and reads what it gives. When `stop` is cancelled, or the future dropped, its process group is
/// killed.
///
/// It gets no input, the environment of this process with that of its description, and `KUBERNETES_EXEC_INFO`. What it
/// writes to its standard error is discarded: it may be secret.
pub(in super::super) async fn run(
    plugin: Arc<ExecPlugin>,
    deadline: Duration,
    stop: CancellationToken,
) -> Result<Credential, Failure> {
    let described = Arc::clone(&plugin);
    let output = child::run(move || command(&described), deadline, &stop, MOST, |_| {}).await;
    let output = output.map_err(|failure| match failure {
        child::Failure::NotFound => Failure::NotFound {
            hint: plugin.install_hint.as_deref().map(printable),
        },
        other => other.into(),
    })?;
    // Keys are checked and a mebibyte of YAML is parsed: not on a worker.
    let read = tokio::task::spawn_blocking(move || answer::read(&plugin, &output, SystemTime::now()));
    read.await.unwrap_or(Err(Failure::Stopped))
}

fn command(plugin: &ExecPlugin) -> io::Result<Command> {
    let mut command = Command::new(&plugin.command);
    command
        .args(&plugin.args)
        .envs(plugin.env.iter().map(|(name, value)| (name, value)))
        .env("KUBERNETES_EXEC_INFO", info(plugin)?)
        .stderr(Stdio::null());
    Ok(command)
}

/// What the program is told: an `ExecCredential` with a `spec`.
fn info(plugin: &ExecPlugin) -> io::Result<String> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Info<'a> {
        api_version: &'a str,
        kind: &'static str,
        spec: Spec<'a>,
    }
    #[derive(Serialize)]
    struct Spec<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        cluster: Option<&'a RawValue>,
        interactive: bool,
    }
    let cluster = plugin
        .cluster_info
        .as_deref()
        .map(serde_json::from_str)
        .transpose()?;
    let info = Info {
        api_version: &plugin.api_version,
        kind: "ExecCredential",
        spec: Spec {
            cluster,
            interactive: false,
        },
    };
    Ok(serde_json::to_string(&info)?)
}
