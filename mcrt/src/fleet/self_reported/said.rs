//! What of a cluster's own word is taken: a cluster may say much.
use super::Cluster;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The version of Kubernetes, under the name that providers use for what an inventory says of it.
const VERSION: &str = "kubernetes-version";
/// How many properties of one cluster are kept, and how long the value of one may be in bytes: they are copied with
/// every look at them, so what no program selects by must not grow without end.
const MOST: usize = 128;
const LONGEST: usize = 4096;

/// What a cluster says of itself.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    pub(super) properties: BTreeMap<String, String>,
    /// How many are not kept.
    left_out: usize,
}

impl Said {
    /// Trusted properties first, then in the order of their names.
    pub(super) fn of(
        words: Vec<(String, String)>,
        version: Option<Arc<str>>,
        trusted: &BTreeSet<String>,
    ) -> Self {
        let all = words.len();
        let mut words: Vec<_> = words
            .into_iter()
            .filter(|(_, value)| value.len() <= LONGEST)
            .collect();
        words.sort_unstable_by(|(a, _), (b, _)| (!trusted.contains(a), a).cmp(&(!trusted.contains(b), b)));
        words.truncate(MOST);
        let left_out = all - words.len();
        let mut properties: BTreeMap<_, _> = words.into_iter().collect();
        // Asked of the server itself, so before an object that happens to be called like this.
        let version = version.filter(|version| version.len() <= LONGEST);
        properties.extend(version.map(|version| (VERSION.to_owned(), version.to_string())));
        Self { properties, left_out }
    }

    pub(super) fn report_left_out(&self, cluster: &Cluster) {
        let left_out = self.left_out;
        if left_out > 0 {
            tracing::warn!(
                %cluster, left_out,
                "the cluster says too much of itself: {MOST} properties are kept, none longer than {LONGEST} bytes",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_cluster_that_says_too_much_the_trusted_properties_are_kept() {
        let mut words: Vec<_> = (0..500).map(|n| (format!("a{n:03}"), "x".to_owned())).collect();
        words.push(("zone".to_owned(), "eu".to_owned()));
        words.push(("zoo".to_owned(), "x".repeat(LONGEST + 1)));
        let trusted = ["zone", "zoo"].map(str::to_owned).into();
        let said = Said::of(words, Some("v1.37.2".into()), &trusted);
        assert_eq!((said.properties.len(), said.left_out), (MOST + 1, 502 - MOST));
        assert_eq!(said.properties["zone"], "eu");
        assert_eq!(said.properties[VERSION], "v1.37.2");
        assert!(!said.properties.contains_key("zoo"));
    }
}
