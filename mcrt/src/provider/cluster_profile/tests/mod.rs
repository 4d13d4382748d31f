//! Tests of the provider on a simulated host; nothing is dialled and no program run.
mod files;
mod following;
mod naming;
mod programs;
mod secrets;

use super::{ClusterProfiles, ProviderFile};
use crate::{
    cache::CacheSettings,
    connect::{Access, TransportSettings},
    provider::{ProviderContext, tests::Reader},
};
use mcrt_sim::{Fleet, ServedKind, Server};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const QUIET: Duration = Duration::from_secs(30);

/// A host that serves the kind, with its status a part like any other.
fn host() -> Server {
    let host = Fleet::new().host();
    host.serve(ServedKind {
        group: "multicluster.x-k8s.io".into(),
        version: "v1alpha1".into(),
        kind: "ClusterProfile".into(),
        plural: "clusterprofiles".into(),
        namespaced: true,
        status_subresource: false,
    });
    for namespace in ["a", "b"] {
        host.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
            .unwrap();
    }
    host
}

/// A file with the programs `one` and `two`.
fn file() -> ProviderFile {
    let program = |name: &str| {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": format!("/opt/{name}"),
                          "args": null, "env": null, "provideClusterInfo": true});
        json!({"name": name, "execConfig": exec})
    };
    ProviderFile::from_json(&json!({"providers": [program("one"), program("two")]}).to_string()).unwrap()
}

fn provider() -> ClusterProfiles {
    ClusterProfiles::new(file())
}

/// A profile of this key that is healthy and reached at this server.
fn profile(key: &str, server: &str) -> Value {
    let (namespace, name) = key.split_once('/').unwrap();
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
        "metadata": {"namespace": namespace, "name": name, "labels": {"of": name}},
        "spec": {"clusterManager": {"name": "m"}},
        "status": {"conditions": [healthy("True")], "accessProviders": [way("one", server)]},
    })
}

fn way(name: &str, server: &str) -> Value {
    json!({"name": name, "cluster": {"server": server}})
}

fn healthy(status: &str) -> Value {
    json!({"type": "ControlPlaneHealthy", "status": status, "reason": "Said", "message": "", "lastTransitionTime":
           "2026-01-01T00:00:00Z"})
}

fn with(mut profile: Value, path: &str, value: Value) -> Value {
    let (above, last) = path.rsplit_once('/').unwrap();
    profile.pointer_mut(above).unwrap()[last] = value;
    profile
}

/// With the cluster id as a property.
fn called(profile: Value, id: &str) -> Value {
    with(
        profile,
        "/status/properties",
        json!([{"name": "cluster.clusterset.k8s.io", "value": id}]),
    )
}

fn put(host: &Server, object: Value) {
    if host.replace(object.clone()).is_err() {
        host.create(object).unwrap();
    }
}

fn delete(host: &Server, key: &str) {
    let (namespace, name) = key.split_once('/').unwrap();
    host.delete(
        "multicluster.x-k8s.io/v1alpha1",
        "ClusterProfile",
        Some(namespace),
        name,
    )
    .unwrap();
}

fn context(host: &Server) -> ProviderContext {
    ProviderContext::new(
        Some(Access::service("host", host.service())),
        TransportSettings::default(),
        CacheSettings::default(),
    )
}

fn read(host: &Server, provider: ClusterProfiles) -> Reader {
    Reader::with(&Arc::new(provider), context(host))
}
