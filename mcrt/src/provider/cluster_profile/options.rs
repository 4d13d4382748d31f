//! What can be said of the provider: who is engaged when, and which profiles are one cluster.
use crate::apis::cluster_profile::{CONTROL_PLANE_HEALTHY, ClusterProfile};
use std::{fmt, str::FromStr, sync::Arc};

/// When a profile's cluster is engaged for the first time, by its condition `ControlPlaneHealthy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngageWhen {
    /// When it is True; not while it is Unknown or absent. The default, as for the provider of multicluster-runtime.
    #[default]
    Healthy,
    /// Unless it is False: for managers that do not set it.
    NotUnhealthy,
    /// Whatever it is: mcrt probes each cluster itself.
    Always,
}

/// Which profiles are of one cluster, so that one of them stands for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameCluster {
    /// Those of one manager with one display name: Open Cluster Management makes a profile in each namespace that a
    /// cluster set is bound to. A profile without a display name is a cluster of its own.
    DisplayName,
    /// Those with one cluster id, the property `cluster.clusterset.k8s.io`, whoever their manager is. The id is what a
    /// member says of itself: one that takes the id of another can hide it. A profile without an id is a cluster of its
    /// own.
    ClusterId,
}

/// How the deprecated Secrets are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretLayout {
    /// As multicluster-runtime looks for them: in the namespace of the profile, with both labels on the Secret,
    /// `x-k8s.io/cluster-inventory-consumer=<consumer>` and `x-k8s.io/cluster-profile=<name>`.
    #[default]
    Labels,
    /// As KEP-4322 says: in any namespace with the label `x-k8s.io/cluster-inventory-consumer=<consumer>`; the Secret has
    /// the labels `x-k8s.io/cluster-profile=<name>` and `x-k8s.io/cluster-profile-namespace=<namespace>`, which without the
    /// latter is `default`.
    Namespaces,
    /// Either.
    Both,
}

/// Whether a profile's cluster may be engaged.
#[derive(Clone)]
pub(super) enum Engage {
    When(EngageWhen),
    If(Arc<dyn Fn(&ClusterProfile) -> bool + Send + Sync>),
}

impl Engage {
    /// Nothing, or why not.
    pub(super) fn refuses(&self, profile: &ClusterProfile) -> Option<String> {
        let condition = profile.condition(CONTROL_PLANE_HEALTHY);
        let status = condition.map(|condition| &*condition.status);
        let ready = match self {
            Self::When(EngageWhen::Always) => true,
            Self::When(EngageWhen::NotUnhealthy) => status != Some("False"),
            Self::When(EngageWhen::Healthy) => status == Some("True"),
            Self::If(ready) => ready(profile),
        };
        if ready {
            return None;
        }
        Some(match (self, condition) {
            (Self::If(_), _) => "not ready, by what the program asks of profiles".to_owned(),
            (_, None) => format!("not ready: it has no condition {CONTROL_PLANE_HEALTHY}"),
            (_, Some(condition)) => format!(
                "not ready: its condition {CONTROL_PLANE_HEALTHY} is {} ({})",
                condition.status, condition.reason
            ),
        })
    }
}

impl fmt::Debug for Engage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::When(when) => when.fmt(f),
            Self::If(_) => f.write_str("If"),
        }
    }
}

/// A text that is none of the values of an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not one of {known}")]
pub struct UnknownOption {
    known: &'static str,
}

macro_rules! spelled {
    ($type:ident, $known:literal: $($text:literal => $value:ident,)*) => {
        impl FromStr for $type {
            type Err = UnknownOption;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok(Self::$value),)*
                    _ => Err(UnknownOption { known: $known }),
                }
            }
        }
    };
}

spelled!(EngageWhen, "healthy, not-unhealthy, always":
    "healthy" => Healthy, "not-unhealthy" => NotUnhealthy, "always" => Always,);
spelled!(SameCluster, "display-name, cluster-id":
    "display-name" => DisplayName, "cluster-id" => ClusterId,);
spelled!(SecretLayout, "labels, namespaces, both":
    "labels" => Labels, "namespaces" => Namespaces, "both" => Both,);
