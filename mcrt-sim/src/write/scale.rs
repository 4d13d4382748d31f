//! The scale subresource: the replicas of an object in a form that needs no knowledge of its kind.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::refusal::cause::Cause;
use crate::refusal::status::Status;
use crate::state::kind::CRDS;
use crate::state::object::{Object, ObjectKey};
use crate::state::store::Store;
use crate::state::target::Target;
use crate::write::admit::check_preconditions;
use crate::write::operation::WriteOptions;

/// Where an object of a kind says how many replicas it wants and has; JSON pointers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scale {
    spec: String,
    status: String,
    /// Where a custom resource writes its selector as text; built-in kinds have one as an object.
    selector: Option<String>,
}

impl Scale {
    /// How objects of a kind are scaled, if they are.
    pub(crate) fn of(store: &Store, target: &Target) -> Option<Self> {
        if target.kind.builtin {
            let scales = matches!(
                &*target.kind.id,
                "deployments.apps" | "replicasets.apps" | "statefulsets.apps" | "replicationcontrollers"
            );
            return scales.then(|| Self {
                spec: "/spec/replicas".to_owned(),
                status: "/status/replicas".to_owned(),
                selector: None,
            });
        }
        let crds = store.registry.by_id(CRDS)?;
        let crd = store.find(crds, &ObjectKey::new("", &target.kind.id))?.content();
        let mut versions = crd["spec"]["versions"].as_array()?.iter();
        let version = versions.find(|version| version["name"] == *target.version.name)?;
        let scale = &version["subresources"]["scale"];
        let pointer = |field: &str| Some(scale[field].as_str()?.replace('.', "/"));
        Some(Self {
            spec: pointer("specReplicasPath")?,
            status: pointer("statusReplicasPath")?,
            selector: Some(pointer("labelSelectorPath").unwrap_or_default()),
        })
    }

    /// An object as its scale shows it.
    pub(crate) fn show(&self, object: &Value) -> Value {
        let metadata = &object["metadata"];
        let mut shown = json!({});
        for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if !metadata[field].is_null() {
                shown[field] = metadata[field].clone();
            }
        }
        let number = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_i64)
                .unwrap_or_default()
        };
        let mut spec = json!({});
        if number(&self.spec) != 0 {
            spec["replicas"] = number(&self.spec).into();
        }
        let mut status = json!({"replicas": number(&self.status)});
        let selector = match &self.selector {
            None => written(&object["spec"]["selector"]),
            Some(pointer) => object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        };
        if !selector.is_empty() {
            status["selector"] = selector.into();
        }
        json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": shown, "spec": spec, "status": status})
    }

    /// Writes the replicas of a scale into an object.
    fn set(&self, object: &mut Value, replicas: i64) {
        let mut at = object;
        for field in self.spec.split('/').skip(1) {
            if !at.is_object() {
                *at = json!({});
            }
            at = &mut at[field];
        }
        *at = replicas.into();
    }
}

impl Store {
    /// Replaces the scale of an object.
    pub(crate) fn rescale(
        &mut self,
        target: &Target,
        old: &Arc<Object>,
        scale: &Scale,
        wanted: &Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        let name = &*old.key.name;
        let kind = wanted["kind"].as_str().unwrap_or("Scale");
        if kind != "Scale" {
            let version = wanted["apiVersion"].as_str().unwrap_or_default();
            let why = format!("{kind} in version {version:?} cannot be handled as a Scale");
            return Err(Status::bad_request(why));
        }
        if let Some(given) = wanted["metadata"]["name"].as_str().filter(|given| *given != name) {
            return Err(Status::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        check_preconditions(target, old, wanted)?;
        let replicas = wanted["spec"]["replicas"].as_i64().unwrap_or_default();
        if replicas < 0 {
            let why = "must be greater than or equal to 0";
            let cause = Cause::invalid("spec.replicas", replicas, why);
            return Err(Status::invalid_fields("autoscaling", "Scale", name, &[cause]));
        }
        let mut value = target.thaw(old);
        scale.set(&mut value, replicas);
        self.replace(target, old, value, options)
    }
}

/// A selector as text.
fn written(selector: &Value) -> String {
    // A replication controller has plain labels.
    let labels = if selector["matchLabels"].is_null() && selector["matchExpressions"].is_null() {
        selector
    } else {
        &selector["matchLabels"]
    };
    let labels = labels.as_object().into_iter().flatten();
    let mut parts: Vec<_> = labels
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = expression["key"].as_str().unwrap_or_default();
        let values = expression["values"].as_array().into_iter().flatten();
        let mut values: Vec<_> = values.filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        parts.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.join(",")
}
