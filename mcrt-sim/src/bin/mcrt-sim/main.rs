//! Serves a fleet of simulated clusters that `kubectl` and any other client can use.

mod arguments;
mod churn;
mod kubeconfig;
mod load;
mod serve;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    match serve::run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcrt-sim: {error}");
            ExitCode::FAILURE
        }
    }
}
