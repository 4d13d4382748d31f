//! Why a program cannot start.
use crate::{
    cluster::InvalidSelector,
    connect::{ConnectError, Rejected},
    controller::BuildError,
};

/// Why a program cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Nothing says where clusters come from.
    #[error(
        "no provider: enable a provider feature such as `sim` or `file`, write `provider = ...`, or call \
         `Manager::builder().provider(...)`"
    )]
    NoProvider,
    /// The provider asked for is not part of this program.
    #[error("there is no provider `{name}` in this program: it has {available}")]
    UnknownProvider {
        /// What was asked for.
        name: String,
        /// What there is.
        available: String,
    },
    /// Several provider features are on and none was chosen.
    #[error(
        "this program has several providers ({available}): choose with `--provider NAME`, or several of them with \
         `--provider NAME,NAME`"
    )]
    AmbiguousProvider {
        /// What there is.
        available: String,
    },
    /// `--provider` names a provider twice.
    #[error(
        "`--provider` names `{name}` twice: its own flags are said once, so it is there once; merge others in code"
    )]
    RepeatedProvider {
        /// The provider.
        name: String,
    },
    /// A controller needs the host and none can be reached.
    #[error(
        "controller `{controller}` needs the host, but there is none: say `--host in-cluster` or \
         `--host context:NAME`, or call `Manager::builder().host(...)`"
    )]
    NoHost {
        /// The controller.
        controller: String,
    },
    /// The provider reads the host and there is none.
    #[error(
        "provider `{provider}` reads its clusters from the host, but there is none: say `--host in-cluster` or \
         `--host context:NAME`, or call `Manager::builder().host(...)`"
    )]
    NoHostToRead {
        /// The provider.
        provider: String,
    },
    /// Replicas are to share the clusters, and there is no host to keep their Leases.
    #[error(
        "the replicas of `{group}` share the clusters through Leases on the host, but there is none: say \
         `--host in-cluster` or `--host context:NAME`, or call `Manager::builder().host(...)`"
    )]
    NoHostToShare {
        /// The group.
        group: String,
    },
    /// Replicas are to share the clusters in a way that cannot be.
    #[error("the clusters cannot be shared: {0}")]
    Sharding(String),
    /// The host that was asked for cannot be reached.
    #[error(
        "the host cannot be used: {0}; `--host in-cluster`, `--host context:NAME` and `--host none` choose another"
    )]
    Host(#[source] Rejected),
    /// No client can be built from the description of the host.
    #[error("cannot build a client for the host: {0}")]
    Connect(#[source] ConnectError),
    /// `--host` is none of its forms.
    #[error("`{0}` is no host: write `in-cluster`, `context:NAME` or `none`")]
    InvalidHost(String),
    /// A controller's declarations contradict each other.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The selector of the fleet's clusters cannot be read.
    #[error("the clusters of the fleet: {0}")]
    Clusters(#[source] InvalidSelector),
    /// A property is to be trusted that no cluster can be trusted with.
    #[error(
        "the property `{name}` cannot be trusted: what a cluster says of its own identity never counts, only the host side \
         can say that, and an empty name names nothing; trust properties that say something else"
    )]
    SelfReported {
        /// The property.
        name: String,
    },
    /// Two controllers share a name.
    #[error("two controllers are called `{name}`: give one of them another with `name = \"...\"`")]
    DuplicateController {
        /// The name.
        name: String,
    },
    /// The manager is stopping, or has stopped.
    #[error("controller `{controller}` was added too late: the manager is stopping; start another manager")]
    Stopping {
        /// The controller.
        controller: String,
    },
    /// A provider cannot be set up.
    #[error("provider `{name}` cannot be set up: {reason}")]
    Provider {
        /// The provider.
        name: String,
        /// Why.
        reason: String,
    },
}
