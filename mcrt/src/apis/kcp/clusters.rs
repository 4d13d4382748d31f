//! `LogicalCluster`, what a workspace says of itself, and `WorkspaceType`, what it is made by.
use super::{Condition, definition, or_default, resource};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A workspace from the inside, the only one of its kind there, called `cluster`: `core.kcp.io/v1alpha1`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LogicalCluster {
    /// Name, labels and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// What it was made with.
    #[serde(deserialize_with = "or_default")]
    pub spec: LogicalClusterSpec,
    /// How far it is.
    pub status: Option<LogicalClusterStatus>,
}

resource!(
    LogicalCluster,
    "core.kcp.io",
    "v1alpha1",
    "logicalclusters",
    ClusterResourceScope,
    LogicalClusterSpec,
    LogicalClusterStatus
);

/// What a workspace was made with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LogicalClusterSpec {
    /// Whether it can be deleted from the inside.
    pub directly_deletable: bool,
    /// The object that it belongs to, in another workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Value>,
    /// Who asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Who has to do something before it is ready.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub initializers: Vec<String>,
    /// Who has to do something before it is gone.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub terminators: Vec<String>,
}

/// How far a workspace is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LogicalClusterStatus {
    /// Its address.
    #[serde(rename = "URL", skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `Scheduling`, `Initializing`, `Ready`, `Unavailable`, `Inactive`, `Terminating`, `Deleting`, or empty.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub phase: String,
    /// How it fares; one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// Who still has to do something before it is ready.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub initializers: Vec<String>,
    /// Who still has to do something before it is gone.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub terminators: Vec<String>,
}

impl LogicalCluster {
    /// Whether it is being initialized and waits for one of these.
    pub fn waits_for(&self, initializers: &[&str]) -> bool {
        self.status.as_ref().is_some_and(|status| {
            let mut waited_for = status.initializers.iter();
            status.phase == "Initializing" && waited_for.any(|one| initializers.contains(&one.as_str()))
        })
    }

    /// The definition of the kind.
    pub fn crd() -> CustomResourceDefinition {
        definition(include_str!("logicalcluster.yaml"))
    }
}

/// What workspaces of a type have in common: `tenancy.kcp.io/v1alpha1`. Of it only what tells where workspaces of the
/// type are reached while they are initialized.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct WorkspaceType {
    /// Name, labels and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// What it asks for.
    #[serde(deserialize_with = "or_default")]
    pub spec: WorkspaceTypeSpec,
    /// Where its workspaces are reached.
    pub status: Option<WorkspaceTypeStatus>,
}

resource!(
    WorkspaceType,
    "tenancy.kcp.io",
    "v1alpha1",
    "workspacetypes",
    ClusterResourceScope,
    WorkspaceTypeSpec,
    WorkspaceTypeStatus
);

/// What a type of workspaces asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkspaceTypeSpec {
    /// Whether somebody initializes its workspaces.
    pub initializer: bool,
}

/// Where the workspaces of a type are reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkspaceTypeStatus {
    /// How it fares; one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// The addresses, one for each shard and purpose.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub virtual_workspaces: Vec<VirtualWorkspace>,
}

/// Where one shard serves workspaces of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct VirtualWorkspace {
    /// Its address.
    #[serde(deserialize_with = "or_default")]
    pub url: String,
    /// `initializing` or `terminating`; older kcp does not say it.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
}

impl VirtualWorkspace {
    /// Whether it serves workspaces that are being initialized.
    pub fn is_initializing(&self) -> bool {
        match self.type_.as_deref() {
            Some(said) => said == "initializing",
            None => self.url.contains("/initializingworkspaces/"),
        }
    }
}
