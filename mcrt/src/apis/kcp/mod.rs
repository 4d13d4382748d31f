//! Kinds of kcp: where the workspaces that bind an export are reached, which they are, and what each says of itself.
use super::{definition, or_default, resource};
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

mod bindings;
mod clusters;
#[cfg(test)]
mod tests;

pub use bindings::{APIBinding, APIBindingSpec, APIBindingStatus, BindingReference, v1alpha1};
pub use clusters::{
    LogicalCluster, LogicalClusterSpec, LogicalClusterStatus, VirtualWorkspace, WorkspaceType,
    WorkspaceTypeSpec, WorkspaceTypeStatus,
};

/// The annotation with the name of the logical cluster that an object is in. Every object of kcp has it.
pub const CLUSTER: &str = "kcp.io/cluster";
/// The annotation with the path of the workspace that an object is in, on what others refer to by path.
pub const PATH: &str = "kcp.io/path";
/// The condition that sums up the others.
pub const READY: &str = "Ready";

/// Where the workspaces that bind an export are reached: `apis.kcp.io/v1alpha1`.
///
/// Every shard that has bindings adds its address, and takes it out when it has none any more.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct APIExportEndpointSlice {
    /// Name, labels and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// Of what it is.
    #[serde(deserialize_with = "or_default")]
    pub spec: APIExportEndpointSliceSpec,
    /// What the shards say.
    pub status: Option<APIExportEndpointSliceStatus>,
}

resource!(
    APIExportEndpointSlice,
    "apis.kcp.io",
    "v1alpha1",
    "apiexportendpointslices",
    ClusterResourceScope,
    APIExportEndpointSliceSpec,
    APIExportEndpointSliceStatus
);

/// Of what a slice is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct APIExportEndpointSliceSpec {
    /// The export; never changes.
    #[serde(deserialize_with = "or_default")]
    pub export: ExportReference,
    /// The partition whose shards count, instead of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
}

/// An export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportReference {
    /// The workspace that has it, by its path or the name of its logical cluster; without it the same workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// What the shards say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct APIExportEndpointSliceStatus {
    /// How it fares; one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// The addresses, one for each shard; each once.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub endpoints: Vec<Endpoint>,
    /// The shards that count, as a label selector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard_selector: Option<String>,
}

/// Where one shard serves a virtual workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    /// Its address.
    #[serde(deserialize_with = "or_default")]
    pub url: String,
}

/// How something fares, as kcp says it: unlike those of Kubernetes its conditions may lack reason and message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// Which question it answers.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// How bad it is where it is not `True`: `Error`, `Warning` or `Info`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    /// Since when the status is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why, in a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl APIExportEndpointSlice {
    /// The definition of the kind.
    pub fn crd() -> CustomResourceDefinition {
        definition(include_str!("apiexportendpointslice.yaml"))
    }
}

/// The condition of a type, if it is there.
pub fn condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}
