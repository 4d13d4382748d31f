//! Which sessions are alive, by this replica's own clock: no other clock is ever read.
use super::{
    names,
    rendezvous::Peer,
    seen::{FenceLease, SessionLease},
};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;

/// The sessions of a group, as they were seen to change.
#[derive(Default)]
pub(super) struct Sessions(BTreeMap<String, Watched>);

struct Watched {
    /// None while there is no such Lease.
    lease: Option<SessionLease>,
    /// Since when it has been seen like this.
    since: Instant,
    /// How long it may stay like this before it counts as silent.
    duration: Duration,
}

/// How a session fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It may be working.
    Alive,
    /// It said that nothing of it runs any more.
    Ended,
    /// It has not been seen to change for as long as it promised. Whoever acts on that makes sure by asking: what is
    /// watched may be behind.
    Silent {
        /// As it was seen last; none if there is no such Lease.
        version: Option<String>,
    },
}

impl Sessions {
    /// Takes note of what there is now. A session that a fence names and that has no Lease is watched too: its Lease
    /// may have been deleted by hand, and it may go on.
    pub(super) fn look<'a>(
        &mut self,
        group: &str,
        sessions: impl IntoIterator<Item = SessionLease>,
        fences: impl IntoIterator<Item = &'a FenceLease>,
        now: Instant,
    ) {
        let mut present: BTreeMap<String, SessionLease> = sessions
            .into_iter()
            .map(|session| (session.lease.clone(), session))
            .collect();
        let mut absent = BTreeMap::new();
        for fence in fences {
            if let Some(holder) = &fence.holder {
                let lease = names::session(group, holder);
                if !present.contains_key(&lease) {
                    absent.insert(lease, fence.duration);
                }
            }
        }
        self.0
            .retain(|lease, _| present.contains_key(lease) || absent.contains_key(lease));
        for (lease, duration) in absent {
            let gone = |watched: &Watched| watched.lease.is_none();
            if !self.0.get(&lease).is_some_and(gone) {
                let duration = self.0.get(&lease).map_or(duration, |watched| watched.duration);
                self.0.insert(
                    lease,
                    Watched {
                        lease: None,
                        since: now,
                        duration,
                    },
                );
            }
        }
        while let Some((lease, session)) = present.pop_first() {
            let same = |watched: &Watched| {
                watched
                    .lease
                    .as_ref()
                    .is_some_and(|known| known.version == session.version)
            };
            if !self.0.get(&lease).is_some_and(same) {
                let duration = session.duration;
                self.0.insert(
                    lease,
                    Watched {
                        lease: Some(session),
                        since: now,
                        duration,
                    },
                );
            }
        }
    }

    /// How the session fares that a fence names.
    pub(super) fn standing(&self, lease: &str, now: Instant) -> Standing {
        match self.0.get(lease) {
            None => Standing::Alive,
            Some(watched) => watched.standing(now),
        }
    }

    /// Those who may be working, `me` among them whatever was seen.
    pub(super) fn alive(&self, me: &Peer, now: Instant) -> Vec<Peer> {
        let mut peers = vec![me.clone()];
        for watched in self.0.values() {
            if let Some(session) = &watched.lease
                && session.id != me.id
                && watched.standing(now) == Standing::Alive
            {
                peers.push(Peer {
                    id: session.id.clone(),
                    weight: session.weight,
                });
            }
        }
        peers
    }

    /// When the next of them falls silent, if nothing is seen until then.
    pub(super) fn next_silence(&self, now: Instant) -> Option<Instant> {
        let due = self
            .0
            .values()
            .filter(|watched| watched.standing(now) == Standing::Alive);
        due.map(Watched::silent_at).min()
    }

    /// Leases of sessions that have ended, or been silent, for much longer than anybody waits.
    pub(super) fn leftovers(&self, now: Instant) -> impl Iterator<Item = &SessionLease> {
        self.0.values().filter_map(move |watched| {
            let over = watched.standing(now) != Standing::Alive
                && now >= watched.since + LEFTOVER * watched.duration;
            watched.lease.as_ref().filter(|_| over)
        })
    }
}

/// After how many lease durations what is left of a session may be cleared away.
const LEFTOVER: u32 = 10;

impl Watched {
    fn silent_at(&self) -> Instant {
        self.since + self.duration
    }

    fn standing(&self, now: Instant) -> Standing {
        if self.lease.as_ref().is_some_and(|session| session.ended) {
            return Standing::Ended;
        }
        if now < self.silent_at() {
            return Standing::Alive;
        }
        Standing::Silent {
            version: self.lease.as_ref().map(|session| session.version.clone()),
        }
    }
}
