//! A provider's stream, read as a fleet reads it.
use super::{Adapter, bed::Stage};
use crate::{
    ClusterName,
    provider::{Change, ClusterSpec},
    testing::eventually,
};
use futures::{StreamExt, stream::BoxStream};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::timeout;

/// One stream, and what it has said.
pub(super) struct Reader {
    changes: BoxStream<'static, Change>,
    limit: Duration,
    /// The clusters, as they were described last.
    pub(super) clusters: BTreeMap<ClusterName, ClusterSpec>,
    /// What cannot be used, and what could not be read.
    pub(super) complaints: Vec<String>,
    pub(super) removed: Vec<ClusterName>,
    pub(super) is_synced: bool,
}

impl Reader {
    pub(super) fn of<A: Adapter>(stage: &Stage<A>) -> Self {
        Self {
            changes: stage.adapter.provider().changes(stage.context()),
            limit: stage.site.limit(),
            clusters: BTreeMap::new(),
            complaints: Vec::new(),
            removed: Vec::new(),
            is_synced: false,
        }
    }

    /// Reads on until it holds.
    pub(super) async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let read = timeout(self.limit, async {
            while !holds(self) {
                let Some(change) = self.changes.next().await else {
                    panic!("{what}: the stream ended; {}", self.told());
                };
                self.take(change);
            }
        });
        let read = read.await;
        assert!(
            read.is_ok(),
            "{what}: not within {:?}; {}",
            self.limit,
            self.told()
        );
    }

    pub(super) async fn synced(&mut self) {
        self.until("the stream says `Synced`", |reader| reader.is_synced)
            .await;
    }

    /// Takes what comes within a span.
    pub(super) async fn listen(&mut self, span: Duration) {
        let listened = timeout(span, async {
            while let Some(change) = self.changes.next().await {
                self.take(change);
            }
        });
        assert!(listened.await.is_err(), "the stream ended; {}", self.told());
    }

    fn take(&mut self, change: Change) {
        match change {
            Change::Upsert(spec) => {
                self.clusters.insert(spec.name.clone(), spec);
            }
            Change::Remove(name) => {
                let known = self.clusters.remove(&name).is_some();
                assert!(known, "`{name}` is removed and was not there; {}", self.told());
                self.removed.push(name);
            }
            Change::Rejected { name, reason } => self.complaints.push(format!("`{name}`: {reason}")),
            Change::Failed(reason) => self.complaints.push(reason),
            Change::Synced => {
                assert!(!self.is_synced, "`Synced` is said twice; {}", self.told());
                self.is_synced = true;
            }
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.clusters.keys().map(ToString::to_string).collect()
    }

    /// What is shown of it when a check fails.
    fn told(&self) -> String {
        format!(
            "it names {:?}, removed {:?}, complains of {:?}, {}",
            self.names(),
            self.removed,
            self.complaints,
            if self.is_synced {
                "is synced"
            } else {
                "is not synced"
            },
        )
    }
}

/// Waits until the runtime has no more tasks than before.
pub(super) async fn ends_its_tasks(before: usize) {
    eventually(
        Duration::from_secs(10),
        "what the stream started has ended",
        async || match crate::testing::alive_tasks() {
            now if now <= before => Ok(()),
            now => Err(format!("{now} tasks, {before} before")),
        },
    )
    .await;
}
