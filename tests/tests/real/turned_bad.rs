//! What was good and turns bad, over TLS sockets and a kubeconfig file: a server's certificate, a description, a network.
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use kube::Api;
use mcrt::{
    Action, Cluster, ClusterName, Context, ControllerBuilder, HandWired, Health, Manager, Reconciler, Watch,
    providers::File,
};
use mcrt_sim::{Authority, Listen, Listener, Server, Sockets};
use mcrt_tests::{Running, eventually, logs::Logs, simulated};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

/// For what takes as long as a loaded machine makes it take.
const LIMIT: Duration = Duration::from_mins(2);

/// Counts the runs of each object of each cluster.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<BTreeMap<String, usize>>>);
impl HandWired for Runs {}
impl Reconciler for Runs {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        *self.0.lock().entry(cx.request().to_string()).or_default() += 1;
        Ok(Action::await_change())
    }
}

/// The clusters behind one kubeconfig, and a manager that works in them.
struct Bed {
    _folder: TempDir,
    file: PathBuf,
    authority: Authority,
    runs: Runs,
    running: Running,
    servers: BTreeMap<&'static str, (Server, Listener)>,
}

impl Bed {
    async fn of(names: &[&'static str]) -> Self {
        let authority = Authority::new("fleet").unwrap();
        let mut servers = BTreeMap::new();
        for &name in names {
            let server = Server::new(name);
            server.create(simulated::config("first")).unwrap();
            let listener = server.listen_with(Listen::new().tls(&authority)).await.unwrap();
            servers.insert(name, (server, listener));
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        write(&file, &kubeconfig(&servers, &authority, |_, _| {}));
        let runs = Runs::default();
        let mut wiring = ControllerBuilder::new("runs");
        wiring.for_kind(Watch::new().labels("mcrt.dev/test"));
        let manager = Manager::builder()
            .provider(File::new([file.clone()]))
            .controller(wiring.build(runs.clone()).unwrap());
        let bed = Self {
            _folder: folder,
            file,
            authority,
            runs,
            running: Running::start(manager.build().unwrap()),
            servers,
        };
        for name in names {
            bed.ran(name, "first").await;
            bed.is(name, "ready", Health::is_ready).await;
        }
        bed
    }

    fn server(&self, name: &str) -> &Server {
        &self.servers[name].0
    }

    fn listener(&self, name: &str) -> &Listener {
        &self.servers[name].1
    }

    fn find(&self, name: &str) -> Option<Cluster> {
        let name: ClusterName = name.try_into().unwrap();
        self.running.handle().fleet().get(&name)
    }

    fn engaged(&self, name: &str) -> Cluster {
        self.find(name).expect("it is engaged")
    }

    /// Waits until an object was reconciled in a cluster; once is all it may be.
    async fn ran(&self, cluster: &str, object: &str) {
        let key = format!("cluster://{cluster}/default/{object}");
        eventually(LIMIT, &format!("{key} is reconciled"), async || {
            match self.runs.0.lock().get(&key) {
                Some(1) => Ok(()),
                Some(more) => panic!("{key} ran {more} times"),
                None => Err("never".to_owned()),
            }
        })
        .await;
    }

    /// Creates an object in a cluster and waits until it was reconciled.
    async fn works(&self, cluster: &str, object: &str) {
        self.server(cluster).create(simulated::config(object)).unwrap();
        self.ran(cluster, object).await;
    }

    async fn is(&self, cluster: &str, what: &str, is: impl Fn(Health) -> bool) {
        eventually(LIMIT, &format!("{cluster} is {what}"), async || {
            match self.find(cluster).map(|cluster| cluster.health()) {
                Some(health) if is(health) => Ok(()),
                health => Err(format!("{health:?}")),
            }
        })
        .await;
    }

    /// Writes the kubeconfig with something changed about a cluster.
    fn describe(&self, change: impl Fn(&str, &mut Value)) {
        write(&self.file, &kubeconfig(&self.servers, &self.authority, change));
    }

    async fn stop(self) {
        let engaged = self.running.handle().fleet().clusters();
        self.running.stop().await;
        for cluster in engaged {
            assert_eq!(cluster.connection_tasks(), 0, "{cluster} holds connections");
        }
        for (_, listener) in self.servers.into_values() {
            listener.shutdown().await;
        }
    }
}

/// A context for each cluster.
fn kubeconfig(
    servers: &BTreeMap<&'static str, (Server, Listener)>,
    authority: &Authority,
    change: impl Fn(&str, &mut Value),
) -> String {
    let ca = ByteString(authority.pem().as_bytes().to_vec());
    let mut clusters = Vec::new();
    for (name, (_, listener)) in servers {
        let mut cluster = json!({ "server": listener.url(), "certificate-authority-data": ca });
        change(name, &mut cluster);
        clusters.push(json!({ "name": name, "cluster": cluster }));
    }
    let contexts = servers.keys();
    let contexts =
        contexts.map(|name| json!({ "name": name, "context": { "cluster": name, "user": "nobody" } }));
    let contexts: Vec<_> = contexts.collect();
    let users = json!([{ "name": "nobody", "user": {} }]);
    json!({ "clusters": clusters, "users": users, "contexts": contexts }).to_string()
}

/// As tools do: readers see the old file or the new one.
fn write(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(&beside, path).unwrap();
}

fn unreachable(health: Health) -> bool {
    matches!(health, Health::Unreachable { .. })
}

/// Serves at the address of a listener that refuses, which takes a moment to close its port.
async fn in_place_of(server: &Server, listener: &Listener, authority: &Authority) -> Listener {
    listener.sockets(Sockets::Refuse);
    let listen = Listen::new().on(listener.addr()).tls(authority);
    eventually(LIMIT, "the port is free", async || {
        let bound = server.listen_with(listen.clone()).await;
        bound.map_err(|error| error.to_string())
    })
    .await
}

#[tokio::test]
async fn a_server_that_begins_to_show_another_certificate_keeps_what_is_open_and_is_told_of_once() {
    let logs = Logs::keep();
    let bed = Bed::of(&["changes", "stays"]).await;
    let before = bed.engaged("changes");
    // From here on there is a connection for requests beside that of the watches.
    before.client().apiserver_version().await.unwrap();
    let other = Authority::new("somebody else").unwrap();
    let wrong = in_place_of(bed.server("changes"), bed.listener("changes"), &other).await;

    // Connections that were good go on: events come, requests are answered, probes too.
    bed.works("changes", "meanwhile").await;
    before.client().apiserver_version().await.unwrap();
    assert_eq!(before.health(), Health::Ready);
    assert_eq!(before.complaints(), Vec::<String>::new());

    // They break, and no new one can be made.
    bed.listener("changes").reset_connections();
    bed.is("changes", "unreachable", unreachable).await;
    let complaints = before.complaints();
    let [complaint] = complaints.as_slice() else {
        panic!("{complaints:?}")
    };
    for part in [
        wrong.url(),
        "signed by an unknown authority",
        "certificate-authority-data",
    ] {
        assert!(complaint.contains(part), "{complaint}");
    }
    // Many ask, and all are refused at once; the log says it once of the watch, once of the cluster.
    let api = Api::<ConfigMap>::default_namespaced(before.client());
    for _ in 0..50 {
        api.get("first").await.unwrap_err();
    }
    bed.works("stays", "meanwhile").await;
    let told = logs.with(&["cluster=changes", "unknown authority"]);
    assert!((1..=3).contains(&told.len()), "{told:#?}");
    assert_eq!(
        logs.with(&["cluster=changes", "health changed"]).len(),
        2,
        "{logs:?}"
    );

    wrong.shutdown().await;
    bed.listener("changes").sockets(Sockets::Serve);
    bed.works("changes", "after").await;
    bed.is("changes", "ready", Health::is_ready).await;
    assert_eq!(bed.engaged("changes"), before, "its life went on");
    assert_eq!(bed.server("changes").counters().kind("configmaps").lists, 1);
    for object in ["first", "meanwhile"] {
        bed.ran("changes", object).await;
    }
    bed.stop().await;
}

/// A description that cannot be used says nothing about a cluster that works; a network that is lost does.
#[tokio::test]
async fn a_description_that_turns_invalid_keeps_its_cluster_and_a_lost_network_shows() {
    let logs = Logs::keep();
    let bed = Bed::of(&["described", "networked", "well"]).await;
    let names = ["described", "networked", "well"];
    let before = names.map(|name| bed.engaged(name));

    bed.describe(|name, cluster| {
        if name == "described" {
            cluster["certificate-authority-data"] = "no base64".into();
        }
    });
    bed.listener("networked").sockets(Sockets::Refuse);
    bed.listener("networked").reset_connections();
    bed.is("networked", "unreachable", unreachable).await;
    eventually(LIMIT, "the description is refused", async || {
        match logs
            .with(&["WARN", "described", "certificate-authority-data"])
            .len()
        {
            0 => Err(logs.text()),
            _ => Ok(()),
        }
    })
    .await;
    for name in ["described", "well"] {
        bed.works(name, "meanwhile").await;
        assert_eq!(bed.engaged(name).health(), Health::Ready);
    }
    assert_eq!(
        names.map(|name| bed.engaged(name)),
        before,
        "all are there, in the same lives"
    );
    assert_eq!(bed.engaged("described").complaints(), Vec::<String>::new());
    assert_eq!(bed.engaged("networked").complaints().len(), 1);

    bed.listener("networked").sockets(Sockets::Serve);
    bed.describe(|_, _| {});
    for name in names {
        bed.works(name, "after").await;
        bed.is(name, "ready", Health::is_ready).await;
    }
    assert_eq!(names.map(|name| bed.engaged(name)), before, "all went on");
    for name in names {
        bed.ran(name, "first").await;
    }
    // Each is told once of what befell it, and the one that is well of nothing.
    let refusals = logs.with(&["WARN", "certificate-authority-data"]);
    assert_eq!(refusals.len(), 1, "{refusals:#?}");
    assert!(logs.with(&["WARN", "cluster=well"]).is_empty(), "{logs:?}");
    bed.stop().await;
}
