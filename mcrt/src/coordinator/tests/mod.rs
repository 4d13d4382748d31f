//! Several coordinators over one host, in virtual time, each with a fleet of its own.
mod leases;
mod sessions;
mod sharing;
mod trouble;

use super::{Sharding, coordinate, names, seen};
use crate::{
    FleetSettings,
    cache::CacheSettings,
    cluster::ClusterName,
    connect::{Access, ServiceAccess, TransportSettings},
    fleet::{Cluster, Fleet, Participant, Selection},
    provider::{ClusterSpec, ProviderContext},
};
use futures::future::BoxFuture;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use mcrt_sim::{Faults, Server, User};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    sync::Arc,
    time::Duration,
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

const GROUP: &str = "tokens";
/// Of every session, unless a test says otherwise.
const LEASE: Duration = Duration::from_secs(30);
/// Longer than anything takes that happens at all.
const LIMIT: Duration = Duration::from_mins(5);

/// A host, and clusters that all replicas are told of.
struct Rig {
    host: Server,
    members: Vec<(ClusterName, Server)>,
    work: Arc<Checker>,
}

/// One program.
struct Replica {
    name: String,
    fleet: Fleet,
    stop: CancellationToken,
    task: JoinHandle<()>,
    work: Arc<Checker>,
}

impl Rig {
    fn new(clusters: usize) -> Self {
        Self::of((0..clusters).map(|number| format!("cluster-{number}")))
    }

    fn of(names: impl IntoIterator<Item = String>) -> Self {
        let members = names.into_iter().map(|name| {
            let server = Server::new("member");
            (ClusterName::new(name).unwrap(), server)
        });
        Self {
            host: Server::new("host"),
            members: members.collect(),
            work: Arc::default(),
        }
    }

    fn sharding(name: &str) -> Sharding {
        Sharding::new(GROUP).replica(name).lease(LEASE)
    }

    fn replica(&self, name: &str) -> Replica {
        self.replica_of(name, Self::sharding(name))
    }

    /// A replica that is called so by the host; faults find it by that.
    fn replica_of(&self, name: &str, sharding: Sharding) -> Replica {
        let settings = FleetSettings {
            grace: Duration::from_secs(2),
            ..FleetSettings::default()
        };
        let root = CancellationToken::new();
        let fleet = Fleet::new(settings, Vec::new(), Selection::default(), root);
        fleet.share();
        fleet.join(Arc::new(Worker {
            replica: name.to_owned(),
            work: self.work.clone(),
        }));
        for (cluster, _) in &self.members {
            self.describe(&fleet, cluster);
        }
        fleet.set_synced();
        self.host.add_token(name, User::admin(name));
        let access = ServiceAccess::new("host", self.host.service().with_token(name));
        let (transport, caches) = (TransportSettings::default(), CacheSettings::default());
        let cx = ProviderContext::new(Some(access.into()), transport, caches);
        let stop = CancellationToken::new();
        let task = tokio::spawn(coordinate(fleet.clone(), sharding, cx, stop.clone()));
        Replica {
            name: name.to_owned(),
            fleet,
            stop,
            task,
            work: self.work.clone(),
        }
    }

    /// Tells a fleet of a cluster.
    fn describe(&self, fleet: &Fleet, cluster: &ClusterName) {
        let (_, server) = self.members.iter().find(|(name, _)| name == cluster).unwrap();
        let access = Access::service(server.uid(), server.service());
        fleet
            .upsert(ClusterSpec::new(cluster.clone(), "1", access))
            .unwrap();
    }

    fn faults(&self, faults: Faults) {
        self.host.faults(faults);
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client(), "default")
    }

    fn client(&self) -> Client {
        self.host.add_token("admin", User::admin("admin"));
        Client::new(self.host.service().with_token("admin"), "default")
    }

    async fn fence(&self, cluster: &ClusterName) -> Option<seen::FenceLease> {
        let lease = self
            .leases()
            .get_opt(&names::fence(GROUP, cluster))
            .await
            .unwrap()?;
        match seen::read(&lease) {
            Some(seen::Seen::Fence(fence)) => Some(fence),
            _ => None,
        }
    }

    async fn sessions(&self) -> Vec<seen::SessionLease> {
        let all = self
            .leases()
            .list(&kube::api::ListParams::default())
            .await
            .unwrap();
        let sessions = all.items.iter().filter_map(|lease| match seen::read(lease) {
            Some(seen::Seen::Session(session)) => Some(session),
            _ => None,
        });
        sessions.collect()
    }

    fn names(&self) -> BTreeSet<ClusterName> {
        self.members.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Waits until each cluster is worked on, by these and nobody else. Gives how many each works on.
    async fn shared_by(&self, replicas: &[&Replica]) -> BTreeMap<String, usize> {
        let names: BTreeSet<_> = replicas.iter().map(|replica| replica.name.clone()).collect();
        until("every cluster is worked on", || {
            let working = self.work.working();
            let covered: BTreeSet<_> = working.keys().cloned().collect();
            let by: BTreeSet<_> = working.values().flatten().cloned().collect();
            if covered == self.names() && by.is_subset(&names) {
                return Ok(working
                    .values()
                    .flatten()
                    .fold(BTreeMap::new(), |mut counts, name| {
                        *counts.entry(name.clone()).or_default() += 1;
                        counts
                    }));
            }
            Err(format!(
                "{} of {} are, by {by:?}",
                covered.len(),
                self.members.len()
            ))
        })
        .await
    }
}

impl Replica {
    fn works_on(&self, cluster: &ClusterName) -> bool {
        self.fleet.get(cluster).is_some()
    }

    /// Ends in order.
    async fn leave(self) {
        self.stop.cancel();
        timeout(LIMIT, self.task).await.unwrap().unwrap();
        assert!(self.work.of(&self.name).is_empty(), "it works on after its end");
    }

    /// Ends as a crash would: from now on nothing is heard of it.
    async fn crash(self, host: &Server) {
        self.work.dead(&self.name);
        host.remove_token(&self.name);
        self.task.abort();
        let _ = self.task.await;
        self.fleet.close().await;
    }
}

/// Who works where, and who did at once with another.
#[derive(Default)]
struct Checker(Mutex<Working>);

#[derive(Default)]
struct Working {
    now: BTreeMap<ClusterName, BTreeSet<String>>,
    dead: BTreeSet<String>,
    /// How often work was begun.
    begun: BTreeMap<ClusterName, usize>,
    twice: Vec<String>,
}

impl Checker {
    fn begin(&self, replica: &str, cluster: &ClusterName) {
        let mut working = self.0.lock();
        *working.begun.entry(cluster.clone()).or_default() += 1;
        let at_work = working.now.entry(cluster.clone()).or_default();
        at_work.insert(replica.to_owned());
        if at_work.len() > 1 {
            let twice = format!("{cluster} is worked on by {at_work:?}");
            working.twice.push(twice);
        }
    }

    fn end(&self, replica: &str, cluster: &ClusterName) {
        let mut working = self.0.lock();
        if let Some(at_work) = working.now.get_mut(cluster) {
            at_work.remove(replica);
            if at_work.is_empty() {
                working.now.remove(cluster);
            }
        }
    }

    fn dead(&self, replica: &str) {
        let clusters: Vec<_> = self.of(replica);
        for cluster in &clusters {
            self.end(replica, cluster);
        }
        self.0.lock().dead.insert(replica.to_owned());
    }

    fn of(&self, replica: &str) -> Vec<ClusterName> {
        let working = self.0.lock();
        let of = working.now.iter().filter(|(_, by)| by.contains(replica));
        of.map(|(cluster, _)| cluster.clone()).collect()
    }

    fn working(&self) -> BTreeMap<ClusterName, BTreeSet<String>> {
        self.0.lock().now.clone()
    }

    fn begun(&self) -> BTreeMap<ClusterName, usize> {
        self.0.lock().begun.clone()
    }

    /// # Panics
    /// If a cluster was ever worked on by two.
    fn check(&self) {
        let twice = self.0.lock().twice.clone();
        assert!(twice.is_empty(), "{twice:?}");
    }
}

/// Stands for a controller.
struct Worker {
    replica: String,
    work: Arc<Checker>,
}

impl Participant for Worker {
    fn attach<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()> {
        Box::pin(async {
            if !self.work.0.lock().dead.contains(&self.replica) {
                self.work.begin(&self.replica, cluster.name());
            }
        })
    }

    fn start<'a>(&'a self, _: &'a Cluster) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    /// What runs takes its time to end.
    fn detach<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()> {
        Box::pin(async {
            sleep(Duration::from_secs(1)).await;
            self.work.end(&self.replica, cluster.name());
        })
    }
}

async fn until<T, E: Display>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let end = Instant::now() + LIMIT;
    loop {
        match look() {
            Ok(found) => return found,
            Err(now) if Instant::now() > end => panic!("{what}: not within {LIMIT:?}: {now}"),
            Err(_) => sleep(Duration::from_millis(100)).await,
        }
    }
}

fn yes(is: bool) -> Result<(), &'static str> {
    is.then_some(()).ok_or("it is not so")
}
