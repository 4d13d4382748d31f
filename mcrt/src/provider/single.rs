//! The provider of one cluster that is always there.
use super::{Change, ClusterSpec, Provider, ProviderContext};
use crate::{
    cluster::ClusterName,
    connect::{Access, Connection, Policy, Rejected},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::sync::Arc;

/// One cluster under a fixed name.
#[derive(Clone, Debug)]
pub struct Single {
    spec: ClusterSpec,
}

impl Single {
    /// The cluster that `access` reaches.
    pub fn new(name: ClusterName, access: impl Into<Access>) -> Self {
        Self {
            spec: ClusterSpec::new(name, "single", access),
        }
    }

    /// The cluster of the current context of `$KUBECONFIG` or `~/.kube/config`, as it is now, by
    /// [`Policy::own_files`].
    ///
    /// Blocks for the files.
    pub fn current_context(name: ClusterName) -> Result<Self, Rejected> {
        Self::current_context_with(name, &Policy::own_files())
    }

    /// As [`current_context`](Self::current_context), by another policy.
    pub fn current_context_with(name: ClusterName, policy: &Policy) -> Result<Self, Rejected> {
        let connection = Connection::from_default_kubeconfig_with(None, policy)?;
        Ok(Self::new(name, connection))
    }
}

impl Provider for Single {
    fn name(&self) -> &'static str {
        "single"
    }

    fn changes(self: Arc<Self>, _: ProviderContext) -> BoxStream<'static, Change> {
        let all = [Change::Upsert(self.spec.clone()), Change::Synced];
        stream::iter(all).chain(stream::pending()).boxed()
    }
}
