//! What subscribers of a cache are told.
use super::kept::Seen;
use std::fmt;

/// One change of a cache, lent to each subscriber in turn.
pub enum Delta<'a, K> {
    /// An object that the cache did not hold.
    Added(&'a Seen<K>),
    /// An object that the cache held in another resource version. It may be another object of the same name: the
    /// UIDs tell.
    Updated {
        /// What the cache held.
        old: &'a Seen<K>,
        /// What it holds now.
        new: &'a Seen<K>,
    },
    /// An object that is gone, or that its selector left behind: as the cache held it last.
    Deleted(&'a Seen<K>),
    /// The cache holds everything that the server listed. Sent each time that becomes true.
    Synced,
    /// A list that was not the first is complete: what it changed was told before. What came and went since the watch
    /// before it was seen by nobody.
    Relisted,
}

impl<K> Clone for Delta<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Delta<'_, K> {}

impl<K> Delta<'_, K> {
    /// The object that changed, as it is now or was last; none for `Synced` and `Relisted`.
    pub fn object(&self) -> Option<&Seen<K>> {
        match self {
            Self::Added(object) | Self::Updated { new: object, .. } | Self::Deleted(object) => Some(object),
            Self::Synced | Self::Relisted => None,
        }
    }

    /// The word for logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Added(_) => "added",
            Self::Updated { .. } => "updated",
            Self::Deleted(_) => "deleted",
            Self::Synced => "synced",
            Self::Relisted => "relisted",
        }
    }
}

/// Says what happened and never prints an object.
impl<K> fmt::Debug for Delta<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a cache learned of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From a list: the first one, one after a disconnect, or the replay for a late subscriber.
    List,
    /// From an event, as it happened.
    Watch,
}

/// Whoever is told of the changes of a cache.
///
/// # Guarantees
/// Calls come one at a time, in the order of the changes, from the writer task of the cache; the store already
/// shows the change. What exists at the time of the subscription comes first, as `Added`.
///
/// # Assumptions
/// A sink returns at once: it maps and enqueues. While it runs, its cache stands still. A sink that panics loses
/// that delta and no other; the panic is logged with the object's key and counted.
pub trait DeltaSink<K>: Send + Sync {
    /// Takes one change.
    fn on_delta(&self, delta: Delta<'_, K>, origin: Origin);
}
