//! Tests of credentials: where they come from, how they are kept fresh, and how they are replaced.
mod answers;
mod authorize;
mod expiring;
mod fixed;
mod leases;
mod programs;
mod schedule;
mod script;
mod token_file;

use super::super::connection::ExecPlugin;

const V1: &str = "client.authentication.k8s.io/v1";

fn plugin(command: impl Into<std::path::PathBuf>) -> ExecPlugin {
    ExecPlugin {
        api_version: V1.into(),
        command: command.into(),
        args: Vec::new(),
        env: Vec::new(),
        cluster_info: None,
        install_hint: None,
    }
}
