//! What a cache says to operators: each change once, and never the content of an object.
use super::{
    failure::{Failure, Kind},
    shared::Shared,
};
use crate::cluster::ObjectKey;
use std::sync::atomic::Ordering::Relaxed;
use tracing::{debug, error, info, warn};

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
        let (cluster, scope) = (&self.cluster, &self.scope);
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

    pub(super) fn say_recovered(&self) {
        let (cluster, scope) = (&self.cluster, &self.scope);
        info!(%cluster, %scope, "the watch recovered");
    }
}
