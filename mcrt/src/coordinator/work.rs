//! The work of one session: what is seen, what is decided, what is under way.
use super::{
    duties::{Claim, Duty, Shares, Situation, Step},
    leases::{Failure, Leases},
    names,
    rendezvous::Peer,
    seen::{self, FenceLease, Seen, SessionLease},
    watched::Sessions,
};
use crate::{
    cache::Store,
    cluster::{ClusterName, ObjectKey},
    fleet::{Fleet, Leaving},
    jitter::around,
    provider::host::HostReader,
};
use futures::{
    FutureExt, StreamExt,
    future::{BoxFuture, join_all},
    stream::FuturesUnordered,
};
use k8s_openapi::api::coordination::v1::Lease;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

/// How many fences are taken at once.
const CLAIMS: usize = 16;
/// How long between two looks at least: a thousand Leases may change in a row.
const PAUSE: Duration = Duration::from_millis(50);
/// After how long it is looked again when a call has failed.
const AGAIN: Duration = Duration::from_secs(1);

/// The Leases of the group as they are seen, for as long as the replica runs.
pub(super) struct View {
    group: String,
    reader: HostReader,
    store: Store<Lease>,
    sessions: BTreeMap<ObjectKey, SessionLease>,
    fences: BTreeMap<ClusterName, FenceLease>,
    fence_keys: BTreeMap<ObjectKey, ClusterName>,
    watched: Sessions,
}

impl View {
    pub(super) fn new(group: &str, reader: HostReader, store: Store<Lease>) -> Self {
        Self {
            group: group.to_owned(),
            reader,
            store,
            sessions: BTreeMap::new(),
            fences: BTreeMap::new(),
            fence_keys: BTreeMap::new(),
            watched: Sessions::default(),
        }
    }

    pub(super) fn into_reader(self) -> HostReader {
        self.reader
    }

    /// Takes what has changed. False while nobody has told what there is.
    fn take(&mut self, now: Instant) -> bool {
        if !self.store.was_synced() {
            return false;
        }
        for key in self.reader.take().changed {
            self.sessions.remove(&key);
            if let Some(cluster) = self.fence_keys.remove(&key) {
                self.fences.remove(&cluster);
            }
            let lease = self.store.get(&key);
            match lease.as_deref().and_then(seen::read) {
                Some(Seen::Session(session)) if *key.name == *names::session(&self.group, &session.id) => {
                    self.sessions.insert(key, session);
                }
                Some(Seen::Fence(fence)) if *key.name == *names::fence(&self.group, &fence.cluster) => {
                    self.fence_keys.insert(key, fence.cluster.clone());
                    self.fences.insert(fence.cluster.clone(), fence);
                }
                // Gone, or of somebody who only uses the label.
                _ => {}
            }
        }
        let sessions = self.sessions.values().cloned();
        self.watched
            .look(&self.group, sessions, self.fences.values(), now);
        true
    }
}

/// What came of something that was under way.
enum Done {
    Claimed(Result<bool, Failure>),
    Left,
    GivenBack(Result<(), Failure>),
    /// Whether it is still this session's, and what was seen of it before.
    MadeSure(Result<bool, Failure>, String),
}

/// What one session does. Everything that is under way is owned by this: what it says of a cluster is what is so.
pub(super) struct Work<'a> {
    fleet: Fleet,
    leases: Leases,
    me: Peer,
    view: &'a mut View,
    shares: Shares,
    duties: BTreeMap<ClusterName, Duty>,
    /// Claims that wait for their turn.
    claims: VecDeque<(ClusterName, Claim)>,
    claiming: usize,
    under_way: FuturesUnordered<BoxFuture<'static, (ClusterName, Done)>>,
    clearing: Option<BoxFuture<'static, ()>>,
    look_at: Instant,
    clear_at: Instant,
    clear_every: Duration,
}

impl<'a> Work<'a> {
    pub(super) fn new(fleet: Fleet, leases: Leases, me: Peer, view: &'a mut View, lease: Duration) -> Self {
        let now = Instant::now();
        Self {
            fleet,
            leases,
            me,
            view,
            shares: Shares::default(),
            duties: BTreeMap::new(),
            claims: VecDeque::new(),
            claiming: 0,
            under_way: FuturesUnordered::new(),
            clearing: None,
            look_at: now,
            clear_at: now + around(lease),
            clear_every: lease,
        }
    }

    /// Works until it is dropped.
    pub(super) async fn go_on(&mut self) {
        loop {
            self.look();
            let looked = Instant::now();
            self.news().await;
            self.pause(looked + PAUSE).await;
        }
    }

    /// Resolves when there is something to look at; what is under way goes on meanwhile.
    async fn news(&mut self) {
        loop {
            let next = self.next_look();
            tokio::select! {
                () = self.view.reader.news() => return,
                () = self.fleet.described_changed() => return,
                () = sleep_until(next) => return,
                () = finished(&mut self.clearing) => {}
                Some((name, done)) = self.under_way.next() => {
                    self.take(name, done);
                    self.begin_claims();
                }
            }
        }
    }

    /// Lets what comes in a row be looked at once; what is under way goes on meanwhile.
    async fn pause(&mut self, until: Instant) {
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                Some((name, done)) = self.under_way.next() => {
                    self.take(name, done);
                    self.begin_claims();
                }
            }
        }
    }

    fn next_look(&self) -> Instant {
        let silence = self.view.watched.next_silence(Instant::now());
        [silence, Some(self.clear_at), Some(self.look_at)]
            .into_iter()
            .flatten()
            .filter(|at| *at > Instant::now())
            .min()
            .unwrap_or_else(|| Instant::now() + AGAIN)
    }

    fn look(&mut self) {
        let now = Instant::now();
        if !self.view.take(now) {
            return;
        }
        let described = self.fleet.described();
        let peers = self.view.watched.alive(&self.me, now);
        if self.shares.among(peers) {
            let peers = self.shares.peers();
            let ids: Vec<_> = peers.iter().map(|peer| peer.id.clone()).collect();
            let replicas = ids.join(", ");
            tracing::info!(
                replica = self.me.id,
                replicas,
                "these replicas share the clusters"
            );
            self.fleet.set_replicas(ids);
        }
        self.shares.keep(&described);
        self.note_confirmed();
        let situation = Situation {
            group: &self.view.group,
            described: &described,
            is_synced: self.fleet.is_synced(),
            fences: &self.view.fences,
            sessions: &self.view.watched,
            me: &self.me,
            duties: &self.duties,
            now,
        };
        let steps = situation.steps(&mut self.shares);
        self.claims.clear();
        for step in steps {
            self.begin(step);
        }
        self.begin_claims();
        self.clear_leftovers(&described, now);
    }

    /// What is seen to be this session's has caught up: if it looks otherwise again, that is news.
    fn note_confirmed(&mut self) {
        for (name, duty) in &mut self.duties {
            let fence = self.view.fences.get(name);
            if let Duty::Held { checked } = duty
                && fence.and_then(|fence| fence.holder.as_deref()) == Some(&self.me.id)
            {
                *checked = None;
            }
        }
    }

    fn begin(&mut self, step: Step) {
        match step {
            Step::Claim(name, claim) => self.claims.push_back((name, claim)),
            Step::Leave(name) => self.leave(name, false),
            Step::Forget(name) => self.leave(name, true),
            Step::GiveBack(name) => {
                let (leases, me, cluster) = (self.leases.clone(), self.me.clone(), name.clone());
                self.busy(name, async move {
                    Done::GivenBack(leases.give_back(&me, &cluster).await)
                });
            }
            Step::MakeSure(name, version) => {
                let (leases, me, cluster) = (self.leases.clone(), self.me.clone(), name.clone());
                self.busy(name, async move {
                    Done::MadeSure(leases.make_sure(&me, &cluster).await, version)
                });
            }
        }
    }

    fn begin_claims(&mut self) {
        while self.claiming < CLAIMS
            && let Some((name, claim)) = self.claims.pop_front()
        {
            if self.duties.contains_key(&name) {
                continue;
            }
            self.claiming += 1;
            let (leases, me, cluster) = (self.leases.clone(), self.me.clone(), name.clone());
            self.busy(name, async move {
                Done::Claimed(leases.claim(&me, &cluster, &claim).await)
            });
        }
    }

    fn leave(&mut self, name: ClusterName, forget: bool) {
        let (leases, me, cluster) = (self.leases.clone(), self.me.clone(), name.clone());
        let (leaving, grace) = (self.fleet.withdraw(&name), self.fleet.grace());
        self.busy(name, async move {
            ended(leaving, grace).await;
            release(&leases, &me, &cluster, forget).await;
            Done::Left
        });
    }

    fn busy(&mut self, name: ClusterName, work: impl Future<Output = Done> + Send + 'static) {
        self.duties.insert(name.clone(), Duty::Busy);
        self.under_way.push(work.map(|done| (name, done)).boxed());
    }

    fn take(&mut self, name: ClusterName, done: Done) {
        let failed = |failure: &Failure, what: &str| {
            tracing::debug!(cluster = %name, error = %failure, "{what}; it is tried again");
        };
        self.duties.remove(&name);
        match done {
            Done::Claimed(claimed) => {
                self.claiming -= 1;
                match claimed {
                    Ok(true) => return self.hold(name),
                    // It was not as it was seen; what is seen will be otherwise.
                    Ok(false) => {}
                    Err(failure) => failed(&failure, "the fence of a cluster could not be taken"),
                }
            }
            Done::Left | Done::GivenBack(Ok(())) => {}
            Done::GivenBack(Err(failure)) => failed(&failure, "the fence of a cluster could not be released"),
            Done::MadeSure(Ok(true), version) => {
                let checked = Some(version);
                self.duties.insert(name, Duty::Held { checked });
                return;
            }
            Done::MadeSure(Ok(false), _) => self.lose(name),
            Done::MadeSure(Err(failure), _) => {
                failed(&failure, "it could not be made sure whose a cluster is");
                self.duties.insert(name, Duty::Held { checked: None });
            }
        }
        self.look_at = Instant::now() + around(AGAIN);
    }

    fn hold(&mut self, name: ClusterName) {
        self.fleet.assign(&name);
        // What is watched tells of it later.
        let seen = self.view.fences.get(&name).map(|fence| fence.version.clone());
        let checked = Some(seen.unwrap_or_default());
        self.duties.insert(name, Duty::Held { checked });
    }

    /// The fence names another, who may be at work: whatever still runs here may send nothing more.
    fn lose(&mut self, name: ClusterName) {
        tracing::error!(
            cluster = %name, replica = self.me.id,
            "the Lease of the cluster names another replica although this one works on it: it stops at once; \
             somebody has changed the Lease, or the session was taken for ended",
        );
        let mut leaving = self.fleet.withdraw(&name);
        leaving.cut();
        self.busy(name, async move {
            leaving.ended().await;
            Done::Left
        });
    }

    /// Deletes what nobody needs any more: one of the replicas does.
    fn clear_leftovers(&mut self, described: &BTreeSet<ClusterName>, now: Instant) {
        if now < self.clear_at || self.clearing.is_some() {
            return;
        }
        self.clear_at = now + around(self.clear_every);
        if !self.shares.tidies(&self.me) {
            return;
        }
        let holders = self
            .view
            .fences
            .values()
            .filter(|fence| described.contains(&fence.cluster));
        let holders: BTreeSet<_> = holders.filter_map(|fence| fence.holder.as_deref()).collect();
        let leftovers = self.view.watched.leftovers(now);
        let leftovers = leftovers.filter(|session| !holders.contains(session.id.as_str()));
        let leftovers: Vec<_> = leftovers
            .take(CLAIMS)
            .map(|session| (session.lease.clone(), session.version.clone()))
            .collect();
        if leftovers.is_empty() {
            return;
        }
        let leases = self.leases.clone();
        let clearing = async move {
            for (lease, version) in leftovers {
                if let Err(failure) = leases.clear(&lease, &version).await {
                    tracing::debug!(lease, error = %failure, "the Lease of a former session could not be deleted");
                }
            }
        };
        self.clearing = Some(clearing.boxed());
    }

    /// Stops all work, by then at the latest, and waits until nothing of it runs.
    pub(super) async fn stop(self, by: Option<Instant>) {
        self.fleet.set_replicas(Vec::new());
        let names = self.duties.into_keys();
        let mut leaving: Vec<_> = names.map(|name| self.fleet.withdraw(&name)).collect();
        let by = by.unwrap_or_else(|| Instant::now() + self.fleet.grace());
        let all_ended = join_all(leaving.iter_mut().map(Leaving::ended));
        if timeout_at(by, all_ended).await.is_err() {
            leaving.iter().for_each(Leaving::cut);
            join_all(leaving.iter_mut().map(Leaving::ended)).await;
        }
    }
}

/// Waits until nothing runs. A cluster that leaves breaks off what runs by itself, after its grace period; on the host,
/// which stays, this does.
async fn ended(mut leaving: Leaving, grace: Duration) {
    if leaving.is_of_host() && timeout(grace, leaving.ended()).await.is_err() {
        leaving.cut();
    }
    leaving.ended().await;
}

/// Until the host has heard of it, nobody else can begin.
async fn release(leases: &Leases, me: &Peer, cluster: &ClusterName, forget: bool) {
    loop {
        let released = if forget {
            leases.delete(me, cluster).await
        } else {
            leases.give_back(me, cluster).await
        };
        match released {
            Ok(()) => return,
            Err(failure) => {
                tracing::warn!(%cluster, error = %failure, "the Lease of a cluster that was left could not be released; it is tried again");
                sleep(around(AGAIN)).await;
            }
        }
    }
}

async fn finished(clearing: &mut Option<BoxFuture<'static, ()>>) {
    match clearing {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
    *clearing = None;
}
