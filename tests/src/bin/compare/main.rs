//! Compares mcrt with plain kube-rs, one `Controller` per context, on one real API server behind many contexts.
//!
//! ```text
//! parent: control plane, objects, kubeconfig -> pairs of children, one side after the other -> medians
//! child:  one side, from start until every object is reconciled -> its numbers, as a line of JSON
//! ```

mod sides;
mod site;
mod table;

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
};

use clap::{Parser, ValueEnum};
use mcrt_tests::measure::Numbers;
use site::Site;
use table::Runs;

/// Reconciles every object of every context, by mcrt and by plain kube-rs, and prints what each took.
#[derive(Debug, Parser)]
struct Arguments {
    /// Contexts, all of them one API server
    #[arg(long, default_value_t = 50)]
    contexts: usize,
    /// Config maps of 1 KB in the API server, seen once in every context
    #[arg(long, default_value_t = 500)]
    objects: usize,
    /// Entries that share the 1 KB
    #[arg(long, default_value_t = 1)]
    entries: usize,
    /// Runs of each side, in turns
    #[arg(long, default_value_t = 5)]
    pairs: usize,
    /// Reconciles that may run at once
    #[arg(long, default_value_t = 16)]
    workers: u16,
    /// Objects in a page of mcrt's lists, if not its default; kube-rs always has 500
    #[arg(long)]
    page_size: Option<u32>,
    /// Lists of mcrt that run at once, if not its default; kube-rs runs them all
    #[arg(long)]
    lists: Option<usize>,
    /// So many contexts accept connections and never answer; the others are timed with and without them
    #[arg(long, default_value_t = 0)]
    black_holes: usize,
    /// Run one side in this process, against this kubeconfig
    #[arg(long, hide = true, requires = "kubeconfig")]
    side: Option<Side>,
    #[arg(long, hide = true)]
    kubeconfig: Option<PathBuf>,
    /// Objects that have to be reconciled, over all contexts
    #[arg(long, hide = true, default_value_t = 0)]
    expect: u64,
    /// Watch the one object that stands for an empty cluster
    #[arg(long, hide = true)]
    empty: bool,
}

/// One of the two programs.
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
    let outcome = match (arguments.side, &arguments.kubeconfig) {
        (Some(side), Some(kubeconfig)) => child(side, kubeconfig, &arguments).await,
        _ => parent(&arguments).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn child(side: Side, kubeconfig: &Path, arguments: &Arguments) -> Outcome {
    let work = sides::Work::read(kubeconfig, arguments)?;
    let numbers = match side {
        Side::Mcrt => sides::mcrt(work).await?,
        Side::Kube => sides::kube(work).await?,
    };
    println!("{}", serde_json::to_string(&numbers)?);
    Ok(())
}

async fn parent(arguments: &Arguments) -> Outcome {
    let Some(site) = Site::start(arguments).await? else {
        return Ok(());
    };
    table::machine();
    if arguments.black_holes > 0 {
        compare_with_black_holes(&site, arguments).await?;
    } else {
        compare(&site, arguments).await?;
    }
    site.stop().await;
    Ok(())
}

/// Both sides in turns, over the same contexts; then each once without objects.
async fn compare(site: &Site, arguments: &Arguments) -> Outcome {
    let mut runs = Runs::default();
    for pair in 0..arguments.pairs {
        for side in in_turns(pair) {
            runs.add(side, run(side, &site.all(), arguments, false).await?);
        }
    }
    let mut empty = Runs::default();
    for side in [Side::Mcrt, Side::Kube] {
        empty.add(side, run(side, &site.all(), arguments, true).await?);
    }
    table::comparison(arguments, &runs, &empty);
    Ok(())
}

/// Each side with and without the contexts that never answer.
async fn compare_with_black_holes(site: &Site, arguments: &Arguments) -> Outcome {
    let (mut with, mut without) = (Runs::default(), Runs::default());
    for pair in 0..arguments.pairs {
        for side in in_turns(pair) {
            without.add(side, run(side, &site.healthy(), arguments, false).await?);
            with.add(side, run(side, &site.all(), arguments, false).await?);
        }
    }
    table::black_holes(arguments, &with, &without);
    Ok(())
}

/// Neither side always goes first.
fn in_turns(pair: usize) -> [Side; 2] {
    if pair.is_multiple_of(2) {
        [Side::Mcrt, Side::Kube]
    } else {
        [Side::Kube, Side::Mcrt]
    }
}

/// Runs one side in a process of its own.
async fn run(side: Side, kubeconfig: &Path, arguments: &Arguments, empty: bool) -> Outcome<Numbers> {
    let healthy = arguments.contexts - arguments.black_holes;
    let objects = if empty { 1 } else { arguments.objects };
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    command
        .args(["--side", side.name()])
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--workers", &arguments.workers.to_string()])
        .args(["--expect", &(healthy * objects).to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    if empty {
        command.arg("--empty");
    }
    if let Some(page_size) = arguments.page_size {
        command.args(["--page-size", &page_size.to_string()]);
    }
    if let Some(lists) = arguments.lists {
        command.args(["--lists", &lists.to_string()]);
    }
    let output = command.output().await?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", side.name(), output.status).into());
    }
    let numbers = serde_json::from_slice(&output.stdout)?;
    eprintln!("compare: {} {numbers}", side.name());
    Ok(numbers)
}
