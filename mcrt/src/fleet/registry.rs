//! The registry of engaged clusters.
use super::{
    Cluster, FleetEvent, FleetSettings, HostDuty,
    assignment::{Assignment, NotMine, Revision},
    event::{Listeners, into_stream},
    health::{Condition, HealthCheck},
    participant::Participant,
    selection::Selection,
    supervisor::{Ended, Participants, Parts, Supervisor},
};
use crate::{
    cache::{Caches, ListLimits},
    cluster::ClusterName,
    connect::{Access, ConnectError, Life, Limited, Validity},
    provider::ClusterSpec,
};
use futures::Stream;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};
use tokio::{sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The engaged clusters. A cheap handle, the same for all who hold it.
#[derive(Clone)]
pub struct Fleet(pub(super) Arc<Inner>);

pub(super) struct Inner {
    settings: FleetSettings,
    /// The program's own checks of each cluster.
    checks: Vec<HealthCheck>,
    lists: Arc<ListLimits>,
    selection: Selection,
    host_duty: HostDuty,
    /// Until when anything may be sent to the members, and written to the host.
    validity: Validity,
    /// Held for map changes and sends that never wait; no await, no user code.
    pub(super) state: Mutex<State>,
    participants: watch::Sender<Participants>,
    /// Owns every supervisor.
    tasks: TaskTracker,
    /// Cancelled, every cluster leaves.
    root: CancellationToken,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) members: BTreeMap<ClusterName, Member>,
    /// The last life of each name, until its supervisor has ended.
    lives: HashMap<ClusterName, (Cluster, Ended)>,
    /// By name: a life that follows one that is suspended is suspended too.
    pub(super) suspended: BTreeSet<ClusterName>,
    /// Why a cluster cannot be used as it is described now.
    pub(super) rejected: BTreeMap<ClusterName, Arc<str>>,
    /// Named by the provider, and not to be engaged.
    pub(super) left_out: BTreeSet<ClusterName>,
    /// Where several replicas share the clusters: which are this one's. None where all are.
    pub(super) assignment: Option<Assignment>,
    pub(super) listeners: Listeners,
    synced: bool,
    closed: bool,
}

pub(super) struct Member {
    pub(super) cluster: Cluster,
    leave: CancellationToken,
    /// What makes this life the same as one described later.
    identity: (String, u64),
}

impl Fleet {
    /// An empty fleet, whose clusters leave when `root` is cancelled.
    pub(crate) fn new(
        settings: FleetSettings,
        checks: Vec<HealthCheck>,
        selection: Selection,
        root: CancellationToken,
    ) -> Self {
        let lists = ListLimits::new(settings.lists, settings.lists_per_cluster);
        Self(Arc::new(Inner {
            settings,
            checks,
            lists: Arc::new(lists),
            selection,
            host_duty: HostDuty::new(),
            validity: Validity::default(),
            state: Mutex::default(),
            participants: watch::Sender::new(Participants::new()),
            tasks: TaskTracker::new(),
            root,
        }))
    }

    /// The engaged clusters, without the host, sorted by name.
    pub fn clusters(&self) -> Vec<Cluster> {
        let state = self.0.state.lock();
        state
            .members
            .values()
            .map(|member| member.cluster.clone())
            .filter(|cluster| !cluster.is_host())
            .collect()
    }

    /// The engaged cluster of that name.
    pub fn get(&self, name: &ClusterName) -> Option<Cluster> {
        self.0
            .state
            .lock()
            .members
            .get(name)
            .map(|member| member.cluster.clone())
    }

    /// The host, where one is dialled.
    pub fn host(&self) -> Option<Cluster> {
        self.get(&ClusterName::host())
    }

    /// Whether the provider has named every cluster that it knows at least once.
    pub fn is_synced(&self) -> bool {
        self.0.state.lock().synced
    }

    /// The fleet's changes: first the clusters that are engaged now (their health is asked of each), then what
    /// happens, none lost. Ends with the fleet, without telling of each cluster that leaves with it.
    pub fn events(&self) -> impl Stream<Item = FleetEvent> + Send + Unpin + use<> {
        let mut state = self.0.state.lock();
        let mut replay: Vec<_> = state
            .members
            .values()
            .map(|member| FleetEvent::Engaged(member.cluster.clone()))
            .collect();
        if state.synced {
            replay.push(FleetEvent::Synced);
        }
        into_stream(state.listeners.join(replay))
    }

    /// Whether the work on the host is this replica's.
    pub(crate) fn host_duty(&self) -> &HostDuty {
        &self.0.host_duty
    }

    /// Nothing is sent to the members from then on, and nothing is written to the host; without an instant there is no
    /// such end.
    pub(crate) fn valid_until(&self, until: Option<Instant>) {
        self.0.validity.set(until);
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.0.selection
    }

    /// Whether somebody takes part in the cluster, or nobody does in any.
    pub(super) fn is_of_use(&self, cluster: &Cluster) -> bool {
        let participants = self.0.participants.borrow().clone();
        let mut workers = participants.iter().filter(|one| !one.only_looks()).peekable();
        workers.peek().is_none() || workers.any(|one| one.takes_part(cluster))
    }

    pub(super) fn checks(&self) -> &[HealthCheck] {
        &self.0.checks
    }

    pub(crate) fn settings(&self) -> &FleetSettings {
        &self.0.settings
    }

    /// Whether every cluster has been told to leave.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.state.lock().closed
    }

    /// How long running reconciles of a cluster that leaves may go on.
    pub(crate) fn grace(&self) -> std::time::Duration {
        self.0.settings.grace
    }

    /// Lets somebody take part in every cluster, those already engaged included.
    pub(crate) fn join(&self, participant: Arc<dyn Participant>) {
        self.0
            .participants
            .send_modify(|participants| participants.push(participant));
    }

    /// Lets go of those who take part. They hold this fleet, so nothing of them would ever be dropped.
    pub(crate) fn release(&self) {
        self.0.participants.send_modify(Vec::clear);
    }

    /// Engages a cluster, replaces a life that is not the same, or keeps one that is. Without a client nothing
    /// changes; without credentials that can be used, those stay. One that is another replica's is kept in mind.
    pub(crate) fn upsert(&self, spec: ClusterSpec) -> Result<(), ConnectError> {
        let noted = self.0.state.lock().note_description(&spec);
        match noted {
            Ok(revision) => self.take_up(spec, revision),
            Err(NotMine) => Ok(()),
        }
    }

    /// Engages a cluster that is this replica's, as it is described in that revision.
    pub(super) fn take_up(&self, spec: ClusterSpec, revision: Option<Revision>) -> Result<(), ConnectError> {
        let identity = (spec.uid.clone(), spec.access.identity());
        if let Some(outcome) = self.goes_on(&spec, &identity) {
            return outcome;
        }
        let life = Life::new();
        let transport = spec.access.connect(&self.0.settings.transport, &life)?;
        // Every replica reads the host, whether or not it may work now.
        let limited = if spec.name.is_host() {
            Limited::Writes
        } else {
            Limited::All
        };
        transport.breaker().limit(self.0.validity.clone(), limited);
        let caches = Caches::of(
            spec.name.clone(),
            &transport,
            self.0.lists.clone(),
            self.0.settings.caches.of(&spec.name, &spec.properties),
        );
        let cluster = Cluster::new(
            spec.name,
            spec.properties,
            transport,
            caches,
            life,
            Condition::new(&self.0.settings.health, self.0.checks.len()),
            self.0.settings.steps.clone(),
        );
        self.engage(cluster, identity, revision);
        Ok(())
    }

    /// If the name's life is that of the description, it goes on with the properties and the credentials of that.
    fn goes_on(&self, spec: &ClusterSpec, identity: &(String, u64)) -> Option<Result<(), ConnectError>> {
        let mut state = self.0.state.lock();
        let member = state.members.get(&spec.name);
        let member = member.filter(|member| member.identity == *identity)?;
        let cluster = member.cluster.clone();
        let replaced = cluster.transport().replace_material(&spec.access);
        if let Ok(true) = replaced {
            tracing::info!(%cluster, "goes on with other credentials");
            cluster.probe_soon();
        }
        // Told under the lock, so that listeners hear of changes in their order.
        if cluster.describe(spec.properties.clone()) {
            state.listeners.tell(&FleetEvent::Properties(cluster));
        }
        Some(replaced.map(drop))
    }

    /// Engages the host.
    pub(crate) fn engage_host(&self, access: Access) -> Result<(), ConnectError> {
        self.upsert(ClusterSpec::new(ClusterName::host(), "host", access))
    }

    fn engage(&self, cluster: Cluster, identity: (String, u64), revision: Option<Revision>) {
        let (ended, ended_receiver) = watch::channel(());
        let leave = self.0.root.child_token();
        let name = cluster.name().clone();
        let mut state = self.0.state.lock();
        if state.closed || !state.may_engage(&name, revision) {
            return;
        }
        state.left_out.remove(&name);
        let member = Member {
            cluster: cluster.clone(),
            leave: leave.clone(),
            identity,
        };
        if let Some(old) = state.members.insert(name.clone(), member) {
            old.leave.cancel();
            state.listeners.tell(&FleetEvent::Disengaged(old.cluster));
        }
        tracing::info!(cluster = %name, epoch = %cluster.epoch(), "engaging");
        if state.suspended.contains(&name) {
            cluster.begin_suspended();
        }
        state.listeners.tell(&FleetEvent::Engaged(cluster.clone()));
        let life = (cluster.clone(), ended_receiver);
        let predecessor = state.lives.insert(name, life).map(|(_, ended)| ended);
        let participants = self.0.participants.subscribe();
        let supervisor = Supervisor {
            fleet: self.clone(),
            cluster,
            predecessor,
            participants,
            leave,
            parts: Parts::default(),
            ended,
        };
        self.0.tasks.spawn(supervisor.run());
    }

    /// Disengages the cluster of that name, if there is one.
    pub(crate) fn remove(&self, name: &ClusterName) {
        let mut state = self.0.state.lock();
        state.suspended.remove(name);
        state.clear(name);
        state.left_out.remove(name);
        if let Some(assignment) = &mut state.assignment {
            assignment.forget(name);
        }
        state.disengage(name);
    }

    /// A supervisor has ended: forgets its life unless the name has a later one.
    pub(super) fn forget(&self, cluster: &Cluster) {
        let mut state = self.0.state.lock();
        if state
            .lives
            .get(cluster.name())
            .is_some_and(|(last, _)| last == cluster)
        {
            state.lives.remove(cluster.name());
        }
    }

    pub(crate) fn set_synced(&self) {
        let mut state = self.0.state.lock();
        if !std::mem::replace(&mut state.synced, true) {
            state.listeners.tell(&FleetEvent::Synced);
        }
    }

    /// Disengages every cluster and waits until nothing of them runs. The host leaves last: others may still
    /// write to it.
    pub(crate) async fn close(&self) {
        let (members, host) = {
            let mut state = self.0.state.lock();
            state.closed = true;
            let host = state.members.remove(&ClusterName::host());
            (std::mem::take(&mut state.members), host)
        };
        for member in members.values() {
            member.leave.cancel();
        }
        let leaving: Vec<_> = {
            let host = ClusterName::host();
            let state = self.0.state.lock();
            state
                .lives
                .iter()
                .filter(|(name, _)| **name != host)
                .map(|(_, (_, ended))| ended.clone())
                .collect()
        };
        for mut ended in leaving {
            while ended.changed().await.is_ok() {}
        }
        if let Some(host) = host {
            host.leave.cancel();
        }
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.state.lock().listeners.close();
        self.release();
    }
}

impl State {
    /// Has the cluster of that name leave, if there is one.
    pub(super) fn disengage(&mut self, name: &ClusterName) {
        if let Some(Member { cluster, leave, .. }) = self.members.remove(name) {
            tracing::info!(cluster = %name, epoch = %cluster.epoch(), "disengaging");
            leave.cancel();
            self.listeners.tell(&FleetEvent::Disengaged(cluster));
        }
    }

    /// The name's last life and its end, unless that is over.
    pub(super) fn life(&self, name: &ClusterName) -> Option<(Cluster, Ended)> {
        self.lives.get(name).cloned()
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clusters()).finish()
    }
}
