//! The columns of built-in kinds.

use serde_json::{Value, json};

use super::age;

/// A column of a built-in kind.
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
    /// Shown by `kubectl get -o wide` only.
    wide: bool,
    cell: Cell,
}

/// Where a cell comes from; paths are JSON pointers.
enum Cell {
    Name,
    Age,
    /// When it was created, for kinds whose columns nobody chose.
    Created,
    /// Text, or what stands for none.
    Text(&'static str, &'static str),
    Number(&'static str),
    /// How many entries these fields hold together.
    Count(&'static [&'static str]),
    Made(fn(&Value) -> Value),
}

const fn column(name: &'static str, cell: Cell) -> Column {
    Column {
        name,
        kind: "string",
        wide: false,
        cell,
    }
}

const fn number(name: &'static str, path: &'static str) -> Column {
    Column {
        kind: "integer",
        ..column(name, Cell::Number(path))
    }
}

const fn wide(name: &'static str, cell: Cell) -> Column {
    Column {
        wide: true,
        ..column(name, cell)
    }
}

const NAME: Column = column("Name", Cell::Name);
const AGE: Column = column("Age", Cell::Age);
const CREATED: Column = Column {
    kind: "date",
    ..column("Created At", Cell::Created)
};
const CONTAINERS: Column = wide("Containers", Cell::Made(|object| containers(object, "name")));
const IMAGES: Column = wide("Images", Cell::Made(|object| containers(object, "image")));
const SELECTOR: Column = wide("Selector", Cell::Made(selector));
const NONE: &str = "<none>";

/// Kinds that are printed with more than their name and age.
#[rustfmt::skip]
const KINDS: &[(&str, &[Column])] = &[
    ("configmaps", &[NAME, column("Data", Cell::Count(&["/data", "/binaryData"])), AGE]),
    ("secrets", &[NAME, column("Type", Cell::Text("/type", "")), column("Data", Cell::Count(&["/data"])), AGE]),
    ("namespaces", &[NAME, column("Status", Cell::Text("/status/phase", "")), AGE]),
    ("pods", &[
        NAME, column("Ready", Cell::Made(pod_ready)), column("Status", Cell::Made(pod_status)),
        column("Restarts", Cell::Made(pod_restarts)), AGE, wide("IP", Cell::Text("/status/podIP", NONE)),
        wide("Node", Cell::Text("/spec/nodeName", NONE)),
        wide("Nominated Node", Cell::Text("/status/nominatedNodeName", NONE)),
        wide("Readiness Gates", Cell::Text("", NONE)),
    ]),
    ("services", &[
        NAME, column("Type", Cell::Text("/spec/type", "")), column("Cluster-IP", Cell::Text("/spec/clusterIP", NONE)),
        column("External-IP", Cell::Made(external_ip)), column("Port(s)", Cell::Made(ports)), AGE,
        wide("Selector", Cell::Made(|object| labels(&object["spec"]["selector"]))),
    ]),
    ("nodes", &[
        NAME, column("Status", Cell::Made(node_status)), column("Roles", Cell::Made(node_roles)), AGE,
        column("Version", Cell::Text("/status/nodeInfo/kubeletVersion", "")),
    ]),
    ("events", EVENTS),
    ("events.events.k8s.io", EVENTS),
    ("deployments.apps", &[
        NAME, column("Ready", Cell::Made(replicas)), column("Up-to-date", Cell::Number("/status/updatedReplicas")),
        column("Available", Cell::Number("/status/availableReplicas")), AGE, CONTAINERS, IMAGES, SELECTOR,
    ]),
    ("replicasets.apps", &[
        NAME, number("Desired", "/spec/replicas"), number("Current", "/status/replicas"),
        number("Ready", "/status/readyReplicas"), AGE, CONTAINERS, IMAGES, SELECTOR,
    ]),
    ("statefulsets.apps", &[NAME, column("Ready", Cell::Made(replicas)), AGE, CONTAINERS, IMAGES]),
    ("daemonsets.apps", &[
        NAME, number("Desired", "/status/desiredNumberScheduled"), number("Current", "/status/currentNumberScheduled"),
        number("Ready", "/status/numberReady"), number("Up-to-date", "/status/updatedNumberScheduled"),
        number("Available", "/status/numberAvailable"),
        column("Node Selector", Cell::Made(|object| labels(&object["spec"]["template"]["spec"]["nodeSelector"]))),
        AGE, CONTAINERS, IMAGES, SELECTOR,
    ]),
    ("leases.coordination.k8s.io", &[NAME, column("Holder", Cell::Text("/spec/holderIdentity", "")), AGE]),
    ("rolebindings.rbac.authorization.k8s.io", &[NAME, column("Role", Cell::Made(role)), AGE]),
    ("clusterrolebindings.rbac.authorization.k8s.io", &[NAME, column("Role", Cell::Made(role)), AGE]),
    ("roles.rbac.authorization.k8s.io", &[NAME, CREATED]),
    ("clusterroles.rbac.authorization.k8s.io", &[NAME, CREATED]),
    ("limitranges", &[NAME, CREATED]),
];

const EVENTS: &[Column] = &[
    column(
        "Last Seen",
        Cell::Made(|event| age(first(event, &["lastTimestamp", "eventTime"]))),
    ),
    column("Type", Cell::Text("/type", "")),
    column("Reason", Cell::Text("/reason", "")),
    column("Object", Cell::Made(event_object)),
    column(
        "Message",
        Cell::Made(|event| first(event, &["message", "note"]).clone()),
    ),
    wide("Name", Cell::Name),
];

/// The columns of a kind; of those that have columns of their own which are not simulated, name and age.
pub(super) fn columns(id: &str) -> &'static [Column] {
    let found = KINDS.iter().find(|(known, _)| *known == id);
    found.map_or(&[NAME, AGE], |(_, columns)| columns)
}

impl Column {
    pub(super) fn definition(&self) -> Value {
        let format = if matches!(self.cell, Cell::Name) {
            "name"
        } else {
            ""
        };
        json!({
            "name": self.name, "type": self.kind, "format": format, "description": "",
            "priority": i32::from(self.wide),
        })
    }

    pub(super) fn cell(&self, object: &Value) -> Value {
        let at = |path: &str| object.pointer(path);
        match self.cell {
            Cell::Name => object["metadata"]["name"].as_str().unwrap_or_default().into(),
            Cell::Age => age(&object["metadata"]["creationTimestamp"]),
            Cell::Created => object["metadata"]["creationTimestamp"].clone(),
            Cell::Text(path, none) => {
                let text = at(path).and_then(Value::as_str).filter(|text| !text.is_empty());
                text.unwrap_or(none).into()
            }
            Cell::Number(path) => at(path).and_then(Value::as_i64).unwrap_or_default().into(),
            Cell::Count(paths) => {
                let fields = paths.iter().filter_map(|path| at(path)?.as_object());
                fields.map(serde_json::Map::len).sum::<usize>().into()
            }
            Cell::Made(make) => make(object),
        }
    }
}

fn items<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value
        .pointer(path)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn first<'a>(value: &'a Value, fields: &[&str]) -> &'a Value {
    let found = fields.iter().map(|field| &value[*field]);
    found
        .into_iter()
        .find(|value| !value.is_null())
        .unwrap_or(&Value::Null)
}

fn join(texts: impl Iterator<Item = String>) -> Value {
    match texts.collect::<Vec<_>>().join(",") {
        none if none.is_empty() => NONE.into(),
        joined => joined.into(),
    }
}

fn labels(labels: &Value) -> Value {
    let labels = labels.as_object().into_iter().flatten();
    join(labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())))
}

fn selector(object: &Value) -> Value {
    labels(&object["spec"]["selector"]["matchLabels"])
}

fn containers(object: &Value, field: &str) -> Value {
    let containers = items(object, "/spec/template/spec/containers");
    join(containers.map(|container| container[field].as_str().unwrap_or_default().to_owned()))
}

fn replicas(object: &Value) -> Value {
    let count = |path| object.pointer(path).and_then(Value::as_i64).unwrap_or_default();
    format!("{}/{}", count("/status/readyReplicas"), count("/spec/replicas")).into()
}

fn pod_ready(pod: &Value) -> Value {
    let ready = items(pod, "/status/containerStatuses").filter(|status| status["ready"] == true);
    format!("{}/{}", ready.count(), items(pod, "/spec/containers").count()).into()
}

fn pod_status(pod: &Value) -> Value {
    if pod["metadata"]["deletionTimestamp"].is_string() {
        return "Terminating".into();
    }
    let waiting = items(pod, "/status/containerStatuses")
        .find_map(|status| status["state"]["waiting"]["reason"].as_str());
    let said = waiting
        .or(pod["status"]["reason"].as_str())
        .or(pod["status"]["phase"].as_str());
    said.unwrap_or("Pending").into()
}

fn pod_restarts(pod: &Value) -> Value {
    let restarts =
        items(pod, "/status/containerStatuses").filter_map(|status| status["restartCount"].as_i64());
    restarts.sum::<i64>().to_string().into()
}

fn external_ip(service: &Value) -> Value {
    let given = items(service, "/status/loadBalancer/ingress").chain(items(service, "/spec/externalIPs"));
    join(given.filter_map(|given| given.as_str().or(given["ip"].as_str()).map(str::to_owned)))
}

fn ports(service: &Value) -> Value {
    join(items(service, "/spec/ports").map(|port| {
        let node = port["nodePort"].as_i64().filter(|node| *node > 0);
        let node = node.map(|node| format!(":{node}")).unwrap_or_default();
        format!(
            "{}{node}/{}",
            port["port"],
            port["protocol"].as_str().unwrap_or("TCP")
        )
    }))
}

fn node_status(node: &Value) -> Value {
    let mut conditions = items(node, "/status/conditions");
    let ready = conditions.find(|condition| condition["type"] == "Ready");
    let said = match ready.map(|ready| ready["status"] == "True") {
        None => "Unknown",
        Some(true) => "Ready",
        Some(false) => "NotReady",
    };
    let closed = if node["spec"]["unschedulable"] == true {
        ",SchedulingDisabled"
    } else {
        ""
    };
    format!("{said}{closed}").into()
}

fn node_roles(node: &Value) -> Value {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    join(labels.filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/").map(str::to_owned)))
}

fn role(binding: &Value) -> Value {
    let role = |field: &str| binding["roleRef"][field].as_str().unwrap_or_default();
    format!("{}/{}", role("kind"), role("name")).into()
}

fn event_object(event: &Value) -> Value {
    let object = first(event, &["involvedObject", "regarding"]);
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    format!("{kind}/{}", object["name"].as_str().unwrap_or_default()).into()
}
