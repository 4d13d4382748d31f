//! What a Lease says, whoever wrote it.
use super::names;
use crate::cluster::ClusterName;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use std::time::Duration;
use tokio::time::Instant;

/// The Lease of a replica.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SessionLease {
    /// The name of the object.
    pub(super) lease: String,
    pub(super) id: String,
    /// It has ended in order: nothing of it runs.
    pub(super) ended: bool,
    pub(super) weight: u32,
    pub(super) duration: Duration,
    pub(super) version: String,
}

/// The Lease of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FenceLease {
    pub(super) cluster: ClusterName,
    /// The session that works on it; none if nobody does.
    pub(super) holder: Option<String>,
    pub(super) transitions: i32,
    pub(super) duration: Duration,
    pub(super) version: String,
    /// When it was seen to be gone, although it named a session: that one may be at work, and write it again.
    pub(super) vanished: Option<Instant>,
}

impl FenceLease {
    /// When whoever held it has had the time to find out that it is gone.
    pub(super) fn gone_at(&self) -> Option<Instant> {
        self.vanished.map(|at| at + self.duration)
    }

    /// Whether it is there, as far as is seen, and names this session.
    pub(super) fn is_of(&self, session: &str) -> bool {
        self.vanished.is_none() && self.holder.as_deref() == Some(session)
    }

    pub(super) fn is_gone(&self, now: Instant) -> bool {
        self.gone_at().is_some_and(|at| now >= at)
    }
}

/// One of either kind; none if it is neither, whatever its labels promise.
pub(super) enum Seen {
    Session(SessionLease),
    Fence(FenceLease),
}

/// How long a session is waited for that does not say.
const UNSAID: Duration = Duration::from_mins(1);

pub(super) fn read(lease: &Lease) -> Option<Seen> {
    let meta = &lease.metadata;
    let label = |name: &str| meta.labels.as_ref()?.get(name).map(String::as_str);
    let note = |name: &str| meta.annotations.as_ref()?.get(name).map(String::as_str);
    let spec = lease.spec.clone().unwrap_or_default();
    let holder = spec
        .holder_identity
        .as_deref()
        .filter(|holder| !holder.is_empty());
    let version = meta.resource_version.clone().unwrap_or_default();
    match label(names::LEASE)? {
        names::SESSION => Some(Seen::Session(SessionLease {
            lease: meta.name.clone()?,
            id: holder.or_else(|| note(names::REPLICA))?.to_owned(),
            ended: holder.is_none(),
            weight: note(names::WEIGHT)
                .and_then(|weight| weight.parse().ok())
                .filter(|weight| *weight > 0)
                .unwrap_or(1),
            duration: duration(&spec),
            version,
        })),
        names::FENCE => {
            let cluster = match note(names::CLUSTER) {
                Some(name) => ClusterName::new(name).ok()?,
                None if note(names::HOST) == Some("true") => ClusterName::host(),
                None => return None,
            };
            Some(Seen::Fence(FenceLease {
                cluster,
                holder: holder.map(str::to_owned),
                transitions: spec.lease_transitions.unwrap_or_default(),
                duration: duration(&spec),
                version,
                vanished: None,
            }))
        }
        _ => None,
    }
}

fn duration(spec: &LeaseSpec) -> Duration {
    let seconds = spec
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok());
    seconds
        .filter(|seconds| *seconds > 0)
        .map_or(UNSAID, Duration::from_secs)
}
