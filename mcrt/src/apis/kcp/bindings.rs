//! `APIBinding`, by which a workspace takes part in an export.
use super::{Condition, ExportReference, READY, condition, definition, or_default, resource};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a workspace takes from an export, and what it grants it: `apis.kcp.io/v1alpha2`. Older
/// kcp serves `v1alpha1` alone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct APIBinding {
    /// Name, labels and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// What the workspace wants.
    #[serde(deserialize_with = "or_default")]
    pub spec: APIBindingSpec,
    /// What has come of it.
    pub status: Option<APIBindingStatus>,
}

resource!(
    APIBinding,
    "apis.kcp.io",
    "v1alpha2",
    "apibindings",
    ClusterResourceScope,
    APIBindingSpec,
    APIBindingStatus
);

/// What a workspace wants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct APIBindingSpec {
    /// What is bound.
    #[serde(deserialize_with = "or_default")]
    pub reference: BindingReference,
    /// Which further resources the export's owner may see, as the versions spell it.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub permission_claims: Vec<Value>,
}

/// What is bound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BindingReference {
    /// The export; never changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export: Option<ExportReference>,
}

/// What has come of a binding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct APIBindingStatus {
    /// The name of the logical cluster that has the export.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_export_cluster_name: Option<String>,
    /// `Binding`, `Bound`, or empty.
    #[serde(skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub phase: String,
    /// How it fares; one of each type.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// What is bound, as the versions spell it.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub bound_resources: Vec<Value>,
}

impl APIBinding {
    /// Whether it says `Ready`; one that has no such condition yet is not.
    pub fn is_ready(&self) -> bool {
        let conditions = self.status.as_ref().map_or(&[][..], |status| &status.conditions);
        condition(conditions, READY).is_some_and(|ready| ready.status == "True")
    }

    /// The definition of the kind, in both versions.
    pub fn crd() -> CustomResourceDefinition {
        definition(include_str!("apibinding.yaml"))
    }
}

pub mod v1alpha1 {
    //! The version that older kcp serves alone.
    use super::{APIBindingSpec, APIBindingStatus, or_default, resource};
    use kube::core::ObjectMeta;
    use serde::Deserialize;

    /// As [`super::APIBinding`], under its former version.
    #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    pub struct APIBinding {
        /// Name, labels and the like.
        #[serde(deserialize_with = "or_default")]
        pub metadata: ObjectMeta,
        /// What the workspace wants.
        #[serde(deserialize_with = "or_default")]
        pub spec: APIBindingSpec,
        /// What has come of it.
        pub status: Option<APIBindingStatus>,
    }

    resource!(
        APIBinding,
        "apis.kcp.io",
        "v1alpha1",
        "apibindings",
        ClusterResourceScope,
        APIBindingSpec,
        APIBindingStatus
    );

    impl From<APIBinding> for super::APIBinding {
        fn from(former: APIBinding) -> Self {
            Self {
                metadata: former.metadata,
                spec: former.spec,
                status: former.status,
            }
        }
    }
}
