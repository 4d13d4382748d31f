//! One watch per (kind, namespaces, selectors, form) of a cluster, its store, its indexes, its deltas to subscribers.
//!
//! ```text
//! API server --list, watch--> feed (backoff, permits) --events--> writer task --lock--> table + indexes <-- Store
//!                             one per namespace                       |
//!                                                                     +--- Delta, by reference ---> DeltaSink
//! ```
//!
//! Each cache has one writer task. It alone changes the table and it alone runs user code (index functions and
//! sinks), so that user code never meets a lock and never runs at the same time as a write.
mod backoff;
mod caches;
mod delta;
mod failure;
mod fed;
mod feed;
mod hub;
mod index;
mod kept;
mod limits;
mod observed;
mod packed;
mod postings;
mod pruned;
mod pulse;
mod report;
mod scope;
mod served;
mod settings;
mod shared;
mod source;
mod status;
mod store;
mod streaming;
mod subscribers;
mod table;
#[cfg(test)]
mod tests;
mod waits;
mod writer;

#[cfg(feature = "kcp")]
pub(crate) use backoff::Backoff;
pub use caches::{Caches, Lease};
pub use delta::{Delta, DeltaSink, Origin};
pub use hub::SharedWatch;
pub use index::{IndexRef, Keys};
pub use kept::Seen;
pub use limits::ListLimits;
pub use scope::{Cacheable, WatchScope, WatchState};
pub use settings::{CacheSettings, InitialList, ListChoice};
pub use shared::CacheStats;
pub use store::{Cache, Store};
pub use subscribers::Subscription;
