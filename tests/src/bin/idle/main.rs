//! What a cluster costs that is engaged and has nothing to do: mcrt and plain kube-rs, five kinds watched in each.
//!
//! ```text
//! parent: server of N clusters over TLS (a child) -> children, one side after the other -> medians
//! child:  one side, from start until all kinds of all clusters are watched, and a time of rest -> its numbers
//! ```

mod sides;

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
};

use clap::{Parser, ValueEnum};
use mcrt_tests::served::{Served, serve};
use sides::Cost;

/// Engages clusters that are simulated in another process, and prints what each of them costs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Clusters
    #[arg(long, default_value_t = 200)]
    clusters: usize,
    /// Runs of each side, in turns
    #[arg(long, default_value_t = 3)]
    pairs: usize,
    /// Seconds of rest after all is watched
    #[arg(long, default_value_t = 20)]
    rest: u64,
    /// mcrt without HTTP/2
    #[arg(long)]
    http1: bool,
    /// Serve that many clusters
    #[arg(long, hide = true, requires = "kubeconfig")]
    serve: Option<usize>,
    /// Run one side in this process
    #[arg(long, hide = true, requires = "kubeconfig")]
    side: Option<Side>,
    #[arg(long, hide = true)]
    kubeconfig: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Side {
    Mcrt,
    Kube,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Mcrt => "mcrt",
            Self::Kube => "kube",
        }
    }
}

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match (arguments.serve, arguments.side, &arguments.kubeconfig) {
        (Some(clusters), _, Some(kubeconfig)) => serve(clusters, kubeconfig).await,
        (_, Some(side), Some(kubeconfig)) => child(side, kubeconfig, &arguments).await,
        _ => parent(&arguments).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("idle: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn child(side: Side, kubeconfig: &Path, arguments: &Arguments) -> Outcome {
    let cost = match side {
        Side::Mcrt => sides::mcrt(kubeconfig, arguments).await?,
        Side::Kube => sides::kube(kubeconfig, arguments).await?,
    };
    println!("{}", serde_json::to_string(&cost)?);
    Ok(())
}

async fn parent(arguments: &Arguments) -> Outcome {
    let (mut mcrt, mut kube) = (Vec::new(), Vec::new());
    for _ in 0..arguments.pairs {
        for side in [Side::Mcrt, Side::Kube] {
            // A fresh server each time: none has to clean up after the other.
            let served = Served::start(arguments.clusters).await?;
            let cost = run(side, &served.kubeconfig(), arguments).await?;
            served.stop().await?;
            eprintln!("idle: {} {cost:?}", side.name());
            match side {
                Side::Mcrt => mcrt.push(cost),
                Side::Kube => kube.push(cost),
            }
        }
    }
    println!(
        "{} clusters, five kinds each, {} s of rest, median of {} runs; all but the first line for one cluster",
        arguments.clusters, arguments.rest, arguments.pairs
    );
    println!("{:<28} {:>10} {:>10}  goal", "", "mcrt", "kube");
    row("all watched, s", &mcrt, &kube, |cost| cost.seconds, "");
    row("resident, KiB", &mcrt, &kube, |cost| cost.resident_kib, "150");
    row("connections", &mcrt, &kube, |cost| cost.connections, "2");
    row("CPU to engage, ms", &mcrt, &kube, |cost| cost.engage_ms, "1.5");
    row("CPU at rest, ms/min", &mcrt, &kube, |cost| cost.rest_ms, "");
    Ok(())
}

fn row(what: &str, mcrt: &[Cost], kube: &[Cost], of: impl Fn(&Cost) -> f64, goal: &str) {
    let median = |costs: &[Cost]| {
        let mut values: Vec<_> = costs.iter().map(&of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let (mcrt, kube) = (median(mcrt), median(kube));
    let goal = match goal.parse::<f64>() {
        Ok(most) if mcrt <= most => format!("{goal}: met"),
        Ok(_) => format!("{goal}: MISSED"),
        Err(_) => String::new(),
    };
    println!("{what:<28} {mcrt:>10.2} {kube:>10.2}  {goal}");
}

async fn run(side: Side, kubeconfig: &Path, arguments: &Arguments) -> Outcome<Cost> {
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command
        .args(["--side", side.name(), "--rest", &arguments.rest.to_string()])
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    if arguments.http1 {
        command.arg("--http1");
    }
    let output = command.output().await?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", side.name(), output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
