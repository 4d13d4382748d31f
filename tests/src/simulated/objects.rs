//! Objects as JSON, the way servers are given them.

use kube::core::{ApiResource, GroupVersionKind};
use mcrt_sim::ServedKind;
use serde_json::{Value, json};

/// The label that the fixtures' controllers select by: a server has objects of its own.
pub(super) const LABEL: &str = "mcrt.dev/test";

/// A `ConfigMap` in namespace `default`.
pub fn config(name: &str) -> Value {
    object("ConfigMap", name)
}

/// A `Secret` in namespace `default`.
pub fn secret(name: &str) -> Value {
    object("Secret", name)
}

/// A namespace.
pub fn namespace(name: &str) -> Value {
    cluster_scoped("Namespace", name)
}

/// A node.
pub fn node(name: &str) -> Value {
    cluster_scoped("Node", name)
}

/// A `Deployment` of one replica in namespace `default`.
pub fn deployment(name: &str) -> Value {
    let mut deployment = object("Deployment", name);
    deployment["apiVersion"] = "apps/v1".into();
    deployment["spec"] = json!({
        "replicas": 1,
        "selector": { "matchLabels": { "app": name } },
        "template": {
            "metadata": { "labels": { "app": name } },
            "spec": { "containers": [{ "name": "main", "image": "main" }] },
        },
    });
    deployment
}

/// A kind that servers do not have unless they are told to serve it.
pub fn widgets() -> ServedKind {
    ServedKind {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
        namespaced: true,
        status_subresource: false,
    }
}

/// The same kind, for watches.
pub fn widget_resource() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets")
}

/// An object of that kind in namespace `default`.
pub fn widget(name: &str) -> Value {
    let mut widget = object("Widget", name);
    widget["apiVersion"] = "example.com/v1".into();
    widget
}

fn cluster_scoped(kind: &str, name: &str) -> Value {
    let mut object = object(kind, name);
    if let Some(meta) = object["metadata"].as_object_mut() {
        meta.remove("namespace");
    }
    object
}

fn object(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": kind,
        "metadata": { "name": name, "namespace": "default", "labels": { LABEL: "yes" } },
    })
}

/// The same in another namespace.
#[must_use]
pub fn in_namespace(mut object: Value, namespace: &str) -> Value {
    object["metadata"]["namespace"] = namespace.into();
    object
}

/// The same with one label more.
#[must_use]
pub fn labelled(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["labels"][key] = value.into();
    object
}

/// The same with one entry more in its data.
#[must_use]
pub fn with_data(mut object: Value, key: &str, value: &str) -> Value {
    object["data"][key] = value.into();
    object
}

/// The same, owned by an object that a server returned.
#[must_use]
pub fn owned_by(mut object: Value, owner: &Value) -> Value {
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": true,
    }]);
    object
}
