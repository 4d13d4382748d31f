//! `Clusters`: described by calls.
use crate::{
    ClusterName, Provider,
    provider::ClusterSpec,
    providers::Clusters,
    testing::conformance::{Adapter, Reach, Site, Verb},
};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};

struct Calls {
    clusters: Clusters,
    described: Mutex<BTreeMap<String, ClusterSpec>>,
}

impl Calls {
    /// A description; the last one of a key can be repeated.
    fn spec(&self, key: &str, uid: &str, reach: &Reach) -> ClusterSpec {
        let spec = spec(key, uid, reach);
        self.described.lock().insert(key.to_owned(), spec.clone());
        spec
    }
}

fn spec(key: &str, uid: &str, reach: &Reach) -> ClusterSpec {
    ClusterSpec::new(ClusterName::new(key).unwrap(), uid, reach.access())
}

impl Adapter for Calls {
    const NAME: &'static str = "clusters";

    async fn begin(_: &Site) -> Self {
        Self {
            clusters: Clusters::new(),
            described: Mutex::default(),
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(self.clusters.clone())
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        Some(match verb {
            Verb::Spoil | Verb::AddSpoilt => "a description is a value, which is what it is",
            Verb::Noise => "nothing but descriptions can be given to it",
            Verb::Unselect | Verb::Unready | Verb::Leave => "a cluster is in the set or it is not",
            Verb::Claim => "`add` returns `NameTaken`",
            _ => return None,
        })
    }

    async fn add(&self, key: &str, reach: &Reach) {
        self.clusters.add(self.spec(key, "1", reach)).unwrap();
    }

    async fn remove(&self, key: &str) {
        self.clusters.remove(&ClusterName::new(key).unwrap());
    }

    async fn touch(&self, key: &str) {
        let same = self.described.lock()[key].clone();
        self.clusters.replace(same);
    }

    async fn point_elsewhere(&self, key: &str, reach: &Reach) {
        self.clusters.replace(self.spec(key, "1", reach));
    }

    async fn rotate(&self, key: &str, reach: &Reach) {
        self.clusters.replace(self.spec(key, "1", reach));
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.remove(key).await;
        self.add(key, reach).await;
    }

    fn odd_keys(&self) -> Vec<String> {
        ["arn:aws:eks:eu-west-1:1:cluster/a", "Ns/Name", "a#b", "a+b"]
            .map(str::to_owned)
            .into_iter()
            .chain(["x".repeat(253)])
            .collect()
    }
}

crate::conformance!(Calls, Site::simulated(), paused);
