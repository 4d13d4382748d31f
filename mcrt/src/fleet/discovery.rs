//! Follows a provider: what it names is engaged, what it no longer names is disengaged.
use super::Fleet;
use crate::{
    cluster::ClusterName,
    provider::{Change, Provider},
};
use futures::{FutureExt, StreamExt};
use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const RESTART_INITIAL: Duration = Duration::from_secs(1);
const RESTART_MAX: Duration = Duration::from_secs(30);

/// Follows `provider` until `stop`. A stream that ends keeps its clusters and is started again; what it then does
/// not name before `Synced` is disengaged.
pub(crate) async fn discover(fleet: Fleet, provider: Arc<dyn Provider>, stop: CancellationToken) {
    let mut known = HashSet::new();
    let mut delay = RESTART_INITIAL;
    loop {
        // A provider is the author's code: a panic ends its stream, not the fleet.
        let followed = AssertUnwindSafe(follow(&fleet, &provider, &mut known)).catch_unwind();
        let how = tokio::select! {
            () = stop.cancelled() => return,
            followed = followed => match followed {
                Ok(synced) => {
                    if synced {
                        delay = RESTART_INITIAL;
                    }
                    "ended"
                }
                Err(_) => "panicked",
            },
        };
        tracing::warn!(provider = provider.name(), retry_in = ?delay, "the provider's stream {how}; clusters are kept");
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(delay) => {}
        }
        delay = (delay * 2).min(RESTART_MAX);
    }
}

/// Follows one stream to its end; true if it ever told the whole set.
async fn follow(fleet: &Fleet, provider: &Arc<dyn Provider>, known: &mut HashSet<ClusterName>) -> bool {
    let mut changes = provider.clone().changes();
    let mut named = HashSet::new();
    let mut synced = false;
    while let Some(change) = changes.next().await {
        match change {
            Change::Upsert(spec) => {
                named.insert(spec.name.clone());
                known.insert(spec.name.clone());
                fleet.upsert(spec);
            }
            Change::Remove(name) => {
                named.remove(&name);
                known.remove(&name);
                fleet.remove(&name);
            }
            Change::Synced => {
                for name in known.extract_if(|name| !named.contains(name)) {
                    fleet.remove(&name);
                }
                synced = true;
                fleet.set_synced();
            }
            Change::Failed(reason) => tracing::warn!(provider = provider.name(), "{reason}"),
        }
    }
    synced
}
