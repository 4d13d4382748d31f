//! How a controller runs.
use crate::{cluster::ClusterSelector, queue::Backoff};
use std::time::Duration;

/// What the builder sets, with what holds where it sets nothing.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) concurrency: u32,
    pub(crate) per_cluster: Option<u32>,
    pub(crate) resync: Option<Duration>,
    pub(crate) timeout: Duration,
    pub(crate) field_manager: Option<String>,
    pub(crate) backoff: Backoff,
    /// In which clusters of the fleet it works.
    pub(crate) clusters: ClusterSelector,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            concurrency: 256,
            per_cluster: None,
            resync: None,
            timeout: Duration::from_mins(5),
            field_manager: None,
            backoff: Backoff::default(),
            clusters: ClusterSelector::new(),
        }
    }
}
