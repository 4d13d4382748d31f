//! Tests of the providers that are always there, and of the combinators.
mod clusters;
mod combinators;
mod dedupe;
mod filter;
mod merge;
mod model;
mod rename;
mod script;

use super::{Change, ClusterSpec, Provider, ProviderContext};
use crate::{cluster::ClusterName, connect::Access};
use futures::{StreamExt, stream::BoxStream};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::timeout;

/// Never waited for in full, in paused time nor otherwise.
const SOON: Duration = Duration::from_mins(2);

pub(in crate::provider) fn name(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

/// A cluster that nothing dials.
pub(in crate::provider) fn spec(cluster: &str, identity: &str) -> ClusterSpec {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::ready(Ok::<_, std::convert::Infallible>(http::Response::new(
            kube::client::Body::empty(),
        )))
    });
    ClusterSpec::new(name(cluster), identity, Access::service(identity, service))
}

/// As [`spec`], rejected.
pub(in crate::provider) fn rejected(cluster: &str, reason: &str) -> Change {
    Change::Rejected {
        name: name(cluster),
        reason: reason.to_owned(),
    }
}

/// A change as short text: `+name`, `-name`, `?name: reason`, `synced`, `!reason`.
pub(in crate::provider) fn shown(change: &Change) -> String {
    match change {
        Change::Upsert(spec) => format!("+{}", spec.name),
        Change::Remove(name) => format!("-{name}"),
        Change::Rejected { name, reason } => format!("?{name}: {reason}"),
        Change::Synced => "synced".into(),
        Change::Failed(reason) => format!("!{reason}"),
    }
}

/// A stream under test.
pub(in crate::provider) struct Reader {
    changes: BoxStream<'static, Change>,
    /// What a fleet would make of it: name to server.
    pub(in crate::provider) clusters: BTreeMap<String, String>,
    /// What was last said of clusters that cannot be used as they are described.
    pub(in crate::provider) rejected: BTreeMap<String, String>,
}

impl Reader {
    pub(in crate::provider) fn of(provider: &Arc<impl Provider>) -> Self {
        Self::with(provider, ProviderContext::default())
    }

    pub(in crate::provider) fn with(provider: &Arc<impl Provider>, cx: ProviderContext) -> Self {
        Self {
            changes: Arc::clone(provider).changes(cx),
            clusters: BTreeMap::new(),
            rejected: BTreeMap::new(),
        }
    }

    pub(in crate::provider) async fn next(&mut self) -> String {
        shown(&self.change().await)
    }

    /// The next change itself.
    pub(in crate::provider) async fn change(&mut self) -> Change {
        let change = timeout(SOON, self.changes.next()).await.expect("a change comes");
        let change = change.expect("the stream goes on");
        match &change {
            Change::Upsert(spec) => {
                self.rejected.remove(spec.name.as_str());
                self.clusters.insert(spec.name.to_string(), spec.access.server());
            }
            Change::Rejected { name, reason } => {
                self.rejected.insert(name.to_string(), reason.clone());
            }
            Change::Remove(name) => {
                let rejected = self.rejected.remove(name.as_str());
                let known = self.clusters.remove(name.as_str()).or(rejected);
                assert!(known.is_some(), "`{name}` is removed but was not there");
            }
            _ => {}
        }
        change
    }

    pub(in crate::provider) async fn take(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(self.next().await);
        }
        all
    }

    /// Reads on until a change is shown as this.
    pub(in crate::provider) async fn until(&mut self, wanted: &str) -> Vec<String> {
        let mut all = Vec::new();
        while all.last().map(String::as_str) != Some(wanted) {
            all.push(self.next().await);
        }
        all
    }

    /// Reads what there is to read, in paused time.
    pub(in crate::provider) async fn drain(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Ok(change) = timeout(Duration::from_millis(1), self.next()).await {
            all.push(change);
        }
        all
    }

    /// That nothing comes for a while, in paused time.
    pub(in crate::provider) async fn is_quiet(&mut self, span: Duration) -> bool {
        timeout(span, self.changes.next()).await.is_err()
    }
}
