//! Which replica works on which cluster, where several share them.
//!
//! ```text
//!  Leases of the host --watch--> sessions of replicas, fences of clusters
//!                                     |
//!  described clusters ----------> duties: whose is which, by rendezvous
//!                                     |  claim the fence, then assign; withdraw, then release the fence
//!                                     v
//!                                   fleet
//! ```
//! A replica writes one Lease for itself, its session, and renews it. The Lease of a cluster, its fence, names the session
//! that works on it and is written when that changes: it is valid for as long as the session.
//!
//! Nothing is worked on by two, because
//! - a fence is written only in the version that was seen, so that of two who take it one does;
//! - a replica takes it from another only if that one released it, ended, or has not been seen to renew its session for as
//!   long as it promised, which is asked for once more at that moment; and
//! - that other counts from when it *sent* what was seen last, stops before its time, and never comes back as the same
//!   session.
mod duties;
mod leases;
mod names;
mod rendezvous;
mod seen;
mod session;
mod sharded;
mod sharding;
#[cfg(test)]
mod tests;
mod view;
mod watched;
mod work;

pub(crate) use sharded::coordinate;
pub use sharding::{LostHost, Sharding};
