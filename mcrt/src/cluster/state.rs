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

/// How an engaged cluster fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Engaged, not reached yet.
    Connecting,
    /// Its API server answers.
    Ready,
    /// Its API server was reached before and is not now, or could not be reached at all.
    Unreachable {
        /// When it was found unreachable.
        since: Instant,
    },
}

impl Health {
    /// Whether the API server answers.
    pub fn is_ready(self) -> bool {
        self == Self::Ready
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Ready => f.write_str("ready"),
            Self::Unreachable { since } => write!(f, "unreachable for {}s", since.elapsed().as_secs()),
        }
    }
}

/// What the provider says of a cluster besides how to reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// Key and value pairs for selection.
    pub labels: BTreeMap<String, String>,
}
