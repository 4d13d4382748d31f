//! What is known of a cluster, and the health that follows: no I/O, no clock.
use super::{HealthSettings, LivenessSettings};
use crate::{
    cluster::Health,
    connect::{Answered, Breaker},
};
use std::time::Duration;
use tokio::time::Instant;

/// A flapping server has to answer this many times as often as one that does not.
const MOST_PATIENCE: u32 = 16;

/// The check that `/readyz` itself makes.
pub(super) const SERVER: usize = 0;
/// The check of version, kinds and permissions.
pub(super) const READINESS: usize = 1;
/// The first check of the program.
pub(super) const APPLICATION: usize = 2;

/// All that decides over the health of one cluster.
#[derive(Debug)]
pub(crate) struct Condition {
    settings: LivenessSettings,
    contact: Contact,
    /// Probes in a row that failed.
    failures: u32,
    /// Probes in a row that were refused.
    refusals: u32,
    /// Probes in a row that were answered, in an outage.
    successes: u32,
    /// How many of them end it.
    needed: u32,
    /// When the last outage ended.
    returned: Option<Instant>,
    suspended: Option<Instant>,
    /// Why the last probe failed.
    trouble: Option<String>,
    checks: Vec<Check>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contact {
    /// Nobody has answered yet.
    Sought,
    Alive,
    Refused {
        since: Instant,
        status: u16,
    },
    Dead {
        since: Instant,
    },
}

/// When the next probe is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    FromStart(Duration),
    FromEnd(Duration),
}

/// Something that has to fail several times in a row to mean something.
#[derive(Debug)]
struct Check {
    limit: u32,
    failures: u32,
    /// When the first of the failures was.
    since: Option<Instant>,
    complaint: String,
}

impl Check {
    fn new(limit: u32) -> Self {
        Self {
            limit: limit.max(1),
            failures: 0,
            since: None,
            complaint: String::new(),
        }
    }

    fn note(&mut self, outcome: Result<(), String>, now: Instant) {
        match outcome {
            Ok(()) => {
                self.failures = 0;
                self.since = None;
                self.complaint = String::new();
            }
            Err(complaint) => {
                self.failures = self.failures.saturating_add(1);
                self.since.get_or_insert(now);
                self.complaint = complaint;
            }
        }
    }

    /// Since when it counts as failed, if it does.
    fn failed(&self) -> Option<Instant> {
        self.since.filter(|_| self.failures >= self.limit)
    }
}

impl Condition {
    pub(crate) fn new(settings: &HealthSettings, application: usize) -> Self {
        let own = [settings.liveness.failures, settings.readiness.failures];
        let limits = own
            .into_iter()
            .chain(std::iter::repeat_n(settings.application.failures, application));
        Self {
            settings: settings.liveness,
            contact: Contact::Sought,
            failures: 0,
            refusals: 0,
            successes: 0,
            needed: settings.liveness.successes,
            returned: None,
            suspended: None,
            trouble: None,
            checks: limits.map(Check::new).collect(),
        }
    }

    /// A probe was answered.
    pub(super) fn answered(&mut self, answer: Answered, now: Instant) {
        self.failures = 0;
        self.trouble = None;
        if self.is_dead() {
            self.successes += 1;
            if self.successes < self.needed {
                return;
            }
            self.returned = Some(now);
            self.contact = Contact::Sought;
        }
        match answer {
            Answered::Refused { status } => self.refused(status, now),
            Answered::Ready => self.accepted(None, now),
            Answered::Unready { status } => self.accepted(Some(status), now),
        }
    }

    fn accepted(&mut self, unready: Option<u16>, now: Instant) {
        self.refusals = 0;
        let outcome = unready.map_or(Ok(()), |status| Err(format!("/readyz answers {status}")));
        let check = &mut self.checks[SERVER];
        check.note(outcome, now);
        // Nothing is known of the cluster that one answer could disturb.
        if self.contact == Contact::Sought && check.failures > 0 {
            check.failures = check.limit;
        }
        self.contact = Contact::Alive;
    }

    /// The server does not accept who asks, or there is nothing to show to it.
    pub(super) fn refused(&mut self, status: u16, now: Instant) {
        match &mut self.contact {
            Contact::Refused { status: known, .. } => *known = status,
            // Without an answer that says nothing of the server.
            Contact::Dead { .. } => {}
            Contact::Sought => self.contact = Contact::Refused { since: now, status },
            Contact::Alive => {
                self.refusals += 1;
                if self.refusals >= self.settings.failures {
                    self.contact = Contact::Refused { since: now, status };
                }
            }
        }
    }

    /// A probe failed; true if that makes an outage.
    pub(super) fn failed(&mut self, why: String, now: Instant) -> bool {
        self.trouble = Some(why);
        self.successes = 0;
        self.failures = self.failures.saturating_add(1);
        self.failures >= self.settings.failures && self.lost_contact(now)
    }

    /// The cluster was found unreachable by the requests that it did not answer; true if that makes an outage.
    pub(super) fn lost_contact(&mut self, now: Instant) -> bool {
        if self.is_dead() {
            return false;
        }
        let flaps = |at| now.duration_since(at) < self.settings.flapping;
        let most = self.settings.successes.saturating_mul(MOST_PATIENCE);
        self.needed = match self.returned {
            Some(at) if flaps(at) => self.needed.saturating_mul(2).min(most),
            _ => self.settings.successes,
        };
        self.successes = 0;
        self.refusals = 0;
        self.contact = Contact::Dead { since: now };
        true
    }

    pub(super) fn checked(&mut self, check: usize, outcome: Result<(), String>, now: Instant) {
        if let Some(check) = self.checks.get_mut(check) {
            check.note(outcome, now);
        }
    }

    pub(crate) fn suspend(&mut self, now: Instant) {
        self.suspended.get_or_insert(now);
    }

    pub(crate) fn resume(&mut self) {
        self.suspended = None;
    }

    /// What keeps requests back: whether it is unreachable, whether it is suspended.
    pub(crate) fn stops(&self) -> (bool, bool) {
        (self.is_dead(), self.is_suspended())
    }

    /// Opens and closes the breaker as far as this has changed: a breaker that has tripped since is left alone.
    pub(crate) fn steer(&self, breaker: &Breaker, (was_dead, was_suspended): (bool, bool)) {
        match (was_suspended, self.is_suspended()) {
            (false, true) => breaker.suspend(),
            (true, false) => breaker.release(),
            _ => {}
        }
        match (was_dead, self.is_dead()) {
            (false, true) => breaker.open(),
            (true, false) => breaker.close(),
            _ => {}
        }
    }

    fn is_dead(&self) -> bool {
        matches!(self.contact, Contact::Dead { .. })
    }

    fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// When the grace period of the outage ends; never, if it is longer than time.
    pub(super) fn lost_at(&self) -> Option<Instant> {
        match self.contact {
            Contact::Dead { since } => since.checked_add(self.settings.lost_after),
            _ => None,
        }
    }

    pub(super) fn pace(&self) -> Pace {
        let unsure = self.failures > 0 || (self.contact == Contact::Alive && self.refusals > 0);
        if self.is_dead() && self.successes == 0 {
            Pace::FromStart(self.settings.outage_interval)
        } else if self.is_dead() || unsure {
            Pace::FromEnd(self.settings.again)
        } else if self.is_suspended() {
            Pace::FromStart(self.settings.outage_interval)
        } else {
            Pace::FromStart(self.settings.interval)
        }
    }

    pub(crate) fn health(&self, now: Instant) -> Health {
        if let Some(since) = self.suspended {
            return Health::Suspended { since };
        }
        match self.contact {
            Contact::Sought => Health::Connecting,
            Contact::Dead { since } if self.lost_at().is_some_and(|at| at <= now) => Health::Lost { since },
            Contact::Dead { since } => Health::Unreachable { since },
            Contact::Refused { since, status } => Health::Unauthorized { since, status },
            Contact::Alive => match self.checks.iter().filter_map(Check::failed).min() {
                Some(since) => Health::Degraded { since },
                None => Health::Ready,
            },
        }
    }

    /// What is wrong, for people; also what has not failed often enough to count.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let checks = self.checks.iter().filter(|check| check.since.is_some());
        let checks = checks.map(|check| check.complaint.clone());
        self.trouble.clone().into_iter().chain(checks).collect()
    }
}
