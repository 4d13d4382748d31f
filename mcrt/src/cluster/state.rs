//! One life of a cluster, its health and its properties.
use std::{
    collections::BTreeMap,
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};
use tokio::time::Instant;

/// One life of one cluster: a name that returns gets another epoch.
///
/// Whatever ends asynchronously compares epochs before it removes or delivers anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(u64);

impl Epoch {
    /// An epoch that this process has not used before.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// How a cluster fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Not in the fleet: no provider names it.
    NotFound,
    /// Engaged, not reached yet.
    Connecting,
    /// Its API server answers, and all that is required of the cluster is there.
    Ready,
    /// Its API server answers, but a check says that the cluster should take no new work. What works there goes on.
    Degraded {
        /// When the first check failed.
        since: Instant,
    },
    /// Its API server cannot be reached: nothing is sent to it but probes.
    Unreachable {
        /// When it was found unreachable.
        since: Instant,
    },
    /// Its API server does not accept who comes (401), or refuses even what everybody may ask (403).
    Unauthorized {
        /// When it refused first.
        since: Instant,
        /// 401 or 403.
        status: u16,
    },
    /// It has been unreachable for longer than the grace period: others may take its work over.
    Lost {
        /// When it was found unreachable.
        since: Instant,
    },
    /// Suspended by hand: nothing works there until it is resumed.
    Suspended {
        /// When it was suspended.
        since: Instant,
    },
}

impl Health {
    /// Whether the API server answers and all is well.
    pub fn is_ready(self) -> bool {
        self == Self::Ready
    }

    /// Whether reconciles of the cluster run: it is reached and accepts who comes.
    pub fn takes_requests(self) -> bool {
        match self {
            Self::Ready | Self::Degraded { .. } => true,
            Self::Unauthorized { status, .. } => status == 403,
            _ => false,
        }
    }

    /// Since when it is not well.
    pub fn since(self) -> Option<Instant> {
        match self {
            Self::Degraded { since }
            | Self::Unreachable { since }
            | Self::Unauthorized { since, .. }
            | Self::Lost { since }
            | Self::Suspended { since } => Some(since),
            Self::NotFound | Self::Connecting | Self::Ready => None,
        }
    }

    /// The word for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not found",
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Degraded { .. } => "degraded",
            Self::Unreachable { .. } => "unreachable",
            Self::Unauthorized { .. } => "unauthorized",
            Self::Lost { .. } => "lost",
            Self::Suspended { .. } => "suspended",
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())?;
        match self.since() {
            Some(since) => write!(f, " for {}s", since.elapsed().as_secs()),
            None => Ok(()),
        }
    }
}

/// What the provider says of a cluster besides how to reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// Key and value pairs for selection, all from the host side.
    pub labels: BTreeMap<String, String>,
    /// Named properties of the cluster, each with where it comes from.
    pub named: BTreeMap<String, Property>,
}

/// One property of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its value.
    pub value: String,
    /// Who says so.
    pub origin: PropertyOrigin,
}

/// Who says a property of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PropertyOrigin {
    /// The provider's own object.
    Provider,
    /// An inventory of the host side, such as the status of a `ClusterProfile`. Whoever keeps it is believed; many copy
    /// into it what a cluster says of itself, so select by such a property only where its keeper does not, or where
    /// the clusters may choose.
    Inventory,
    /// The cluster itself: never identity, and no ground for selection unless the operator trusts it.
    SelfReported,
}
