//! What a cache says to operators: each change once, and never the content of an object.
use super::{
    failure::{Failure, Kind},
    scope::WatchScope,
    shared::Shared,
};
use crate::cluster::ObjectKey;
use std::{fmt::Display, sync::atomic::Ordering::Relaxed};
use tracing::{debug, error, info, warn};

/// What is said of a watch that fails. `again`: an operator was told of it already.
pub(super) fn say_failure(cluster: &dyn Display, scope: &WatchScope, failure: &Failure, again: bool) {
    match failure.kind {
        _ if again => debug!(%cluster, %scope, %failure, "the watch still fails"),
        Kind::Absent => info!(%cluster, %scope, "the kind is not served: asking again now and then"),
        Kind::Forbidden => {
            warn!(%cluster, %scope, %failure, "the watch is forbidden: asking again now and then");
        }
        Kind::Expired => {
            info!(%cluster, %scope, %failure, "the version of the watch is gone: listing again");
        }
        Kind::Missing | Kind::Interrupted => debug!(%cluster, %scope, %failure, "the watch cannot start"),
        Kind::Unstreamed => {
            info!(%cluster, %scope, %failure, "the list is not streamed: listing by pages");
        }
        Kind::Silent | Kind::Other => warn!(%cluster, %scope, %failure, "the watch fails: trying again"),
    }
}

pub(super) fn say_recovered(cluster: &dyn Display, scope: &WatchScope) {
    info!(%cluster, %scope, "the watch recovered");
}

impl<K> Shared<K> {
    /// Counts and tells a panic of the user's code.
    pub(super) fn say_panic(&self, what: &'static str, name: &str, key: Option<&ObjectKey>) {
        self.panics.fetch_add(1, Relaxed);
        let (cluster, kind, object) = (
            &self.cluster,
            &self.scope.resource.kind,
            key.map(ToString::to_string),
        );
        error!(%cluster, %kind, name, object, "{what}");
    }

    pub(super) fn say_failure(&self, failure: &Failure, again: bool) {
        say_failure(&self.cluster, &self.scope, failure, again);
    }

    pub(super) fn say_recovered(&self) {
        say_recovered(&self.cluster, &self.scope);
    }
}
