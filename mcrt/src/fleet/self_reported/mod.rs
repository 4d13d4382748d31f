//! What clusters say of themselves: read where the operator asks for it, believed where the operator trusts them.
mod follow;
mod said;

use super::{Cluster, Fleet, participant::Participant};
use crate::{apis::cluster_property::CLUSTER_ID, cluster::Epoch};
use follow::follow;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use tokio::task::JoinHandle;

/// Has each cluster of the fleet asked what it says of itself: its `ClusterProperty` objects (KEP-2149, in whichever of
/// its versions the cluster serves) and the version of Kubernetes that it runs, as `kubernetes-version`.
///
/// They become [properties](crate::Properties::named) of the cluster, marked
/// [`SelfReported`](crate::PropertyOrigin::SelfReported); what the host side says under the same name stands before
/// them. They select clusters only by the names that are [trusted](Self::trust): whoever rules a cluster also rules
/// what it says, and so may have it join whatever selects by these names. A cluster's name never follows from them.
///
/// It costs a watch in each cluster, and the right to list and watch `clusterproperties.about.k8s.io` there; a cluster
/// that does not serve the kind, or does not show it, says nothing.
///
/// ```
/// use mcrt::{ClusterSelector, Manager, SelfReported};
///
/// let manager = Manager::builder()
///     .self_reported(SelfReported::new().trust(["zone.example.com"]));
/// let here = ClusterSelector::new().property("zone.example.com", "a");
/// # let _ = (manager, here);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfReported {
    trusted: BTreeSet<String>,
}

impl SelfReported {
    /// Trusts no word of them.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets clusters be selected by their own word for these properties.
    ///
    /// Not for `cluster.clusterset.k8s.io`, by which a cluster would say who it is: a manager that is to trust it does
    /// not start.
    #[must_use]
    pub fn trust<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.trusted.extend(names.into_iter().map(Into::into));
        self
    }

    /// A name that cannot be trusted.
    pub(crate) fn fault(&self) -> Option<&str> {
        let bad = |name: &&String| name.is_empty() || *name == CLUSTER_ID;
        self.trusted.iter().find(bad).map(String::as_str)
    }

    pub(crate) fn trusted(&self) -> &BTreeSet<String> {
        &self.trusted
    }
}

/// Follows what each cluster says of itself, in a task of its own.
pub(crate) struct Listener {
    fleet: Fleet,
    trusted: Arc<BTreeSet<String>>,
    following: Mutex<HashMap<Epoch, JoinHandle<()>>>,
}

impl Listener {
    pub(crate) fn new(fleet: &Fleet) -> Self {
        Self {
            trusted: Arc::new(fleet.selection().trusted.clone()),
            fleet: fleet.clone(),
            following: Mutex::default(),
        }
    }
}

impl Participant for Listener {
    fn takes_part(&self, cluster: &Cluster) -> bool {
        !cluster.is_host()
    }

    fn only_looks(&self) -> bool {
        true
    }

    fn attach<'a>(&'a self, _: &'a Cluster) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    fn start<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()> {
        let task = tokio::spawn(follow(self.fleet.clone(), cluster.clone(), self.trusted.clone()));
        self.following.lock().insert(cluster.epoch(), task);
        Box::pin(std::future::ready(()))
    }

    fn detach<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()> {
        let task = self.following.lock().remove(&cluster.epoch());
        Box::pin(async move {
            if let Some(task) = task {
                task.abort();
                // Cancelled, which is what was asked for.
                let _ = task.await;
            }
        })
    }
}
