//! A simulated API server, with its config maps at hand and a rule that may decide any request.
use mcrt_sim::{RequestInfo, Verb, Verdict};
use parking_lot::Mutex;
use serde_json::json;
use std::sync::Arc;

type Rule = Arc<dyn Fn(&RequestInfo) -> Verdict + Send + Sync>;

/// The server, the requests that came, and the rule of the moment.
#[derive(Clone)]
pub(super) struct Server {
    sim: mcrt_sim::Server,
    calls: Arc<Mutex<Vec<RequestInfo>>>,
    rule: Arc<Mutex<Rule>>,
}

/// Whether a request asks for the first page of a list.
pub(super) fn starts_list(call: &RequestInfo) -> bool {
    call.verb() == Verb::List && call.query("continue").is_none()
}

/// Whether a request asks which kinds of a group and version there are.
pub(super) fn discovers(call: &RequestInfo) -> bool {
    call.verb() == Verb::Raw
}

/// Whether a request starts a watch with what exists.
pub(super) fn streams(call: &RequestInfo) -> bool {
    watches(call) && call.query("sendInitialEvents") == Some("true")
}

/// Whether a request starts a watch.
pub(super) fn watches(call: &RequestInfo) -> bool {
    call.verb() == Verb::Watch
}

impl Server {
    /// An API server with the namespaces x, y and z.
    pub(super) fn new() -> Self {
        let server = Self {
            sim: mcrt_sim::Server::new("one"),
            calls: Arc::default(),
            rule: Arc::new(Mutex::new(Arc::new(|_| Verdict::Pass))),
        };
        for name in ["x", "y", "z"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            server.sim.create(namespace).unwrap();
        }
        let (calls, rule) = (Arc::clone(&server.calls), Arc::clone(&server.rule));
        server.sim.hook(move |call| {
            calls.lock().push(call.clone());
            let rule = Arc::clone(&rule.lock());
            rule(call)
        });
        server
    }

    /// A server that holds these objects, each `namespace/name`.
    pub(super) fn with(keys: &[&str]) -> Self {
        let server = Self::new();
        for key in keys {
            server.put(key, "1");
        }
        server
    }

    pub(super) fn client(&self) -> kube::Client {
        kube::Client::new(self.sim.service(), "default")
    }

    /// Creates or changes an object; the value is in its data and in its label `team`.
    pub(super) fn put(&self, key: &str, value: &str) {
        let (namespace, name) = key.split_once('/').unwrap();
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": {"team": value}},
            "data": {"value": value},
        });
        self.sim.apply("test", object).unwrap();
    }

    /// As [`put`](Self::put), with the annotation of `kubectl apply` and another one.
    pub(super) fn put_by_kubectl(&self, key: &str, value: &str) {
        self.put(key, value);
        let (namespace, name) = key.split_once('/').unwrap();
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": json!({"data": {"value": value}}).to_string(),
                "note": "kept",
            }},
        });
        self.sim.apply("kubectl", object).unwrap();
    }

    /// A write of another kind: the server's version moves on, and bookmarks tell of that.
    pub(super) fn change_elsewhere(&self) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "else"}});
        self.sim.create(namespace).unwrap();
    }

    pub(super) fn delete(&self, key: &str) {
        let (namespace, name) = key.split_once('/').unwrap();
        self.sim.delete("v1", "ConfigMap", Some(namespace), name).unwrap();
    }

    /// Serves config maps no more: watches end, and what is asked of them answers 404.
    pub(super) fn unserve(&self) {
        self.sim.unserve("", "configmaps");
    }

    /// Serves config maps again.
    pub(super) fn serve_again(&self) {
        self.sim.serve(mcrt_sim::ServedKind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            plural: "configmaps".to_owned(),
            namespaced: true,
            status_subresource: false,
        });
    }

    /// Ends every watch in good order.
    pub(super) fn disconnect(&self) {
        self.sim.disconnect_watches();
    }

    /// Ends every watch with a 410 in its stream.
    pub(super) fn expire(&self) {
        self.sim.expire_watches();
    }

    /// Forgets all versions before now.
    pub(super) fn compact(&self) {
        self.sim.compact();
    }

    /// Lets a rule decide from now on.
    pub(super) fn rule(&self, rule: impl Fn(&RequestInfo) -> Verdict + Send + Sync + 'static) {
        *self.rule.lock() = Arc::new(rule);
    }

    pub(super) fn count(&self, of: impl Fn(&RequestInfo) -> bool) -> usize {
        self.calls.lock().iter().filter(|call| of(call)).count()
    }

    pub(super) fn lists(&self) -> usize {
        self.count(starts_list)
    }

    pub(super) fn open_watches(&self) -> u64 {
        self.sim.counters().open_watches
    }

    /// Lists that have not been answered.
    pub(super) fn open_lists(&self) -> u64 {
        let counters = self.sim.counters();
        counters.open_requests.saturating_sub(counters.open_watches)
    }
}
