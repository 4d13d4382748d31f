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
    /// Whether it was asked for when it had been silent, and was as it had been seen. Then it is over for good: it stops
    /// by its own clock before that time, and does not come back as what it was.
    is_over: bool,
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
    Silent(Silent),
}

/// A session that has not been seen to change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Silent {
    /// The name of its Lease.
    pub(super) lease: String,
    /// As it was seen last; none if there is no such Lease.
    pub(super) version: Option<String>,
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
                        is_over: false,
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
                        is_over: false,
                    },
                );
            }
        }
    }

    /// How the session fares that a fence names.
    pub(super) fn standing(&self, lease: &str, now: Instant) -> Standing {
        match self.0.get(lease) {
            None => Standing::Alive,
            Some(watched) => watched.standing(lease, now),
        }
    }

    /// A session that was silent has been asked for: it is over, or what was seen of it was behind.
    pub(super) fn answered(&mut self, silent: &Silent, version: Option<&str>, now: Instant) {
        let Some(watched) = self.0.get_mut(&silent.lease) else {
            return;
        };
        if watched.version() != silent.version.as_deref() {
            // Something else was seen meanwhile.
            return;
        }
        if silent.version.as_deref() == version {
            watched.is_over = true;
        } else {
            // It has spoken, just now for all that is known.
            watched.since = now;
        }
    }

    /// Those who may be working, `me` among them whatever was seen.
    pub(super) fn alive(&self, me: &Peer, now: Instant) -> Vec<Peer> {
        let mut peers = vec![me.clone()];
        for watched in self.0.values() {
            if let Some(session) = &watched.lease
                && session.id != me.id
                && watched.is_alive(now)
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
        let due = self.0.values().filter(|watched| watched.is_alive(now));
        due.map(Watched::silent_at).min()
    }

    /// Leases of sessions that have ended, or been silent, for much longer than anybody waits.
    pub(super) fn leftovers(&self, now: Instant) -> impl Iterator<Item = &SessionLease> {
        self.0.values().filter_map(move |watched| {
            let over = !watched.is_alive(now) && now >= watched.since + LEFTOVER * watched.duration;
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

    fn is_alive(&self, now: Instant) -> bool {
        !self.has_ended() && now < self.silent_at()
    }

    fn has_ended(&self) -> bool {
        self.is_over || self.lease.as_ref().is_some_and(|session| session.ended)
    }

    fn version(&self) -> Option<&str> {
        self.lease.as_ref().map(|session| session.version.as_str())
    }

    fn standing(&self, lease: &str, now: Instant) -> Standing {
        if self.has_ended() {
            return Standing::Ended;
        }
        if now < self.silent_at() {
            return Standing::Alive;
        }
        Standing::Silent(Silent {
            lease: lease.to_owned(),
            version: self.version().map(str::to_owned),
        })
    }
}
