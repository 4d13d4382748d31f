//! A second replica beside the fleet of a check.
use super::{Adapter, bed::Stage, seen::Seen};
use crate::{Manager, ManagerHandle, Sharding, connect::Access};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Another program with the same provider.
pub(super) struct Second {
    manager: ManagerHandle,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Second {
    /// The names of the clusters that it works on, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let clusters = self.manager.fleet().clusters();
        clusters
            .iter()
            .map(|cluster| cluster.name().to_string())
            .collect()
    }

    /// Ends it in order.
    pub(super) async fn leave(self) {
        self.stop.cancel();
        if let Err(panic) = self.task.await {
            panic!("the second manager panicked: {panic}");
        }
    }
}

impl<A: Adapter> Stage<A> {
    /// How replicas share, and as whom they reach the host: with the rights of the provider and of a replica.
    pub(super) async fn sharing(&self) -> (Access, Sharding) {
        let roles = include_str!("../../coordinator/rbac.yaml");
        let sharding = Sharding::new(self.site.id());
        match self.adapter.host() {
            // A host of the adapter's own: nobody had to be given rights there.
            Some(host) if !self.site.allow_too(roles).await => (host, sharding),
            Some(host) => (host, sharding.namespace(self.site.namespace().await)),
            None => {
                let namespace = self.site.namespace().await;
                (
                    self.site.host_as(roles, &namespace).await,
                    sharding.namespace(namespace),
                )
            }
        }
    }

    pub(super) fn second(&self, host: Access, sharding: Sharding, seen: &Seen) -> Second {
        let manager = Manager::builder()
            .shared_provider(self.adapter.provider())
            .host(host)
            // So heavy that there is something to hand over.
            .sharded(sharding.replica("second").weight(10_000))
            .controller(seen.of_replica("second").controller("seen", self.site.id()));
        let manager = match manager.build() {
            Ok(manager) => manager,
            Err(error) => panic!("the second manager cannot be built: {error}"),
        };
        let (handle, stop) = (manager.handle(), CancellationToken::new());
        let task = tokio::spawn(manager.run(stop.clone().cancelled_owned()));
        Second {
            manager: handle,
            stop,
            task,
        }
    }
}
