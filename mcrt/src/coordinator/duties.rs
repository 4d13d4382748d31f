//! What a replica does next: decided from what it sees, without doing anything.
use super::{
    names,
    rendezvous::{self, Peer},
    seen::FenceLease,
    watched::{Sessions, Silent, Standing},
};
use crate::cluster::ClusterName;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokio::time::Instant;

/// What a replica has to do with a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Its fence names this session, and the fleet works on it.
    Held {
        /// What was seen of the fence when it was last made sure of, where that looked otherwise.
        checked: Option<String>,
    },
    /// Something is being done about it; nothing else is begun until that is over.
    Busy,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Take the fence, then work on the cluster.
    Claim(ClusterName, Claim),
    /// Stop the work, then release the fence.
    Leave(ClusterName),
    /// Stop the work on a cluster that is no more, then delete the fence.
    Forget(ClusterName),
    /// The fence names this session, and nothing of the cluster runs here: release it.
    GiveBack(ClusterName),
    /// The fence seems to be another's, in the version that was seen: ask.
    MakeSure(ClusterName, String),
    /// A session has fallen silent, as it was seen: ask whether it has.
    Ask(Silent),
}

/// How a fence is taken. Each is guarded by what was seen: if that has changed, nothing is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// There is none.
    New,
    /// It is free in this version, or already this session's.
    Free {
        version: String,
        /// How often it will have changed hands.
        transitions: i32,
    },
}

/// What is seen.
pub(super) struct Situation<'a> {
    pub(super) group: &'a str,
    pub(super) described: &'a BTreeSet<ClusterName>,
    /// Whether `described` is all that there is.
    pub(super) is_synced: bool,
    pub(super) fences: &'a BTreeMap<ClusterName, FenceLease>,
    pub(super) sessions: &'a Sessions,
    pub(super) me: &'a Peer,
    pub(super) duties: &'a BTreeMap<ClusterName, Duty>,
    pub(super) now: Instant,
}

/// Whose each cluster is, kept while the peers are the same.
#[derive(Default)]
pub(super) struct Shares {
    peers: Vec<Peer>,
    mine: HashMap<ClusterName, bool>,
}

impl Shares {
    /// The peers are these. Says whether they are others than before.
    pub(super) fn among(&mut self, peers: Vec<Peer>) -> bool {
        if self.peers == peers {
            return false;
        }
        self.peers = peers;
        self.mine.clear();
        true
    }

    pub(super) fn peers(&self) -> &[Peer] {
        &self.peers
    }

    pub(super) fn keep(&mut self, described: &BTreeSet<ClusterName>) {
        self.mine.retain(|name, _| described.contains(name));
    }

    fn is_mine(&mut self, name: &ClusterName, me: &Peer) -> bool {
        if let Some(mine) = self.mine.get(name) {
            return *mine;
        }
        let mine = self.is_owned(rendezvous::key(name), me);
        self.mine.insert(name.clone(), mine);
        mine
    }

    /// Whether this one of all peers clears away what nobody holds.
    pub(super) fn tidies(&self, me: &Peer) -> bool {
        self.is_owned("what nobody holds", me)
    }

    fn is_owned(&self, key: &str, me: &Peer) -> bool {
        rendezvous::owner(key, &self.peers).is_some_and(|owner| owner.id == me.id)
    }
}

impl Situation<'_> {
    /// What to do now. At most one thing for each cluster; nothing for one that is busy.
    pub(super) fn steps(&self, shares: &mut Shares) -> Vec<Step> {
        let held = self.duties.keys();
        let fenced = self.fences.keys();
        let names: BTreeSet<_> = self.described.iter().chain(held).chain(fenced).collect();
        let tidies = self.is_synced && shares.tidies(self.me);
        let steps = names.into_iter().filter_map(|name| {
            let is_described = self.described.contains(name);
            let wanted = if is_described {
                shares.is_mine(name, self.me)
            } else {
                tidies
            };
            match self.duties.get(name) {
                Some(Duty::Busy) => None,
                Some(Duty::Held { .. }) if !is_described && self.is_synced => {
                    Some(Step::Forget(name.clone()))
                }
                Some(Duty::Held { .. }) if is_described && !wanted => Some(Step::Leave(name.clone())),
                Some(Duty::Held { checked }) => self.doubt(name, checked.as_deref()),
                None => self.take(name, is_described, wanted),
            }
        });
        steps.collect()
    }

    /// What is watched may be behind what this session wrote itself: it is asked once for each version seen.
    fn doubt(&self, name: &ClusterName, checked: Option<&str>) -> Option<Step> {
        let fence = self.fences.get(name);
        if fence.is_some_and(|fence| fence.is_of(&self.me.id)) {
            return None;
        }
        let there = fence.filter(|fence| fence.vanished.is_none());
        let version = there.map_or("", |fence| &fence.version);
        (checked != Some(version)).then(|| Step::MakeSure(name.clone(), version.to_owned()))
    }

    fn take(&self, name: &ClusterName, is_described: bool, wanted: bool) -> Option<Step> {
        let new = || (wanted && is_described).then(|| Step::Claim(name.clone(), Claim::New));
        let Some(fence) = self.fences.get(name) else {
            return new();
        };
        let is_mine = fence.holder.as_deref() == Some(&self.me.id);
        // Deleted by this session, or by hand before it was left here.
        if fence.is_gone(self.now) || (is_mine && fence.vanished.is_some()) {
            return new();
        }
        // Of a request whose answer did not come.
        if is_mine && !wanted {
            return Some(Step::GiveBack(name.clone()));
        }
        if let Some(holder) = fence.holder.as_deref().filter(|_| !is_mine) {
            match self
                .sessions
                .standing(&names::session(self.group, holder), self.now)
            {
                Standing::Alive => return None,
                Standing::Silent(silent) => return wanted.then_some(Step::Ask(silent)),
                Standing::Ended => {}
            }
        }
        if fence.vanished.is_some() {
            return new();
        }
        let claim = Claim::Free {
            version: fence.version.clone(),
            transitions: fence.transitions.saturating_add(i32::from(!is_mine)),
        };
        wanted.then(|| Step::Claim(name.clone(), claim))
    }
}
