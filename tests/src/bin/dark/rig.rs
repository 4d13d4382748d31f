//! Simulated servers on sockets with TLS, a controller that reads from the cluster it works in, and the dark.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use clap::ValueEnum;
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use kube::Api;
use mcrt::{
    Action, Cluster, Context, ControllerBuilder, HandWired, Manager, Reconciler, Watch, providers::Clusters,
};
use mcrt_sim::{Authority, Listen, Listener, Server, Sockets};
use mcrt_tests::{Running, eventually, running::cluster};
use serde_json::{Value, json};

/// Objects of each cluster.
const OBJECTS: usize = 20;
const LIMIT: Duration = Duration::from_mins(2);

/// How clusters go dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// Nothing passes, and what stands stays.
    Frozen,
    /// Connections are gone without a word, and new ones are never answered.
    Swallowed,
    /// Connections break, and new ones are refused.
    Refused,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Frozen, Self::Swallowed, Self::Refused];
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Frozen => "frozen",
            Self::Swallowed => "swallowed",
            Self::Refused => "refused",
        })
    }
}

/// Reads the object that it is asked about once more, from its server, and counts.
#[derive(Clone, Default)]
struct Worker {
    done: Arc<AtomicUsize>,
}

impl HandWired for Worker {}
impl Reconciler for Worker {
    type Object = ConfigMap;
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let api = Api::<ConfigMap>::default_namespaced(cx.client());
        api.get(config.metadata.name.as_deref().unwrap_or_default())
            .await?;
        if cx.cluster().name().as_str().starts_with("bright") {
            self.done.fetch_add(1, Relaxed);
        }
        Ok(Action::await_change())
    }
}

/// One server and its port.
struct Site {
    server: Server,
    listener: Listener,
}

pub(crate) struct Rig {
    bright: Vec<Site>,
    dark: Vec<Site>,
    worker: Worker,
    running: Running,
}

impl Rig {
    /// Starts a manager over so many clusters, and waits until all is reconciled.
    pub(crate) async fn start(count: usize, dark: usize) -> io::Result<Self> {
        let authority = Authority::new("dark")?;
        let clusters = Clusters::new();
        let mut sites = Vec::new();
        for at in 0..count {
            let kind = if at < dark { "dark" } else { "bright" };
            let server = Server::new(&format!("{kind}-{at}"));
            (0..OBJECTS).for_each(|object| write(&server, object, "first"));
            let listener = server.listen_with(Listen::new().tls(&authority)).await?;
            clusters.replace(cluster(
                server.name(),
                &kubeconfig(server.name(), listener.url(), &authority),
            ));
            sites.push(Site { server, listener });
        }
        let bright = sites.split_off(dark.min(count));
        let worker = Worker::default();
        let mut wiring = ControllerBuilder::new("worker");
        wiring.for_kind(Watch::new().labels("mcrt.dev/dark"));
        let controller = wiring.build(worker.clone()).expect("it declares one kind, once");
        let manager = Manager::builder().provider(clusters).controller(controller);
        let running = Running::start(manager.build().expect("there is a provider and one controller"));
        let rig = Self {
            bright,
            dark: sites,
            worker,
            running,
        };
        rig.until_ready().await;
        let all = rig.bright.len() * OBJECTS;
        rig.until_done(all).await;
        Ok(rig)
    }

    /// The time from the first of so many changes of each bright cluster until the last of them is reconciled. Each
    /// cluster has as many under way as it has objects.
    pub(crate) async fn measure(&self, changes: usize) -> Duration {
        let began = Instant::now();
        for round in 0..changes.div_ceil(OBJECTS) {
            let before = self.worker.done.load(Relaxed);
            let value = format!("{round} {:?}", began.elapsed());
            for site in &self.bright {
                (0..OBJECTS).for_each(|object| write(&site.server, object, &value));
            }
            self.until_done(before + self.bright.len() * OBJECTS).await;
        }
        began.elapsed()
    }

    async fn until_done(&self, wanted: usize) {
        let deadline = Instant::now() + LIMIT;
        while self.worker.done.load(Relaxed) < wanted {
            assert!(Instant::now() < deadline, "the clusters are not worked on");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Gives the clusters that are to go dark something to do.
    pub(crate) async fn work_in_the_dark(&self) {
        let value = format!("{:?}", Instant::now());
        for site in &self.dark {
            (0..OBJECTS).for_each(|object| write(&site.server, object, &value));
        }
        // Some of it is under way by then.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    pub(crate) fn fall(&self, way: Way) {
        for Site { server, listener } in &self.dark {
            match way {
                Way::Frozen => server.partition(),
                Way::Swallowed => {
                    listener.sockets(Sockets::Ignore);
                    server.partition();
                }
                Way::Refused => {
                    listener.sockets(Sockets::Refuse);
                    listener.reset_connections();
                }
            }
        }
    }

    /// Ends the dark, and waits until all is well again.
    pub(crate) async fn lift(&self, way: Way) {
        // Also where the measurement was over before anybody noticed.
        for Site { server, listener } in &self.dark {
            listener.sockets(Sockets::Serve);
            if way == Way::Swallowed {
                listener.reset_connections();
            }
            server.heal();
        }
        self.until_ready().await;
        for site in &self.dark {
            write(&site.server, 0, "lifted");
        }
        let idle = || {
            let queue = self.running.handle().controllers()[0].queue();
            match queue.ready + queue.running + queue.delayed {
                0 => Ok(()),
                left => Err(format!("{left} requests")),
            }
        };
        eventually(LIMIT, "nothing to do", async || idle()).await;
    }

    async fn until_ready(&self) {
        let wanted = self.bright.len() + self.dark.len();
        eventually(LIMIT, "every cluster is ready", async || {
            let clusters = self.running.handle().fleet().clusters();
            let ready = clusters.iter().filter(|cluster| is_well(cluster)).count();
            if ready == wanted {
                Ok(())
            } else {
                Err(format!("{ready} are"))
            }
        })
        .await;
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await;
    }
}

fn is_well(cluster: &Cluster) -> bool {
    cluster.health().is_ready()
}

fn write(server: &Server, object: usize, value: &str) {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": format!("object-{object}"), "namespace": "default", "labels": { "mcrt.dev/dark": "yes" },
        },
        "data": { "key": value },
    });
    server.apply("dark", object).expect("nothing is wrong with it");
}

fn kubeconfig(name: &str, url: &str, authority: &Authority) -> String {
    let ca: Value = json!(ByteString(authority.pem().as_bytes().to_vec()));
    let kubeconfig = json!({
        "clusters": [{ "name": name, "cluster": { "server": url, "certificate-authority-data": ca } }],
        "users": [{ "name": name, "user": {} }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
    });
    kubeconfig.to_string()
}
