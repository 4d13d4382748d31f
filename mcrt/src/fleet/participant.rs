//! Who takes part in a cluster's life, and the steps that it passes through.
use super::{Cluster, health::Required};
use crate::cluster::ClusterName;
use futures::future::BoxFuture;
use std::sync::Arc;

/// Somebody who works on engaged clusters: a controller.
///
/// # Guarantees
/// Every participant sees every engaged cluster that it takes part in, in the order `attach`, `start`, `detach`, also
/// when it joins after the cluster did; once for each epoch, and once more each time that it takes part again. Two
/// epochs of one name never overlap, nor do two turns in one epoch.
pub(crate) trait Participant: Send + Sync + 'static {
    /// Whether it works on a cluster, as that is described now. Asked again whenever that changes: one who does no
    /// longer is detached, and attached again once it does, all within one epoch. It must not wait.
    fn takes_part(&self, cluster: &Cluster) -> bool {
        let _ = cluster;
        true
    }

    /// Whether it works on nothing: what it takes part in is not of use for that.
    fn only_looks(&self) -> bool {
        false
    }

    /// Prepares the work on a cluster: indexes and triggers, before any watch runs.
    fn attach<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()>;

    /// The cluster has been reached: starts the watches.
    fn start<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()>;

    /// Ends the work on a cluster: takes no more in, drops what waits, lets running work finish within the grace
    /// period and aborts the rest. Nothing of the epoch runs once it returns.
    fn detach<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, ()>;

    /// What the work on a cluster requires of it; without it the cluster is degraded.
    fn requires(&self, cluster: &Cluster) -> Vec<Required> {
        let _ = cluster;
        Vec::new()
    }
}

/// A step of an engagement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Step {
    /// The cluster is in the fleet; nothing is attached.
    Published,
    /// The queue has a lane for it; no index exists.
    Lane,
    /// Indexes exist; no trigger is attached.
    Indexed,
    /// Triggers are attached; no watch runs.
    Attached,
    /// The API server has answered; watches are about to start.
    Reached,
    /// Watches run; the lane waits for them.
    Started,
    /// The cluster is leaving; nothing is detached.
    Leaving,
    /// Intake has stopped; the lane still has its keys.
    IntakeStopped,
    /// The lane is gone; running reconciles drain.
    Purged,
}

/// Called at each step and awaited: how tests try every interleaving.
pub type Steps = Option<Arc<dyn Fn(Step, ClusterName) -> BoxFuture<'static, ()> + Send + Sync>>;
