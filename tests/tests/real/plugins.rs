//! Credential programs through the public API: simulated servers behind TLS, kubeconfigs with `exec`, real time.

use std::{
    error::Error,
    fmt::Write as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{
    ClusterName, Manager,
    connect::{Connection, Policy},
    provider::ClusterSpec,
    providers::Clusters,
};
use mcrt_sim::{Authority, Listen, Listener, Server, User};
use mcrt_tests::{
    Running, eventually,
    simulated::{Recorder, config},
};
use serde_json::{Value, json};
use tokio::time::sleep;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const LIMIT: Duration = Duration::from_secs(20);
const SHELL: &str = "/bin/sh";

/// A simulated server on a TLS port.
struct Site {
    server: Server,
    authority: Authority,
    listener: Listener,
}

impl Site {
    async fn open(name: &str) -> Outcome<Self> {
        let (server, authority) = (Server::new(name), Authority::new(name)?);
        let listener = server.listen_with(Listen::new().tls(&authority)).await?;
        Ok(Self {
            server,
            authority,
            listener,
        })
    }

    /// The cluster as a kubeconfig describes it, with this user.
    fn spec(&self, user: &Value) -> Outcome<ClusterSpec> {
        let ca = k8s_openapi::ByteString(self.authority.pem().as_bytes().to_vec());
        let cluster = json!({"server": self.listener.url(), "certificate-authority-data": ca});
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "c", "user": user}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
        });
        let policy = Policy::strict().allow_local_servers().allow_command(SHELL);
        let connection = Connection::from_bytes(kubeconfig.to_string(), None, &policy)?;
        Ok(ClusterSpec::new(
            name(self.server.name())?,
            self.server.uid(),
            connection,
        ))
    }
}

fn name(name: &str) -> Outcome<ClusterName> {
    Ok(name.try_into()?)
}

/// A user whose credentials a shell script prints.
fn exec(script: &str) -> Value {
    json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
        "command": SHELL, "args": ["-c", script],
    }})
}

fn start(seen: &Recorder, clusters: Clusters) -> Outcome<Running> {
    let manager = Manager::builder()
        .provider(clusters)
        .controller(seen.controller("seen"));
    Ok(Running::start(manager.build()?))
}

async fn reconciled(seen: &Recorder, cluster: &str, object: &str) {
    eventually(LIMIT, &format!("{object} of {cluster}"), async || {
        seen.expect(cluster, object, 1)
    })
    .await;
}

fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Whether a process is there and no zombie.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_hangs_holds_up_no_other_cluster_and_is_killed_with_its_own() -> Outcome {
    let folder = tempfile::tempdir()?;
    let pids = folder.path().join("pids");
    let clusters = Clusters::new();
    let hung = Site::open("a").await?;
    clusters.add(hung.spec(&exec(&format!("echo $$ >> {}; sleep 600", pids.display())))?)?;
    let mut sites = Vec::new();
    for member in ["b", "c", "d", "e", "f"] {
        let site = Site::open(member).await?;
        site.server.add_token("good", User::admin("operator"));
        site.server.create(config("object"))?;
        clusters.add(site.spec(&json!({"token": "good"}))?)?;
        sites.push(site);
    }
    let seen: Recorder = Recorder::default();
    let began = Instant::now();
    let running = start(&seen, clusters.clone())?;
    for site in &sites {
        reconciled(&seen, site.server.name(), "object").await;
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let pid = eventually(LIMIT, "the program", async || match lines(&pids).as_slice() {
        [pid] => Ok(pid.clone()),
        other => Err(format!("{other:?}")),
    })
    .await;
    assert!(runs(&pid));
    clusters.remove(&name("a")?);
    eventually(LIMIT, "the program's end", async || {
        if runs(&pid) {
            return Err("it runs".to_owned());
        }
        Ok(())
    })
    .await;
    running.stop().await;
    Ok(())
}

/// Writes what the program is to print.
fn give(file: &Path, token: &str, expires: Option<&str>) -> Outcome {
    let credential = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": token, "expirationTimestamp": expires},
    });
    let beside = file.with_extension("new");
    std::fs::write(&beside, credential.to_string())?;
    std::fs::rename(beside, file)?;
    Ok(())
}

/// A program that counts its runs and prints a file.
fn counting(folder: &Path) -> (PathBuf, PathBuf, Value) {
    let (credential, runs) = (folder.join("credential"), folder.join("runs"));
    let mut script = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        script,
        "echo run >> {}; cat {}",
        runs.display(),
        credential.display()
    );
    (credential, runs, exec(&script))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_token_has_the_program_run_once_for_all_its_clusters_and_nothing_is_listed_again() -> Outcome
{
    let folder = tempfile::tempdir()?;
    let (credential, runs, user) = counting(folder.path());
    give(&credential, "first", None)?;
    let clusters = Clusters::new();
    let mut sites = Vec::new();
    for member in ["a", "b", "c"] {
        let site = Site::open(member).await?;
        site.server.add_token("first", User::admin("operator"));
        site.server.create(config("before"))?;
        clusters.add(site.spec(&user)?)?;
        sites.push(site);
    }
    let seen: Recorder = Recorder::default();
    let running = start(&seen, clusters)?;
    for site in &sites {
        reconciled(&seen, site.server.name(), "before").await;
    }
    assert_eq!(lines(&runs).len(), 1, "one run for three clusters");
    let lists: Vec<_> = sites.iter().map(|site| site.server.counters().lists).collect();

    give(&credential, "second", None)?;
    for site in &sites {
        site.server.add_token("second", User::admin("operator"));
        site.server.remove_token("first");
        site.server.disconnect_watches();
        site.server.create(config("after"))?;
    }
    for site in &sites {
        reconciled(&seen, site.server.name(), "after").await;
        seen.expect(site.server.name(), "before", 1)?;
    }
    assert_eq!(lines(&runs).len(), 2, "one more run for three clusters");
    let now: Vec<_> = sites.iter().map(|site| site.server.counters().lists).collect();
    assert_eq!(now, lists);
    running.stop().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_program_prints_is_in_no_error() -> Outcome {
    let site = Site::open("a").await?;
    let clusters = Clusters::from_iter([site.spec(&exec("echo pl4nted; echo pl4nted >&2; exit 1"))?]);
    let seen: Recorder = Recorder::default();
    let running = start(&seen, clusters)?;
    let cluster = eventually(LIMIT, "the cluster", async || {
        running
            .handle()
            .fleet()
            .clusters()
            .into_iter()
            .next()
            .ok_or_else(|| "none".to_owned())
    })
    .await;
    let error = kube::Api::<ConfigMap>::default_namespaced(cluster.client())
        .get("object")
        .await
        .expect_err("there are no credentials");
    let said = mcrt::connect::ConnectError::within(&error)
        .ok_or("not ours")?
        .to_string();
    assert!(
        said.contains("context `c`: credential program /bin/sh: exited with code 1"),
        "{said}"
    );
    assert!(!format!("{error:?} {error} {cluster:?} {running:?}").contains("pl4nted"));
    sleep(Duration::from_millis(10)).await;
    running.stop().await;
    Ok(())
}
