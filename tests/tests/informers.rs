//! The informers of client-go lose nothing on simulated servers: a controller made with `controller-runtime` does all
//! its work in fifty clusters, through 410s, broken connections and restarts.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the way tests do"
)]

use std::{
    fs::{self, File},
    path::Path,
    process::Stdio,
    time::Duration,
};

use mcrt_sim::{Fault, Faults, Listen, Listener, Requests, Server};
use mcrt_tests::{clients::clients, eventually, waiting::eventually_in};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

const CLUSTERS: usize = 50;
const OBJECTS: usize = 20;
/// Generous, because the machines that run this are often busy with other things.
const LIMIT: Duration = Duration::from_mins(4);
/// Lines of the program's log that a failure shows.
const LAST_LINES: usize = 25;

/// A server and the port it is reached at.
struct Cluster {
    server: Server,
    listener: Option<Listener>,
}

impl Cluster {
    async fn start(name: String) -> Self {
        let server = Server::new(&name);
        let listener = Some(server.listen().await.unwrap());
        Self { server, listener }
    }

    /// Takes the port away and gives it back, as a server that restarts does.
    async fn restart(&mut self) {
        let listener = self.listener.take().unwrap();
        let addr = listener.addr();
        listener.shutdown().await;
        let listen = eventually(LIMIT, "the port of before", async || {
            self.server.listen_with(Listen::new().on(addr)).await
        });
        self.listener = Some(listen.await);
    }

    /// Creates the objects that are not there, and asks for new work on all of them.
    fn want(&self, wanted: &str) {
        for number in 0..OBJECTS {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"wanted": wanted},
                "metadata": {"name": format!("work-{number}"), "labels": {"informers": "yes"}},
            });
            // The controller writes as well: a merge takes whatever version is there.
            if self.server.merge(object.clone()).is_err() {
                self.server.create(object).unwrap();
            }
        }
    }

    /// How many objects lack what is wanted of them.
    fn undone(&self, wanted: &str) -> usize {
        let objects = self.server.list("v1", "ConfigMap", Some("default")).unwrap();
        let done = |object: &&Value| object["data"]["done"] == wanted;
        OBJECTS - objects.iter().filter(done).count()
    }
}

fn want(clusters: &[Cluster], wanted: &str) {
    for cluster in clusters {
        cluster.want(wanted);
    }
}

fn kubeconfig(clusters: &[Cluster]) -> Value {
    let names = || clusters.iter().map(|cluster| cluster.server.name());
    let server = |cluster: &Cluster| {
        let url = cluster.listener.as_ref().unwrap().url().to_owned();
        json!({"name": cluster.server.name(), "cluster": {"server": url}})
    };
    let context = |name| json!({"name": name, "context": {"cluster": name, "user": name}});
    json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": clusters.iter().map(server).collect::<Vec<_>>(),
        "contexts": names().map(context).collect::<Vec<_>>(),
        "users": names().map(|name| json!({"name": name, "user": {}})).collect::<Vec<_>>(),
    })
}

fn start(program: &Path, folder: &Path) -> Child {
    let log = File::create(folder.join("log")).unwrap();
    Command::new(program)
        .arg("--kubeconfig")
        .arg(folder.join("kubeconfig"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Waits until all is done in all clusters; a failure shows the end of the program's log.
async fn all_done(clusters: &[Cluster], wanted: &str, folder: &Path) {
    let log = || {
        let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    };
    eventually_in(LIMIT, wanted, log, async || {
        let undone = clusters
            .iter()
            .map(|cluster| (cluster.server.name(), cluster.undone(wanted)));
        let undone: Vec<_> = undone.filter(|(_, undone)| *undone > 0).collect();
        if undone.is_empty() {
            Ok(())
        } else {
            Err(format!("not done: {undone:?}"))
        }
    })
    .await;
}

#[tokio::test]
async fn a_controller_of_another_library_does_all_its_work_in_fifty_clusters() {
    let clients = clients().unwrap_or_else(|error| panic!("{error}"));
    let Some(clients) = clients else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut clusters = Vec::new();
    for number in 0..CLUSTERS {
        clusters.push(Cluster::start(format!("cluster-{number}")).await);
    }
    fs::write(folder.join("kubeconfig"), kubeconfig(&clusters).to_string()).unwrap();
    want(&clusters, "at first");
    let mut program = start(&clients.informers, folder);
    all_done(&clusters, "at first", folder).await;

    // Both shapes of 410: inside the watches that are open, and for those that start at what is forgotten.
    for cluster in &clusters {
        cluster.server.disconnect_watches();
        cluster.want("after 410s");
        cluster.server.compact();
        cluster.server.expire_watches();
    }
    all_done(&clusters, "after 410s", folder).await;

    let plan = Faults::seeded(7)
        .on(Requests::watches().rate(0.3), Fault::reset())
        .on(Requests::watches().rate(0.2), Fault::watch_gone())
        .on(Requests::writes().rate(0.1), Fault::lose_answer())
        .on(Requests::reads().rate(0.1), Fault::status(503));
    for cluster in &clusters {
        cluster.server.faults(plan.clone());
        cluster.server.disconnect_watches();
        cluster.want("through faults");
    }
    all_done(&clusters, "through faults", folder).await;
    for cluster in &clusters {
        cluster.server.clear_faults();
    }

    for cluster in clusters.iter_mut().step_by(2) {
        cluster.restart().await;
    }
    for cluster in clusters.iter().skip(1).step_by(2) {
        cluster.server.restart();
    }
    want(&clusters, "after restarts");
    all_done(&clusters, "after restarts", folder).await;

    // What happened while nobody looked is found when the program starts again.
    assert_eq!(program.try_wait().unwrap(), None, "the program ended by itself");
    program.kill().await.unwrap();
    want(&clusters, "from anew");
    program = start(&clients.informers, folder);
    all_done(&clusters, "from anew", folder).await;
    assert_eq!(program.try_wait().unwrap(), None, "the program ended by itself");
    program.kill().await.unwrap();
}
