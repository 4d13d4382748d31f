//! Which replica works on which cluster, where several share them.
//!
//! ```text
//!  Leases of the host --watch--> sessions of replicas, fences of clusters
//!                                     |
//!  described clusters ----------> duties: whose is which, by rendezvous
//!                                     |  acquire the fence, then assign; withdraw, then release the fence
//!                                     v
//!                                   fleet
//! ```
mod sharding;

pub use sharding::{LostHost, Sharding};
