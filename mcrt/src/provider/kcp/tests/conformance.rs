//! The kit on workspaces, whose objects are in them and nowhere else.
use super::super::Kcp;
use crate::{
    Provider,
    connect::{Access, Policy},
    testing::conformance::{Adapter, Member, Reach, Site, Spot, Verb},
};
use mcrt_sim::{Export, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;

const APIS: &str = "apis.kcp.io/v1alpha2";

struct Workspaces {
    kcp: mcrt_sim::Kcp,
    export: Export,
}

impl Workspaces {
    fn workspace(&self, key: &str) -> Workspace {
        self.kcp.workspace_on(&format!("root:{key}"), "a")
    }

    fn change(&self, key: &str, change: impl FnOnce(&mut Value)) {
        let server = self.workspace(key).server();
        let mut binding = server.get(APIS, "APIBinding", None, "fleet").unwrap();
        change(&mut binding);
        server.replace(binding).unwrap();
    }
}

impl Adapter for Workspaces {
    const NAME: &'static str = "kcp";

    async fn begin(_: &Site) -> Self {
        let kcp = mcrt_sim::Kcp::new();
        let export = kcp.export(&kcp.workspace("root:platform"), "fleet");
        Self { kcp, export }
    }

    fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(Kcp::slice("fleet"))
    }

    fn host(&self) -> Option<Access> {
        let front = Access::service("kcp", self.kcp.service());
        front
            .at("https://kcp.sim/clusters/root:platform", &Policy::strict())
            .ok()
    }

    fn lacks(verb: Verb) -> Option<&'static str> {
        Some(match verb {
            Verb::AddSilent => "whether a workspace is there is asked of the shard that would be silent",
            Verb::PointElsewhere => "a workspace that moves takes its objects along: it has tests of its own",
            Verb::Rotate => "the credentials are those of the host",
            Verb::Spoil | Verb::AddSpoilt => {
                "a binding holds nothing that could be spoilt; addresses have tests of their own"
            }
            Verb::Unselect => "what makes a workspace a cluster is the binding itself",
            Verb::Claim | Verb::OddNames => "names are made by kcp, each once",
            _ => return None,
        })
    }

    fn cluster(&self, key: &str) -> String {
        self.workspace(key).name().to_owned()
    }

    fn spot(&self, key: &str, _: &Member) -> Spot {
        Spot {
            client: kube::Client::new(self.workspace(key).server().service(), "default"),
            namespace: "default".into(),
        }
    }

    async fn add(&self, key: &str, _: &Reach) {
        self.export.bind(&self.workspace(key));
    }

    async fn remove(&self, key: &str) {
        self.export.unbind(&self.workspace(key));
    }

    async fn touch(&self, key: &str) {
        self.change(key, |binding| {
            let now = binding["metadata"]["resourceVersion"].clone();
            binding["metadata"]["annotations"]["example.com/touched"] = now;
        });
    }

    async fn noise(&self) {
        let other = self.kcp.export(&self.export.home(), "other");
        other.bind(&self.kcp.workspace_on("root:noise", "a"));
        self.kcp.workspace_on("root:silence", "a");
    }

    async fn recreate(&self, key: &str, reach: &Reach) {
        self.remove(key).await;
        self.add(key, reach).await;
    }

    async fn unready(&self, key: &str, is_unready: bool) {
        self.export.bind_as(&self.workspace(key), !is_unready);
    }

    async fn leave(&self, key: &str) {
        self.change(key, |binding| {
            binding["metadata"]["finalizers"] = json!(["example.com/hold"]);
        });
        self.remove(key).await;
    }
}

crate::conformance!(Workspaces, Site::simulated(), paused);
