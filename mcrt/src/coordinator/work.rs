//! The work of one session: what is decided, what is under way, what came of it.
use super::{
    duties::{Claim, Duty, Shares, Situation, Step},
    leases::{Failure, Leases},
    rendezvous::Peer,
    seen::FenceLease,
    view::View,
    watched::Silent,
};
use crate::{
    cluster::ClusterName,
    fleet::{Fleet, Leaving},
    jitter::around,
};
use futures::{
    FutureExt, StreamExt,
    future::{BoxFuture, join_all},
    stream::FuturesUnordered,
};
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

/// What came of something that was under way.
enum Over {
    Cluster(ClusterName, Done),
    /// The version of a silent session now.
    Session(Silent, Result<Option<String>, Failure>),
}

/// What came of something that was under way for a cluster.
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
    under_way: FuturesUnordered<BoxFuture<'static, Over>>,
    /// Sessions that are being asked for.
    asked: BTreeSet<Silent>,
    clearing: Option<BoxFuture<'static, ()>>,
    /// When to look whatever is heard; none if nothing is to be tried again.
    look_at: Option<Instant>,
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
            asked: BTreeSet::new(),
            clearing: None,
            look_at: None,
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
                Some(over) = self.under_way.next() => self.take(over),
            }
        }
    }

    /// Lets what comes in a row be looked at once; what is under way goes on meanwhile.
    async fn pause(&mut self, until: Instant) {
        loop {
            tokio::select! {
                () = sleep_until(until) => return,
                Some(over) = self.under_way.next() => self.take(over),
            }
        }
    }

    fn next_look(&self) -> Instant {
        let now = Instant::now();
        let silence = self.view.watched.next_silence(now);
        let clearing = self.clearing.is_none().then_some(self.clear_at);
        let next = [silence, clearing, self.look_at].into_iter().flatten().min();
        next.map_or(now + AGAIN, |next| next.max(now))
    }

    fn look(&mut self) {
        let now = Instant::now();
        if !self.view.take(now) {
            self.look_at = Some(now + AGAIN);
            return;
        }
        self.look_at = self.view.fences.values().filter_map(FenceLease::gone_at).min();
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
                && fence.is_some_and(|fence| fence.is_of(&self.me.id))
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
            Step::Ask(silent) => self.ask(silent),
        }
    }

    fn ask(&mut self, silent: Silent) {
        if self.asked.insert(silent.clone()) {
            let leases = self.leases.clone();
            let asking = async move {
                let version = leases.version(&silent.lease).await;
                Over::Session(silent, version)
            };
            self.under_way.push(asking.boxed());
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
        self.under_way
            .push(work.map(|done| Over::Cluster(name, done)).boxed());
    }

    fn take(&mut self, over: Over) {
        match over {
            Over::Cluster(name, done) => self.take_done(name, done),
            Over::Session(silent, version) => {
                self.asked.remove(&silent);
                match version {
                    Ok(version) => self
                        .view
                        .watched
                        .answered(&silent, version.as_deref(), Instant::now()),
                    Err(failure) => {
                        tracing::debug!(lease = silent.lease, error = %failure, "a silent session could not be asked for; it is tried again");
                    }
                }
                self.look_again(PAUSE);
            }
        }
        self.begin_claims();
    }

    fn look_again(&mut self, after: Duration) {
        let at = Instant::now() + around(after);
        self.look_at = Some(self.look_at.map_or(at, |sooner| sooner.min(at)));
    }

    fn take_done(&mut self, name: ClusterName, done: Done) {
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
        self.look_again(AGAIN);
    }

    fn hold(&mut self, name: ClusterName) {
        self.fleet.assign(&name);
        // What is watched tells of it later.
        let seen = self
            .view
            .fences
            .get(&name)
            .filter(|fence| fence.vanished.is_none());
        let seen = seen.map(|fence| fence.version.clone());
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
