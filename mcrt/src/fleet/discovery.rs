//! Follows a provider: what it names is engaged, what it no longer names is disengaged.
use super::Fleet;
use crate::{
    cluster::ClusterName,
    provider::{Change, ClusterSpec, Event, Provider, ProviderContext, restarting},
};
use futures::StreamExt;
use std::{collections::HashSet, sync::Arc};
use tokio_util::sync::CancellationToken;

/// Follows `provider` until `stop`. A stream that ends keeps its clusters and is started again; what it then does
/// not name before `Synced` is disengaged.
pub(crate) async fn discover(
    fleet: Fleet,
    provider: Arc<dyn Provider>,
    cx: ProviderContext,
    stop: CancellationToken,
) {
    let mut events = restarting(provider.clone(), cx);
    let mut discovery = Discovery {
        fleet,
        provider,
        known: HashSet::new(),
        named: HashSet::new(),
    };
    while let Some(Some(event)) = stop.run_until_cancelled(events.next()).await {
        discovery.take(event);
    }
}

struct Discovery {
    fleet: Fleet,
    provider: Arc<dyn Provider>,
    /// What is engaged, rejected or left out because the provider named it.
    known: HashSet<ClusterName>,
    /// What the running stream has named.
    named: HashSet<ClusterName>,
}

impl Discovery {
    fn take(&mut self, event: Event) {
        let provider = self.provider.name();
        match event {
            Event::Started => self.named.clear(),
            Event::Ended(how) => {
                tracing::warn!(
                    provider,
                    "the provider's stream {how}; clusters are kept, it is started again"
                );
            }
            Event::Said(Change::Upsert(spec)) => self.upsert(spec),
            Event::Said(Change::Remove(name)) => self.remove(&name),
            Event::Said(Change::Rejected { name, reason }) => self.reject(name, &reason),
            Event::Said(Change::Synced) => self.synced(),
            Event::Said(Change::Failed(reason)) => tracing::warn!(provider, "{reason}"),
        }
    }

    fn upsert(&mut self, spec: ClusterSpec) {
        let name = spec.name.clone();
        if self.refuses(&name) {
            return;
        }
        self.named.insert(name.clone());
        self.known.insert(name.clone());
        if !self.fleet.admits(&spec) {
            self.fleet.leave_out(&name);
            return;
        }
        self.fleet.admit(&name);
        match self.fleet.upsert(spec) {
            Ok(()) => self.fleet.accept(&name),
            Err(error) => self.fleet.reject_unusable(&name, &error),
        }
    }

    fn reject(&mut self, name: ClusterName, reason: &str) {
        if !self.refuses(&name) {
            if self.fleet.may_admit(&name) {
                self.fleet.reject(&name, reason);
            }
            self.named.insert(name.clone());
            self.known.insert(name);
        }
    }

    fn remove(&mut self, name: &ClusterName) {
        if !self.refuses(name) {
            self.named.remove(name);
            self.known.remove(name);
            self.fleet.remove(name);
        }
    }

    fn synced(&mut self) {
        for name in self.known.extract_if(|name| !self.named.contains(name)) {
            self.fleet.remove(&name);
        }
        self.fleet.set_synced();
    }

    /// The host is no provider's to give or to take: controllers were promised the one that the program named.
    fn refuses(&self, name: &ClusterName) -> bool {
        if name.is_host() {
            tracing::warn!(
                provider = self.provider.name(),
                "the provider speaks of the host: ignored, the host is set with `ManagerBuilder::host`",
            );
        }
        name.is_host()
    }
}
