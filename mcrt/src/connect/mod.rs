//! From a description of how to reach an API server to a client whose every wait has a deadline.
//!
//! ```text
//! kubeconfig --vet--> Connection --\
//!                                   Access --connect(limits, life)--> kube::Client
//! tower service ------------------/
//!
//! Client -> guard (life) -> breaker -> retries, budget, deadlines -> who we are -> connections -> TLS -> TCP
//! ```
//! A kubeconfig is read by allow-list and by the operator's [`Policy`]: what is not obeyed is refused by name. Whatever a client
//! spawns belongs to the [`Life`] it was made for, so ending that life closes every socket, half-open ones too.
mod access;
mod authorize;
mod breaker;
mod certificate;
mod connection;
mod credentials;
mod error;
mod guard;
mod kubeconfig;
mod life;
mod policy;
mod probe;
mod service;
mod settings;
mod shared;
#[cfg(test)]
mod tests;
mod transport;
mod validity;
mod vetting;

pub use access::{Access, Transport};
pub(crate) use breaker::Limited;
pub use breaker::{Breaker, Circuit};
pub use connection::Connection;
pub use credentials::Plugins;
pub use error::{ConnectError, Deadline, Rejected};
pub use life::Life;
pub use policy::Policy;
pub(crate) use probe::ask;
pub use probe::{Answered, probe};
pub use service::ServiceAccess;
pub use settings::{
    BreakerSettings, CredentialSettings, Http2Settings, Limits, RequestBudget, RetrySettings,
    TransportSettings,
};
pub(crate) use shared::{Base, Division};
pub use shared::{Member, SharedServer};
pub(crate) use transport::{Housekeeping, Once};
pub(crate) use validity::Validity;

#[cfg(feature = "fuzzing")]
pub(crate) use vetting::vetting_holds;

#[cfg(any(feature = "file", feature = "cluster-profile"))]
pub(crate) use kubeconfig::read_text;
#[cfg(feature = "command")]
pub(crate) use kubeconfig::{CLUSTER, USER};
#[cfg(feature = "file")]
pub(crate) use kubeconfig::{default_paths, merge, parse};
