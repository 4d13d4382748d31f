//! Builds the control plane and the clients of the tests into the cache, and runs a control plane when asked to.

use std::{
    error::Error, fs::File, io::Write as _, os::unix::fs::OpenOptionsExt as _, path::PathBuf,
    process::ExitCode,
};

use clap::Parser;
use mcrt_tests::{
    clients,
    control_plane::{ControlPlane, Options, User, build},
};

/// Makes etcd, kube-apiserver, kube-controller-manager and the clients of the tests ready; with `--kubeconfig`, runs
/// the first three instead.
#[derive(Debug, Parser)]
struct Arguments {
    /// Start a control plane, write a kubeconfig for it to this path, and run until Ctrl-C
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// Contexts in the kubeconfig, all of them the one control plane
    #[arg(long, value_name = "N", default_value_t = 1, requires = "kubeconfig")]
    contexts: usize,
    /// Run the garbage collector, the namespace, service account and root CA controllers as well
    #[arg(long, requires = "kubeconfig")]
    controllers: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("control plane: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let assets = build()?;
    eprintln!("control plane: etcd at {}", assets.etcd.display());
    eprintln!("control plane: kube-apiserver at {}", assets.api_server.display());
    let Some(path) = arguments.kubeconfig else {
        eprintln!("clients: kubectl at {}", clients::build()?.kubectl.display());
        return Ok(());
    };

    let options = if arguments.controllers {
        Options::default().with_controllers()
    } else {
        Options::default()
    };
    let plane = tokio::select! {
        plane = ControlPlane::start_with(&assets, &options) => plane?,
        interrupted = tokio::signal::ctrl_c() => return Ok(interrupted?),
    };
    let contexts = (1..=arguments.contexts)
        .map(|n| format!("context-{n}"))
        .collect::<Vec<_>>();
    // It holds the administrator's token.
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(plane.kubeconfig_of(User::Admin, &contexts).as_bytes())?;
    eprintln!(
        "control plane: {} until Ctrl-C; kubeconfig in {}",
        plane.server_url(),
        path.display()
    );
    tokio::signal::ctrl_c().await?;
    plane.stop().await;
    Ok(())
}
