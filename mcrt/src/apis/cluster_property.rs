//! `ClusterProperty`, what a cluster says of itself (KEP-2149).
use super::{definition, or_default, resource};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};

/// The property with the cluster's id, unique in its cluster set for as long as it is a member.
pub const CLUSTER_ID: &str = "cluster.clusterset.k8s.io";
/// The property with the name of the cluster set; there only while the cluster is a member.
pub const CLUSTER_SET: &str = "clusterset.k8s.io";

/// One property of the cluster that it is in, called like the object: `about.k8s.io/v1beta1`. Clusters of before 2026
/// may serve `v1alpha1` alone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ClusterProperty {
    /// Name, labels and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// The property.
    #[serde(deserialize_with = "or_default")]
    pub spec: ClusterPropertySpec,
}

resource!(
    ClusterProperty,
    "about.k8s.io",
    "v1beta1",
    "clusterproperties",
    ClusterResourceScope,
    ClusterPropertySpec
);

/// A property.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterPropertySpec {
    /// Its value.
    #[serde(deserialize_with = "or_default")]
    pub value: String,
}

impl ClusterProperty {
    /// A property of this name and value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        let metadata = ObjectMeta {
            name: Some(name.into()),
            ..ObjectMeta::default()
        };
        let spec = ClusterPropertySpec { value: value.into() };
        Self { metadata, spec }
    }

    /// The definition of the kind, in both versions.
    pub fn crd() -> CustomResourceDefinition {
        definition(include_str!("cluster_property.yaml"))
    }
}

pub mod v1alpha1 {
    //! The version that clusters of before 2026 serve.
    use super::{ClusterPropertySpec, or_default, resource};
    use kube::core::ObjectMeta;
    use serde::Deserialize;

    /// As [`super::ClusterProperty`], under its former version.
    #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    pub struct ClusterProperty {
        /// Name, labels and the like.
        #[serde(deserialize_with = "or_default")]
        pub metadata: ObjectMeta,
        /// The property.
        #[serde(deserialize_with = "or_default")]
        pub spec: ClusterPropertySpec,
    }

    resource!(
        ClusterProperty,
        "about.k8s.io",
        "v1alpha1",
        "clusterproperties",
        ClusterResourceScope,
        ClusterPropertySpec
    );

    impl From<ClusterProperty> for super::ClusterProperty {
        fn from(former: ClusterProperty) -> Self {
            Self {
                metadata: former.metadata,
                spec: former.spec,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::Resource;
    use serde_json::json;

    #[test]
    fn the_definition_serves_both_versions_and_stores_the_newer() {
        let crd = ClusterProperty::crd();
        let versions: Vec<_> = crd.spec.versions.iter().map(|v| (&*v.name, v.storage)).collect();
        assert_eq!(versions, [("v1beta1", true), ("v1alpha1", false)]);
        assert!(
            versions
                .iter()
                .any(|(name, _)| *name == ClusterProperty::version(&()))
        );
        assert!(
            versions
                .iter()
                .any(|(name, _)| *name == v1alpha1::ClusterProperty::version(&()))
        );
    }

    #[test]
    fn one_without_a_value_is_read_as_empty_and_written_as_it_is() {
        let read: ClusterProperty =
            serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": {"value": null}, "status": {}}))
                .unwrap();
        assert_eq!(read, ClusterProperty::new("a", ""));
        assert_eq!(
            serde_json::to_value(&read).unwrap(),
            json!({"apiVersion": "about.k8s.io/v1beta1", "kind": "ClusterProperty", "metadata": {"name": "a"},
                   "spec": {"value": ""}})
        );
    }
}
