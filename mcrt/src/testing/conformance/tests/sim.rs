//! `Sim`: its clusters are the servers of a fleet of its own, whatever the members of the site are.
use crate::{
    Provider,
    providers::Sim,
    testing::conformance::{Adapter, Member, Reach, Site, Spot, Verb},
};
use mcrt_sim::{Fleet, Server};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};

/// With the servers that have left.
struct Servers(Fleet, Mutex<BTreeMap<String, Server>>);

impl Adapter for Servers {
    const NAME: &'static str = "sim";

    async fn begin(_: &Site) -> Self {
        Self(Fleet::new(), Mutex::default())
    }

    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Sim::new(self.0.clone()))
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        Some(match verb {
            Verb::AddSilent | Verb::PointElsewhere | Verb::Rotate => {
                "a cluster is a server of the simulated fleet, reached without an address or credentials"
            }
            Verb::Touch
            | Verb::Spoil
            | Verb::AddSpoilt
            | Verb::Noise
            | Verb::Unselect
            | Verb::Unready
            | Verb::Leave => "nothing describes a server of the simulated fleet but itself",
            Verb::Claim => "`Fleet::join` replaces a server of the same name by another life",
            _ => return None,
        })
    }

    fn spot(&self, key: &str, _: &Member) -> Spot {
        Spot {
            client: kube::Client::new(self.1.lock()[key].service(), "default"),
            namespace: "default".into(),
        }
    }

    async fn add(&self, key: &str, _: &Reach) {
        let server = self.0.join(key);
        self.1.lock().insert(key.to_owned(), server);
    }

    async fn remove(&self, key: &str) {
        self.0.leave(key);
    }

    async fn recreate(&self, key: &str, _: &Reach) {
        let server = self.0.join(key);
        self.1.lock().insert(key.to_owned(), server);
    }

    fn odd_keys(&self) -> Vec<String> {
        ["a/b", "A#b+c:d"].map(str::to_owned).into()
    }
}

crate::conformance!(Servers, Site::simulated(), paused);
