//! `Cluster` of Cluster API, a cluster that is being made, run or taken down.
use super::{definition, or_default, resource};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ApiResource, ObjectMeta};
use serde::{Deserialize, Serialize};

/// The API group.
pub const GROUP: &str = "cluster.x-k8s.io";
/// The versions that are read, the newest first. Cluster API before 1.11 serves `v1beta1` alone.
pub const VERSIONS: [&str; 2] = ["v1beta2", "v1beta1"];
/// The label with the name of the cluster that an object belongs to.
pub const CLUSTER_NAME_LABEL: &str = "cluster.x-k8s.io/cluster-name";
/// The annotation that pauses what is done for an object, whatever its value.
pub const PAUSED_ANNOTATION: &str = "cluster.x-k8s.io/paused";
/// The condition that says that the control plane has answered once; once true, it stays so.
pub const CONTROL_PLANE_INITIALIZED: &str = "ControlPlaneInitialized";
/// The condition that says that the control plane is available, as far as its object knows.
pub const CONTROL_PLANE_AVAILABLE: &str = "ControlPlaneAvailable";
/// The condition that says that Cluster API itself reaches the cluster.
pub const REMOTE_CONNECTION_PROBE: &str = "RemoteConnectionProbe";

/// A cluster of Cluster API: `cluster.x-k8s.io/v1beta2`, and all of `v1beta1` that is needed to tell the same of it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Cluster {
    /// Name, labels and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "or_default")]
    pub spec: ClusterSpec,
    /// What is there.
    pub status: Option<ClusterStatus>,
}

resource!(
    Cluster,
    "cluster.x-k8s.io",
    "v1beta2",
    "clusters",
    NamespaceResourceScope,
    ClusterSpec,
    ClusterStatus
);

/// What is wanted of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSpec {
    /// Whether nothing is done for the cluster for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Where the API server is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<Endpoint>,
    /// The object that makes the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_ref: Option<Reference>,
    /// The object that makes the infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<Reference>,
    /// Of which class it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
}

/// Where an API server is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    /// A host name or address.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// A port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}

/// An object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reference {
    /// Its group, in `v1beta2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Its group and version, in `v1beta1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Its kind.
    #[serde(deserialize_with = "or_default")]
    pub kind: String,
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

impl Reference {
    /// The group of the object, in either version.
    pub fn group(&self) -> &str {
        let version = self.api_version.as_deref().unwrap_or_default();
        let of_version = version.split_once('/').map_or("", |(group, _)| group);
        self.api_group.as_deref().unwrap_or(of_version)
    }
}

/// Of which class a cluster is, and which version of Kubernetes it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Topology {
    /// The class, in `v1beta2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_ref: Option<ClassReference>,
    /// The name of the class, in `v1beta1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The version of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Topology {
    /// The name of the class, in either version.
    pub fn class(&self) -> Option<&str> {
        let of_ref = self.class_ref.as_ref().map(|class| &*class.name);
        of_ref.or(self.class.as_deref()).filter(|class| !class.is_empty())
    }
}

/// The class of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassReference {
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Its namespace, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// What is there of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// What has been done once, in `v1beta2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Whether the control plane is ready, in `v1beta1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_ready: Option<bool>,
    /// `Pending`, `Provisioning`, `Provisioned`, `Deleting`, `Failed` or `Unknown`. For people: it waits for workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// How the cluster fares.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// The conditions of `v1beta2`, where `v1beta1` is read.
    #[serde(rename = "v1beta2", skip_serializing_if = "Option::is_none")]
    pub newer: Option<NewerStatus>,
}

/// What has been done once; never undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Initialization {
    /// The infrastructure is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_provisioned: Option<bool>,
    /// The control plane has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_initialized: Option<bool>,
}

/// What `v1beta1` says in the words of `v1beta2`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewerStatus {
    /// How the cluster fares.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
}

/// A condition in the form of either version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// Why, in a word.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl Cluster {
    /// Whether the control plane has ever answered, so that there is something to reach.
    pub fn is_control_plane_initialized(&self) -> bool {
        let Some(status) = &self.status else {
            return false;
        };
        let initialization = status.initialization.as_ref();
        initialization.and_then(|done| done.control_plane_initialized) == Some(true)
            || status.control_plane_ready == Some(true)
            || self.condition(CONTROL_PLANE_INITIALIZED) == Some("True")
    }

    /// Whether nothing is done for the cluster for now.
    pub fn is_paused(&self) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        self.spec.paused == Some(true)
            || annotations.is_some_and(|annotations| annotations.contains_key(PAUSED_ANNOTATION))
    }

    /// The status of a condition, in the words of `v1beta2` where both are there.
    pub fn condition(&self, type_: &str) -> Option<&str> {
        let status = self.status.as_ref()?;
        let newer = status.newer.iter().flat_map(|newer| &newer.conditions);
        newer
            .chain(&status.conditions)
            .find(|condition| condition.type_ == type_)
            .map(|condition| &*condition.status)
    }

    /// The kind in one of its [`VERSIONS`], to read it where the newest is not served.
    pub fn resource(version: &str) -> ApiResource {
        let mut resource = ApiResource::erase::<Self>(&());
        resource.api_version = format!("{GROUP}/{version}");
        version.clone_into(&mut resource.version);
        resource
    }

    /// The definition of the kind in both versions, as far as it is read here.
    pub fn crd() -> CustomResourceDefinition {
        definition(include_str!("cluster_api.yaml"))
    }

    /// As [`crd`](Self::crd), in `v1beta1` alone, as before Cluster API 1.11.
    pub fn crd_v1beta1() -> CustomResourceDefinition {
        let mut crd = Self::crd();
        crd.spec.versions.retain(|version| version.name == "v1beta1");
        for version in &mut crd.spec.versions {
            version.storage = true;
        }
        crd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(spec: &Value, status: &Value) -> Cluster {
        serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": spec, "status": status})).unwrap()
    }

    #[test]
    fn the_definition_serves_both_versions_and_stores_the_newer() {
        let versions = |crd: CustomResourceDefinition| -> Vec<_> {
            let versions = crd.spec.versions.into_iter();
            versions.map(|version| (version.name, version.storage)).collect()
        };
        let both = versions(Cluster::crd());
        assert_eq!(
            both,
            [("v1beta2".to_owned(), true), ("v1beta1".to_owned(), false)]
        );
        assert_eq!(versions(Cluster::crd_v1beta1()), [("v1beta1".to_owned(), true)]);
    }

    #[test]
    fn both_versions_say_when_the_control_plane_has_answered() {
        for (status, initialized) in [
            (json!(null), false),
            (json!({}), false),
            (json!({"initialization": null, "conditions": null}), false),
            (
                json!({"initialization": {"infrastructureProvisioned": true}}),
                false,
            ),
            (json!({"initialization": {"controlPlaneInitialized": true}}), true),
            (
                json!({"controlPlaneReady": false, "infrastructureReady": true, "phase": "Provisioned"}),
                false,
            ),
            (json!({"controlPlaneReady": true}), true),
            (
                json!({"conditions": [{"type": "ControlPlaneInitialized", "status": "True", "severity": null}]}),
                true,
            ),
            (
                json!({"conditions": [{"type": "ControlPlaneInitialized", "status": "False"}]}),
                false,
            ),
            (json!({"conditions": [{"status": "True"}, {}]}), false),
        ] {
            assert_eq!(
                read(&json!(null), &status).is_control_plane_initialized(),
                initialized,
                "{status}"
            );
        }
    }

    #[test]
    fn what_the_versions_say_differently_is_told_alike() {
        let older = read(
            &json!({"controlPlaneRef": {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "K", "name": "a",
                    "namespace": "x"}, "topology": {"class": "small", "version": "v1.33.0"}}),
            &json!({"conditions": [{"type": "Ready", "status": "True"}],
                    "v1beta2": {"conditions": [{"type": REMOTE_CONNECTION_PROBE, "status": "False"}]}}),
        );
        let newer = read(
            &json!({"controlPlaneRef": {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "K", "name": "a"},
                    "topology": {"classRef": {"name": "small"}, "version": "v1.33.0"}}),
            &json!({"conditions": [{"type": REMOTE_CONNECTION_PROBE, "status": "False", "reason": "ProbeFailed",
                    "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}),
        );
        for cluster in [older, newer] {
            assert_eq!(
                cluster.spec.control_plane_ref.as_ref().unwrap().group(),
                "controlplane.cluster.x-k8s.io"
            );
            let topology = cluster.spec.topology.as_ref().unwrap();
            assert_eq!(
                (topology.class(), topology.version.as_deref()),
                (Some("small"), Some("v1.33.0"))
            );
            assert_eq!(cluster.condition(REMOTE_CONNECTION_PROBE), Some("False"));
            assert_eq!(cluster.condition(CONTROL_PLANE_AVAILABLE), None);
        }
    }

    #[test]
    fn a_field_or_an_annotation_pauses() {
        let mut cluster = read(&json!({"paused": true}), &json!(null));
        assert!(cluster.is_paused());
        cluster.spec.paused = Some(false);
        assert!(!cluster.is_paused());
        cluster.metadata.annotations = Some([(PAUSED_ANNOTATION.to_owned(), String::new())].into());
        assert!(cluster.is_paused());
    }
}
