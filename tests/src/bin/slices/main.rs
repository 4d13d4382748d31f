//! What a namespace costs that is a cluster: one watch per kind, the cost of an event, the memory of each.
//!
//! ```text
//! parent: a server over TLS, N namespaces with a ConfigMap each; later, changes of them all over
//! child:  a controller over the N namespaces -> its numbers before, when all is watched, and after the changes
//! ```
//! The parent counts what the child asked of it; the child is the controller alone.

mod side;

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
};

use clap::Parser;
use k8s_openapi::ByteString;
use mcrt_sim::{Authority, Listen, Server, User};
use serde_json::{Value, json};
use side::{Cost, READY};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

/// Engages namespaces of a server in another process, and prints what each of them and each event costs.
#[derive(Debug, Parser)]
struct Arguments {
    /// Namespaces, one run for each of these numbers
    #[arg(long, value_delimiter = ',', default_values_t = [100, 1_000, 10_000])]
    namespaces: Vec<usize>,
    /// Changes of objects, spread over all namespaces
    #[arg(long, default_value_t = 20_000)]
    events: usize,
    /// Run the controller in this process, over that many namespaces
    #[arg(long, hide = true, requires = "kubeconfig")]
    controller: Option<usize>,
    #[arg(long, hide = true)]
    kubeconfig: Option<PathBuf>,
}

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match (arguments.controller, &arguments.kubeconfig) {
        (Some(namespaces), Some(kubeconfig)) => side::run(kubeconfig, namespaces, arguments.events).await,
        _ => parent(&arguments).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("slices: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn parent(arguments: &Arguments) -> Outcome {
    println!(
        "{:>10} {:>10} {:>10} {:>10} {:>10} {:>12} {:>8} {:>8}",
        "namespaces", "engaged, s", "KiB each", "sort, us", "CPU, us", "rest, ms/s", "watches", "sockets"
    );
    for namespaces in &arguments.namespaces {
        let cost = measured(*namespaces, arguments.events).await?;
        println!(
            "{:>10} {:>10.2} {:>10.1} {:>10.2} {:>10.1} {:>12.1} {:>8} {:>8}",
            namespaces,
            cost.seconds,
            cost.kib_each,
            cost.sorting_us,
            cost.cpu_us,
            cost.rest_ms,
            cost.watches,
            cost.sockets
        );
    }
    println!(
        "sort: telling whose an event is and handing it over; CPU: of the whole controller, for each of {} events, \
         beyond that at rest",
        arguments.events
    );
    Ok(())
}

/// One run, and that the child asked for one watch per kind, however many namespaces there are.
async fn measured(namespaces: usize, events: usize) -> Outcome<Cost> {
    let (folder, server) = (tempfile::tempdir()?, Server::new("slices"));
    for number in 0..namespaces {
        let name = namespace(number);
        server.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))?;
        server.create(config(&name, 0))?;
    }
    server.settle();
    let kubeconfig = folder.path().join("kubeconfig");
    let authority = Authority::new("slices")?;
    server.add_token("token", User::admin("admin").group("system:masters"));
    let listener = server.listen_with(Listen::new().tls(&authority)).await?;
    std::fs::write(&kubeconfig, text(listener.url(), &authority)?)?;
    let (mut child, mut lines) = start(&kubeconfig, namespaces, events)?;
    if lines.next_line().await?.as_deref() != Some(READY) {
        return Err("the controller ended early".into());
    }
    let before = server.counters();
    for kind in ["configmaps", "secrets"] {
        let counts = before.kind(kind);
        if counts.open_watches != 1 {
            return Err(format!("{} watches of {kind} are open", counts.open_watches).into());
        }
    }
    for event in 0..events {
        server.replace(config(&namespace(event % namespaces), event + 1))?;
        // The child keeps up: what a queue of events costs is not what is measured.
        if event % 100 == 99 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
    if let Some(input) = &mut child.stdin {
        input.write_all(b"written\n").await?;
    }
    let line = lines.next_line().await?.ok_or("the controller said nothing")?;
    let cost = serde_json::from_str(&line)?;
    let status = child.wait().await?;
    if !status.success() {
        return Err(format!("the controller ended with {status}").into());
    }
    Ok(cost)
}

fn start(
    kubeconfig: &Path,
    namespaces: usize,
    events: usize,
) -> Outcome<(Child, Lines<BufReader<ChildStdout>>)> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--controller", &namespaces.to_string()])
        .args(["--events", &events.to_string(), "--kubeconfig"])
        .arg(kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let output = child.stdout.take().ok_or("the child has no output")?;
    Ok((child, BufReader::new(output).lines()))
}

fn namespace(number: usize) -> String {
    format!("slice-{number}")
}

fn config(namespace: &str, value: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "one", "namespace": namespace, "labels": {"mcrt.dev/slice": "x"}},
        "data": {"value": value.to_string()},
    })
}

fn text(url: &str, authority: &Authority) -> Outcome<String> {
    let ca = serde_json::to_value(ByteString(authority.pem().as_bytes().to_vec()))?;
    Ok(json!({
        "current-context": "host",
        "clusters": [{"name": "host", "cluster": {"server": url, "certificate-authority-data": ca}}],
        "users": [{"name": "admin", "user": {"token": "token"}}],
        "contexts": [{"name": "host", "context": {"cluster": "host", "user": "admin"}}],
    })
    .to_string())
}
