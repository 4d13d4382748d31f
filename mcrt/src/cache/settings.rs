//! What the caches of a cluster go by.
use crate::{
    cluster::{ClusterName, Properties},
    panic::panic_text,
};
use std::{
    fmt,
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

/// What all caches of a cluster go by.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheSettings {
    /// Between attempts to watch a kind that is forbidden, a fifth more or less (30 s).
    pub retry_after: Duration,
    /// A kind that is not served is looked for at most this far apart: one request for each group and version that
    /// is missed in a cluster, however many watches wait for it (30 s).
    pub discovery_interval: Duration,
    /// A list that takes longer gives its permit of the fleet back (10 s).
    pub list_overdue_after: Duration,
    /// Objects in a page of a list (500).
    pub page_size: u32,
    /// How long the server is asked to keep a watch open before it is renewed; each watch has a time of its own in
    /// this range, in whole seconds (60 s to 120 s). A connection that died in silence is noticed 5 s after it.
    pub watch_timeout: RangeInclusive<Duration>,
    /// How a watch learns what exists ([`InitialList::Paged`]).
    pub initial_list: InitialList,
    /// Decides that for one cluster; asked once in each life of it.
    pub initial_list_by: Option<ListChoice>,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            retry_after: Duration::from_secs(30),
            discovery_interval: Duration::from_secs(30),
            list_overdue_after: Duration::from_secs(10),
            page_size: 500,
            watch_timeout: Duration::from_mins(1)..=Duration::from_mins(2),
            initial_list: InitialList::Paged,
            initial_list_by: None,
        }
    }
}

impl CacheSettings {
    /// The settings for one cluster.
    pub(crate) fn of(&self, cluster: &ClusterName, properties: &Properties) -> Self {
        let mut settings = self.clone();
        if let Some(ListChoice(choose)) = settings.initial_list_by.take() {
            let chosen = catch_unwind(AssertUnwindSafe(|| choose(cluster, properties)));
            settings.initial_list = chosen.unwrap_or_else(|panic| {
                let panic = panic_text(&*panic);
                tracing::error!(%cluster, panic, "the choice of how to list panicked");
                settings.initial_list
            });
        }
        settings
    }
}

/// How a watch learns what exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InitialList {
    /// A list, page by page, and a watch from its version on. Every server knows it, and it was measured to be the
    /// faster one here.
    Paged,
    /// A watch that begins with what exists (`sendInitialEvents`), from Kubernetes 1.32 on. A cluster that refuses it
    /// or never marks the end is listed by pages for the rest of its life.
    Streaming,
}

type Choose = dyn Fn(&ClusterName, &Properties) -> InitialList + Send + Sync;

/// A function that decides how a cluster is listed.
#[derive(Clone)]
pub struct ListChoice(Arc<Choose>);

impl ListChoice {
    /// Decides by the name of the cluster and what the host side says of it. If it panics, the settings decide.
    pub fn new(choose: impl Fn(&ClusterName, &Properties) -> InitialList + Send + Sync + 'static) -> Self {
        Self(Arc::new(choose))
    }
}

impl fmt::Debug for ListChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ListChoice")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_that_panics_leaves_it_to_the_settings() {
        let settings = CacheSettings {
            initial_list_by: Some(ListChoice::new(|_, _| panic!("no idea"))),
            ..CacheSettings::default()
        };
        let cluster = ClusterName::new("a").unwrap();
        let chosen = settings.of(&cluster, &Properties::default());
        assert_eq!(chosen.initial_list, InitialList::Paged);
    }
}
