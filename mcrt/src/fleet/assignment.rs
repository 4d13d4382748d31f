//! Which of the described clusters are this replica's to work on, where several share them.
use super::{Cluster, Fleet, HostDuty, registry::State, supervisor::Ended};
use crate::{cluster::ClusterName, provider::ClusterSpec};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::sync::Notify;

/// The clusters that are described, and those of them that are this replica's.
#[derive(Default)]
pub(super) struct Assignment {
    mine: BTreeSet<ClusterName>,
    described: BTreeMap<ClusterName, (u64, ClusterSpec)>,
    revision: u64,
    replicas: Vec<String>,
    changed: Arc<Notify>,
}

/// Which description of a name is meant: what was started for an earlier one comes to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Revision(u64);

impl Assignment {
    /// Takes note of a description. Gives its revision if the cluster is this replica's.
    pub(super) fn describe(&mut self, spec: &ClusterSpec) -> Option<Revision> {
        self.revision += 1;
        self.described
            .insert(spec.name.clone(), (self.revision, spec.clone()));
        self.changed.notify_one();
        self.mine.contains(&spec.name).then_some(Revision(self.revision))
    }

    pub(super) fn forget(&mut self, name: &ClusterName) {
        if self.described.remove(name).is_some() {
            self.changed.notify_one();
        }
    }

    /// Whether what was described in that revision may be engaged now.
    pub(super) fn holds(&self, name: &ClusterName, revision: Revision) -> bool {
        let newest = self.described.get(name).map(|(newest, _)| Revision(*newest));
        self.mine.contains(name) && newest == Some(revision)
    }
}

/// The end of a cluster's work on this replica.
pub(crate) struct Leaving {
    /// The last life of it, unless that is over.
    life: Option<(Cluster, Ended)>,
    /// Of the host: its life goes on, the work there ends.
    duty: Option<HostDuty>,
}

impl Leaving {
    /// Resolves once nothing of it runs. May be dropped and called again.
    pub(crate) async fn ended(&mut self) {
        if let Some((_, ended)) = &mut self.life {
            while ended.changed().await.is_ok() {}
        }
        if let Some(duty) = &self.duty {
            duty.over().await;
        }
    }

    /// Lets nothing more be sent to the cluster, whatever still runs.
    pub(crate) fn cut(&self) {
        if let Some((cluster, _)) = &self.life {
            cluster.cut();
        }
        if let Some(duty) = &self.duty {
            duty.cut();
        }
    }

    pub(crate) fn is_of_host(&self) -> bool {
        self.duty.is_some()
    }
}

impl Fleet {
    /// From now on a replica engages what is [assigned](Self::assign) to it and nothing else. To be called before
    /// anything is engaged.
    pub(crate) fn share(&self) {
        self.0.state.lock().assignment = Some(Assignment::default());
        self.host_duty().leave_to_others();
    }

    /// The clusters to be shared: those that the provider describes and that are selected, and the host where there
    /// is one.
    pub(crate) fn described(&self) -> BTreeSet<ClusterName> {
        let state = self.0.state.lock();
        let host = state.members.contains_key(&ClusterName::host());
        let host = host.then(ClusterName::host);
        let described = state
            .assignment
            .iter()
            .flat_map(|it| it.described.keys().cloned());
        described.chain(host).collect()
    }

    /// Resolves when other clusters are described than before. For one who waits.
    pub(crate) async fn described_changed(&self) {
        let assignment = self
            .0
            .state
            .lock()
            .assignment
            .as_ref()
            .map(|it| Arc::clone(&it.changed));
        match assignment {
            Some(changed) => changed.notified().await,
            None => std::future::pending().await,
        }
    }

    /// The clusters that the provider describes and that are not this replica's: others work on them, or nobody does
    /// yet. In the order of their names; none unless [several replicas share the
    /// clusters](crate::ManagerBuilder::sharded).
    pub fn elsewhere(&self) -> Vec<ClusterName> {
        let state = self.0.state.lock();
        let shared = state.assignment.iter();
        let others = shared.flat_map(|it| it.described.keys().filter(|name| !it.mine.contains(*name)));
        others.cloned().collect()
    }

    /// The replicas that share the clusters, by the names of their sessions: this one first, the others as they are seen
    /// to live. None unless [several share](crate::ManagerBuilder::sharded), and none while this one has no session.
    pub fn replicas(&self) -> Vec<String> {
        let state = self.0.state.lock();
        state
            .assignment
            .as_ref()
            .map(|it| it.replicas.clone())
            .unwrap_or_default()
    }

    pub(crate) fn set_replicas(&self, replicas: Vec<String>) {
        if let Some(assignment) = &mut self.0.state.lock().assignment {
            assignment.replicas = replicas;
        }
    }

    /// The cluster is this replica's from now on: it is engaged as it is described now, and as it will be.
    pub(crate) fn assign(&self, name: &ClusterName) {
        if name.is_host() {
            self.host_duty().take_on();
            return;
        }
        let described = {
            let mut state = self.0.state.lock();
            let Some(assignment) = &mut state.assignment else {
                return;
            };
            assignment.mine.insert(name.clone());
            let described = assignment.described.get(name);
            described.map(|(revision, spec)| (Revision(*revision), spec.clone()))
        };
        let Some((revision, spec)) = described else { return };
        match self.take_up(spec, Some(revision)) {
            Ok(()) => self.accept(name),
            Err(error) => self.reject_unusable(name, &error),
        }
    }

    /// The cluster is another's from now on: it is disengaged. Its description is kept, for when it comes back.
    pub(crate) fn withdraw(&self, name: &ClusterName) -> Leaving {
        if name.is_host() {
            self.host_duty().leave_to_others();
            let duty = Some(self.host_duty().clone());
            return Leaving { life: None, duty };
        }
        let mut state = self.0.state.lock();
        if let Some(assignment) = &mut state.assignment {
            assignment.mine.remove(name);
        }
        state.clear(name);
        state.disengage(name);
        let life = state.life(name);
        Leaving { life, duty: None }
    }
}

impl State {
    /// Takes note of a description. Says whether it is for this replica to engage, and as what revision.
    pub(super) fn note_description(&mut self, spec: &ClusterSpec) -> Result<Option<Revision>, NotMine> {
        match &mut self.assignment {
            Some(assignment) if !spec.name.is_host() => match assignment.describe(spec) {
                Some(revision) => Ok(Some(revision)),
                None => Err(NotMine),
            },
            _ => Ok(None),
        }
    }

    pub(super) fn may_engage(&self, name: &ClusterName, revision: Option<Revision>) -> bool {
        match (&self.assignment, revision) {
            (Some(assignment), Some(revision)) => assignment.holds(name, revision),
            _ => true,
        }
    }
}

/// The cluster is described, and for others to work on.
pub(super) struct NotMine;
