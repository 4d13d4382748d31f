//! Clusters of the kind tool, by its command line and that of the container engine behind it.
mod engine;
mod follow;
mod listing;
mod programs;
#[cfg(test)]
mod tests;

use super::{Change, Provider, ProviderContext};
use crate::connect::Policy;
use follow::Follow;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{ffi::OsString, sync::Arc, time::Duration};

/// Every kind cluster of this machine is a cluster.
///
/// What exists is asked of the container engine, by the labels that kind puts on its containers: what
/// `kind get clusters` does, with the number and the state of each container besides. The kubeconfig of each cluster is
/// asked of `kind get kubeconfig`. A cluster is named as kind names it, after the [prefix](Self::prefix), and carries
/// that name in the label `io.x-k8s.kind.cluster`.
///
/// The engine is the one of `KIND_EXPERIMENTAL_PROVIDER`, else the first of `docker`, `nerdctl`, `finch` and `podman`
/// that answers, as kind has it.
///
/// # Guarantees
/// - The engine is asked at once and then every 2 s, kind when a container has changed, when it failed the last time,
///   and once a minute. Each command has a deadline, and its process group is killed when the stream is dropped.
/// - A cluster whose containers were made anew under its name is another cluster, also if both happened between two
///   looks: the number of its first control-plane container tells.
/// - A cluster that is being created, is stopped, or gives no usable kubeconfig is [rejected](Change::Rejected) with the
///   reason, alone: if it was in the fleet before, it stays there as it was described last, and the fleet finds out that
///   it does not answer. It is asked again at each look.
/// - An engine that does not answer leaves everything as it was, which is said once by [`Change::Failed`].
///
/// # Assumptions
/// kubeconfigs of kind hold nothing but inline data for a server on this machine: they are read by [`Policy::strict`]
/// with [local servers](Policy::allow_local_servers) allowed. [`Kind::policy`] sets another policy.
#[derive(Clone, Debug)]
pub struct Kind {
    settings: Settings,
}

#[derive(Clone, Debug)]
struct Settings {
    program: OsString,
    engine: Option<OsString>,
    search_path: Option<OsString>,
    internal: bool,
    prefix: String,
    interval: Duration,
    /// Between two questions for the kubeconfig of a cluster in which nothing has changed.
    refresh: Duration,
    deadline: Duration,
    policy: Policy,
}

impl Kind {
    /// The kind clusters of this machine.
    pub fn new() -> Self {
        Self {
            settings: Settings {
                program: "kind".into(),
                engine: None,
                search_path: None,
                internal: false,
                prefix: String::new(),
                interval: Duration::from_secs(2),
                refresh: Duration::from_mins(1),
                deadline: Duration::from_secs(10),
                policy: Policy::strict().allow_local_servers(),
            },
        }
    }

    /// Goes before the name of each cluster, separator included: `kind/` makes `dev` into `kind/dev`. Nothing by default.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.settings.prefix = prefix.into();
        self
    }

    /// The container engine: `docker`, `podman`, `nerdctl`, `finch` or `nerdctl.lima`, or the path of one that is called
    /// so. It beats `KIND_EXPERIMENTAL_PROVIDER`, and kind is told of it.
    #[must_use]
    pub fn engine(mut self, engine: impl Into<OsString>) -> Self {
        self.settings.engine = Some(engine.into());
        self
    }

    /// Addresses for programs that run in a container on kind's own network, as by `kind get kubeconfig --internal`.
    #[must_use]
    pub fn internal(mut self, internal: bool) -> Self {
        self.settings.internal = internal;
        self
    }

    /// The kind program: a name to look up, or a path. `kind` by default.
    #[must_use]
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.settings.program = program.into();
        self
    }

    /// Where programs are looked up, for kind and the engine too, in place of this process' own `PATH`.
    #[must_use]
    pub fn search_path(mut self, path: impl Into<OsString>) -> Self {
        self.settings.search_path = Some(path.into());
        self
    }

    /// Between two looks; 2 s by default, a tenth of a second at least.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.settings.interval = interval.max(Duration::from_millis(100));
        self
    }

    /// How long each command may take; 10 s by default.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = deadline;
        self
    }

    /// What the kubeconfigs may ask for.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.settings.policy = policy;
        self
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self::new()
    }
}

impl Provider for Kind {
    fn name(&self) -> &'static str {
        "kind"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        let follow = Follow::new(Arc::new(self.settings.clone()));
        stream::unfold(follow, async |mut follow| {
            let change = follow.next().await;
            Some((change, follow))
        })
        .boxed()
    }
}
