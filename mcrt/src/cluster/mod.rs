//! What a cluster is called, which life of it is meant, and how it fares: plain values, no I/O.
mod name;
mod object;
mod selector;
mod state;

pub use name::{ClusterName, InvalidClusterName};
pub use object::ObjectKey;
pub use selector::{ClusterSelector, InvalidSelector};
pub use state::{Epoch, Health, Properties, Property, PropertyOrigin};
