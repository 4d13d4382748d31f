//! Defaults of built-in kinds that controllers notice, as the real server fills them in before anybody owns them.

use serde_json::{Map, Value, json};

use crate::state::kind::CRDS;
use crate::state::object::{field_mut, object_mut};
use crate::state::target::Target;

pub(crate) fn fill(target: &Target, value: &mut Value) {
    match &*target.kind.id {
        "namespaces" => {
            let name = value["metadata"]["name"].clone();
            let labels = object_mut(field_mut(field_mut(value, "metadata"), "labels"));
            labels.insert("kubernetes.io/metadata.name".into(), name);
        }
        "secrets" => or(value, &json!({"type": "Opaque"})),
        "pods" => {
            let spec = field_mut(value, "spec");
            or(spec, &json!({"enableServiceLinks": true}));
            pod_spec(spec);
        }
        "services" => service(field_mut(value, "spec")),
        "persistentvolumeclaims" => or(field_mut(value, "spec"), &json!({"volumeMode": "Filesystem"})),
        "persistentvolumes" => {
            let defaults = json!({"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"});
            or(field_mut(value, "spec"), &defaults);
        }
        "storageclasses.storage.k8s.io" => {
            or(
                value,
                &json!({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}),
            );
        }
        "networkpolicies.networking.k8s.io" => network_policy(field_mut(value, "spec")),
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            role_binding(value);
        }
        CRDS => crd(value),
        _ => workload(&target.kind.plural, value),
    }
}

/// Adds the fields that are not there; those that are maps on both sides are looked into.
fn or(value: &mut Value, defaults: &Value) {
    let Some(defaults) = defaults.as_object() else {
        return;
    };
    let fields = object_mut(value);
    for (name, default) in defaults {
        match fields.get_mut(name) {
            None => drop(fields.insert(name.clone(), default.clone())),
            Some(field) if field.is_object() && default.is_object() => or(field, default),
            Some(_) => {}
        }
    }
}

fn items<'a>(value: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    let items = value.get_mut(field).and_then(Value::as_array_mut);
    items.into_iter().flatten()
}

fn workload(plural: &str, value: &mut Value) {
    let spec = field_mut(value, "spec");
    match plural {
        "deployments" => {
            let defaults = json!({"progressDeadlineSeconds": 600, "replicas": 1, "revisionHistoryLimit": 10, "strategy": {"type": "RollingUpdate"}});
            or(spec, &defaults);
            if spec["strategy"]["type"] == "RollingUpdate" {
                let rolling = json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
                or(&mut spec["strategy"], &rolling);
            }
        }
        "replicasets" | "replicationcontrollers" => or(spec, &json!({"replicas": 1})),
        "statefulsets" => {
            let keep = json!({"whenDeleted": "Retain", "whenScaled": "Retain"});
            let defaults = json!({
                "podManagementPolicy": "OrderedReady", "replicas": 1, "revisionHistoryLimit": 10,
                "persistentVolumeClaimRetentionPolicy": keep, "updateStrategy": {"type": "RollingUpdate"},
            });
            or(spec, &defaults);
            if spec["updateStrategy"]["type"] == "RollingUpdate" {
                or(
                    &mut spec["updateStrategy"],
                    &json!({"rollingUpdate": {"partition": 0}}),
                );
            }
        }
        "daemonsets" => {
            or(
                spec,
                &json!({"revisionHistoryLimit": 10, "updateStrategy": {"type": "RollingUpdate"}}),
            );
            if spec["updateStrategy"]["type"] == "RollingUpdate" {
                let rolling = json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
                or(&mut spec["updateStrategy"], &rolling);
            }
        }
        "jobs" => job(spec),
        "cronjobs" => {
            let defaults = json!({
                "concurrencyPolicy": "Allow", "failedJobsHistoryLimit": 1, "successfulJobsHistoryLimit": 3,
                "suspend": false,
            });
            or(spec, &defaults);
            let template = spec.pointer_mut("/jobTemplate/spec/template");
            if let Some(template) = template.filter(|template| template.is_object()) {
                pod_spec(field_mut(template, "spec"));
            }
            return;
        }
        _ => return,
    }
    if spec["template"].is_object() {
        pod_spec(field_mut(&mut spec["template"], "spec"));
    }
}

fn job(spec: &mut Value) {
    let alone = spec.get("completions").is_none() && spec.get("parallelism").is_none();
    if alone {
        or(spec, &json!({"completions": 1}));
    }
    let defaults = json!({
        "backoffLimit": 6, "completionMode": "NonIndexed", "manualSelector": false, "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed", "suspend": false,
    });
    or(spec, &defaults);
}

fn pod_spec(spec: &mut Value) {
    let defaults = json!({
        "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
        "securityContext": {}, "terminationGracePeriodSeconds": 30,
    });
    or(spec, &defaults);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        items(spec, list).for_each(container);
    }
    items(spec, "volumes").for_each(volume);
}

fn container(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let image = image.split('@').next().unwrap_or_default();
    let tag = image
        .rsplit('/')
        .next()
        .and_then(|name| name.split_once(':'))
        .map(|(_, tag)| tag);
    let newest = tag.is_none_or(|tag| tag == "latest")
        && !container["image"]
            .as_str()
            .is_some_and(|image| image.contains('@'));
    let pull = if newest { "Always" } else { "IfNotPresent" };
    let defaults = json!({
        "imagePullPolicy": pull, "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    });
    or(container, &defaults);
    items(container, "ports").for_each(|port| or(port, &json!({"protocol": "TCP"})));
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).filter(|probe| probe.is_object()) {
            let defaults = json!({"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1});
            or(probe, &defaults);
            if let Some(get) = probe.get_mut("httpGet").filter(|get| get.is_object()) {
                or(get, &json!({"path": "/", "scheme": "HTTP"}));
            }
        }
    }
    for env in items(container, "env") {
        let reference = env.pointer_mut("/valueFrom/fieldRef");
        if let Some(reference) = reference.filter(|reference| reference.is_object()) {
            or(reference, &json!({"apiVersion": "v1"}));
        }
    }
}

fn volume(volume: &mut Value) {
    let fields = object_mut(volume);
    if fields.len() < 2 {
        fields.insert("emptyDir".into(), Value::Object(Map::new()));
    }
    for source in ["configMap", "secret", "projected", "downwardAPI"] {
        if let Some(source) = fields.get_mut(source).filter(|source| source.is_object()) {
            or(source, &json!({"defaultMode": 420}));
        }
    }
    if let Some(path) = fields.get_mut("hostPath").filter(|path| path.is_object()) {
        or(path, &json!({"type": ""}));
    }
}

fn service(spec: &mut Value) {
    or(spec, &json!({"sessionAffinity": "None", "type": "ClusterIP"}));
    if spec["type"] != "ExternalName" {
        or(spec, &json!({"internalTrafficPolicy": "Cluster"}));
    }
    for port in items(spec, "ports") {
        let number = port["port"].clone();
        or(port, &json!({"protocol": "TCP", "targetPort": number}));
    }
}

fn network_policy(spec: &mut Value) {
    let types = if spec.get("egress").is_some() {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    or(spec, &json!({"policyTypes": types}));
    for direction in ["ingress", "egress"] {
        for rule in items(spec, direction) {
            items(rule, "ports").for_each(|port| or(port, &json!({"protocol": "TCP"})));
        }
    }
}

fn role_binding(value: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    if value["roleRef"].is_object() {
        or(&mut value["roleRef"], &json!({"apiGroup": GROUP}));
    }
    for subject in items(value, "subjects") {
        if matches!(subject["kind"].as_str(), Some("User" | "Group")) {
            or(subject, &json!({"apiGroup": GROUP}));
        }
    }
}

fn crd(value: &mut Value) {
    let spec = field_mut(value, "spec");
    let kind = spec["names"]["kind"].as_str().unwrap_or_default().to_owned();
    let names = json!({"listKind": format!("{kind}List"), "singular": kind.to_lowercase()});
    or(spec, &json!({"conversion": {"strategy": "None"}, "names": names}));
}

/// What the server adds to a new pod beside its defaults, and nobody owns.
pub(crate) fn pod_status(value: &mut Value) {
    let class = quality(&value["spec"]);
    or(value, &json!({"status": {"phase": "Pending", "qosClass": class}}));
}

/// How a pod's containers say what they need.
fn quality(spec: &Value) -> &'static str {
    let lists = ["containers", "initContainers"].map(|list| spec[list].as_array());
    let containers: Vec<_> = lists.into_iter().flatten().flatten().collect();
    let wants = |container: &Value, side: &str| {
        let resources = container["resources"][side].as_object();
        resources.map_or(0, |resources| {
            resources
                .keys()
                .filter(|name| matches!(name.as_str(), "cpu" | "memory"))
                .count()
        })
    };
    if containers
        .iter()
        .all(|one| wants(one, "requests") + wants(one, "limits") == 0)
    {
        return "BestEffort";
    }
    let fixed = |container: &&Value| {
        let resources = &container["resources"];
        wants(container, "limits") == 2
            && (resources["requests"].is_null() || resources["requests"] == resources["limits"])
    };
    if containers.iter().all(fixed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
