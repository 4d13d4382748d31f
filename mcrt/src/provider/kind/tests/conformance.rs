//! The kit: scripted command lines whose kubeconfigs lead to servers behind TLS.
use super::machine::{LOOK, Machine};
use crate::{
    provider::Provider,
    testing::conformance::{Adapter, Reach, Site, Verb},
};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc};

struct Kinds {
    machine: Machine,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By cluster: the number of its container, and its ports.
    clusters: BTreeMap<String, (usize, usize)>,
    containers: usize,
    /// Lines beside those of clusters.
    noise: Vec<String>,
    hours: usize,
}

impl Kinds {
    /// Another kubeconfig for a cluster that has the same container, started again.
    fn gives(&self, key: &str, kubeconfig: &str) {
        self.machine.write(&format!("kubeconfigs/{key}"), kubeconfig);
        if let Some((_, ports)) = self.state.lock().clusters.get_mut(key) {
            *ports += 1;
        }
        self.list();
    }

    fn creates(&self, key: &str, kubeconfig: &str) {
        self.machine.write(&format!("kubeconfigs/{key}"), kubeconfig);
        {
            let mut state = self.state.lock();
            state.containers += 1;
            let container = state.containers;
            state.clusters.insert(key.to_owned(), (container, 0));
        }
        self.list();
    }

    fn list(&self) {
        let state = self.state.lock();
        let hours = state.hours;
        let clusters = state.clusters.iter().map(|(key, (container, ports))| {
            format!(
                "c{container}|{key}-control-plane|Up {hours} hours|127.0.0.1:{ports}->6443/tcp|control-plane|{key}"
            )
        });
        let lines: Vec<_> = clusters.chain(state.noise.iter().cloned()).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        self.machine.lists(&lines);
    }
}

impl Adapter for Kinds {
    const NAME: &'static str = "kind";

    async fn begin(_: &Site) -> Self {
        Self {
            machine: Machine::new(),
            state: Mutex::default(),
        }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        let mut kind = self.machine.kind();
        kind.settings.refresh = LOOK * 2;
        Arc::new(kind)
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        Some(match verb {
            Verb::Unselect => "a container keeps its labels",
            Verb::Claim => "containers of one name are one cluster",
            Verb::Unready => "a cluster that is stopped stays, as one that does not answer",
            Verb::Leave => "a container is there or it is not",
            _ => return None,
        })
    }

    async fn add(&self, key: &str, reach: &Reach) {
        self.creates(key, &reach.kubeconfig(&format!("kind-{key}")));
    }

    async fn remove(&self, key: &str) {
        self.state.lock().clusters.remove(key);
        self.list();
    }

    async fn touch(&self, _: &str) {
        self.state.lock().hours += 1;
        self.list();
    }

    async fn point_elsewhere(&self, key: &str, reach: &Reach) {
        self.gives(key, &reach.kubeconfig("elsewhere"));
    }

    async fn rotate(&self, key: &str, reach: &Reach) {
        // The certificates of a node are renewed without its container being touched.
        let kubeconfig = reach.kubeconfig(&format!("kind-{key}"));
        self.machine.write(&format!("kubeconfigs/{key}"), &kubeconfig);
    }

    async fn spoil(&self, key: &str) {
        self.gives(key, "clusters: [");
    }

    async fn add_spoilt(&self, key: &str) {
        self.creates(key, "clusters: [");
    }

    async fn noise(&self) {
        self.machine
            .write("noise", "enabling experimental podman provider\n");
        self.state
            .lock()
            .noise
            .push("w1|a-worker|Up 2 hours||worker|".to_owned());
        self.list();
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.creates(key, &reach.kubeconfig(&format!("kind-{key}")));
    }

    fn odd_keys(&self) -> Vec<String> {
        vec!["a.b-c.0".into(), format!("long-{}", "x".repeat(70))]
    }
}

crate::conformance!(Kinds, Site::served().await);
