//! What our transport adds to a request, and whether what is written delays what is watched.
//!
//! The server is another process: a simulated one for requests, a real API server, where there is one, for the delay.

mod delay;
mod requests;

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::Parser;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use mcrt::connect::{Access, Connection, Life, RetrySettings, TransportSettings};
use mcrt_tests::{
    control_plane::{ControlPlane, assets},
    served::{Served, serve},
};

/// Compares requests through mcrt's transport with those through kube's own.
#[derive(Debug, Parser)]
struct Arguments {
    /// Requests of each side in each round
    #[arg(long, default_value_t = 2000)]
    requests: usize,
    /// Rounds, in which the sides take turns
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Events whose delay is measured; none for requests alone
    #[arg(long, default_value_t = 300)]
    events: usize,
    /// Writes under way while events are awaited
    #[arg(long, default_value_t = 400)]
    writes: usize,
    /// mcrt without HTTP/2
    #[arg(long)]
    http1: bool,
    /// How often mcrt sends a request at most
    #[arg(long, default_value_t = RetrySettings::default().attempts)]
    attempts: u32,
    #[arg(long, hide = true, requires = "kubeconfig")]
    serve: Option<usize>,
    #[arg(long, hide = true)]
    kubeconfig: Option<PathBuf>,
}

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match (arguments.serve, &arguments.kubeconfig) {
        (Some(clusters), Some(kubeconfig)) => serve(clusters, kubeconfig).await,
        _ => measure(&arguments).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overhead: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: &Arguments) -> Outcome {
    let served = Served::start(1).await?;
    let life = Life::new();
    let site = Site::new(Kubeconfig::read_from(served.kubeconfig())?);
    requests::measure(&site, &life, arguments).await?;
    if arguments.events == 0 {
        // Requests alone.
    } else if let Some(assets) = assets()? {
        let plane = ControlPlane::start(&assets).await?;
        let site = Site::new(Kubeconfig::from_yaml(&plane.kubeconfig("cluster-0"))?);
        delay::measure("a real API server", &site, &life, arguments).await?;
        plane.stop().await;
    } else {
        delay::measure("a simulated server", &site, &life, arguments).await?;
    }
    life.end().await;
    served.stop().await?;
    Ok(())
}

/// One cluster, and both ways to it.
struct Site {
    kubeconfig: Kubeconfig,
    context: String,
}

impl Site {
    fn new(kubeconfig: Kubeconfig) -> Self {
        let context = kubeconfig.contexts.first().map(|context| context.name.clone());
        Self {
            context: context.unwrap_or_default(),
            kubeconfig,
        }
    }

    fn ours(&self, life: &Life, arguments: &Arguments) -> Outcome<Client> {
        let mut settings = TransportSettings::default();
        settings.http2.enabled = !arguments.http1;
        settings.retry.attempts = arguments.attempts;
        let connection = Connection::from_kubeconfig(&self.kubeconfig, &self.context)?;
        let transport = Access::from(connection).connect(&settings, life)?;
        Ok(transport.client())
    }

    async fn plain(&self) -> Outcome<Client> {
        let options = KubeConfigOptions {
            context: Some(self.context.clone()),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(self.kubeconfig.clone(), &options).await?;
        Ok(Client::try_from(config)?)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
