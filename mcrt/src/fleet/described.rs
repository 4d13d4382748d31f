//! What is known of a cluster by its description: by the host side's word, and by its own.
use crate::cluster::{Properties, Property, PropertyOrigin};
use std::{collections::BTreeMap, sync::Arc};

/// Both words, and what they come to: where both name a property, the host side's counts.
#[derive(Debug)]
pub(super) struct Described {
    by_host: Arc<Properties>,
    by_itself: BTreeMap<String, String>,
    now: Arc<Properties>,
}

impl Described {
    pub(super) fn new(by_host: Properties) -> Self {
        let by_host = Arc::new(by_host);
        Self {
            now: by_host.clone(),
            by_host,
            by_itself: BTreeMap::new(),
        }
    }

    pub(super) fn now(&self) -> Arc<Properties> {
        self.now.clone()
    }

    /// True if that changes anything.
    pub(super) fn describe(&mut self, by_host: Properties) -> bool {
        if *self.by_host == by_host {
            return false;
        }
        self.by_host = Arc::new(by_host);
        self.settle()
    }

    /// True if that changes anything.
    pub(super) fn report(&mut self, by_itself: BTreeMap<String, String>) -> bool {
        self.by_itself = by_itself;
        self.settle()
    }

    fn settle(&mut self) -> bool {
        let now = if self.by_itself.is_empty() {
            self.by_host.clone()
        } else {
            Arc::new(self.together())
        };
        let changed = now != self.now;
        self.now = now;
        changed
    }

    fn together(&self) -> Properties {
        let mut properties = Properties::clone(&self.by_host);
        for (name, value) in &self.by_itself {
            properties.named.entry(name.clone()).or_insert_with(|| Property {
                value: value.clone(),
                origin: PropertyOrigin::SelfReported,
            });
        }
        properties
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    fn by_host(name: &str, value: &str) -> Properties {
        let property = Property {
            value: value.to_owned(),
            origin: PropertyOrigin::Inventory,
        };
        Properties {
            named: BTreeMap::from([(name.to_owned(), property)]),
            ..Properties::default()
        }
    }

    #[test]
    fn what_the_host_side_says_counts_before_what_the_cluster_says_of_itself() {
        let mut described = Described::new(by_host("region", "eu"));
        assert!(!described.report(said("region", "us")), "it changes nothing");
        assert_eq!(described.now().named["region"].value, "eu");
        assert!(described.describe(Properties::default()));
        let own = Property {
            value: "us".to_owned(),
            origin: PropertyOrigin::SelfReported,
        };
        assert_eq!(described.now().named["region"], own);
        assert!(!described.describe(Properties::default()) && !described.report(said("region", "us")));
        assert!(described.describe(by_host("region", "eu")));
        assert!(!described.report(BTreeMap::new()));
        assert_eq!(*described.now(), by_host("region", "eu"));
    }
}
