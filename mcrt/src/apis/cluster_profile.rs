//! `ClusterProfile`, a cluster in the inventory of its manager (KEP-4322).
use super::{definition, or_default, resource};
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The condition that says whether the API server of the cluster is well.
pub const CONTROL_PLANE_HEALTHY: &str = "ControlPlaneHealthy";
/// The label with the name of the manager.
pub const CLUSTER_MANAGER_LABEL: &str = "x-k8s.io/cluster-manager";
/// The labels with the name of the cluster set, on the profile or on its namespace: as managers write it, and as the
/// proposal spells it.
pub const CLUSTER_SET_LABELS: [&str; 2] = [
    "multicluster.x-k8s.io/clusterset",
    "clusterset.multicluster.x-k8s.io",
];

/// One cluster in an inventory, as its manager describes it: `multicluster.x-k8s.io/v1alpha1`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ClusterProfile {
    /// Name, labels and the like.
    #[serde(deserialize_with = "or_default")]
    pub metadata: ObjectMeta,
    /// What the manager says once.
    #[serde(deserialize_with = "or_default")]
    pub spec: ClusterProfileSpec,
    /// What the manager observes.
    pub status: Option<ClusterProfileStatus>,
}

resource!(
    ClusterProfile,
    "multicluster.x-k8s.io",
    "v1alpha1",
    "clusterprofiles",
    NamespaceResourceScope,
    ClusterProfileSpec,
    ClusterProfileStatus
);

/// What the manager says once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfileSpec {
    /// The cluster's name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Whose inventory it is.
    #[serde(deserialize_with = "or_default")]
    pub cluster_manager: ClusterManager,
}

/// Who keeps an inventory; never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterManager {
    /// The manager's name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
}

/// What the manager observes. Several programs write it: apply what is yours, replace no list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfileStatus {
    /// How the cluster fares; one of each type.
    #[serde(deserialize_with = "or_default")]
    pub conditions: Vec<Condition>,
    /// Which versions it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ClusterVersion>,
    /// What is known of it; one of each name.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub properties: Vec<ClusterProfileProperty>,
    /// How it is reached; one of each name.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub access_providers: Vec<AccessProvider>,
    /// The former name of `accessProviders`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub credential_providers: Vec<AccessProvider>,
}

/// Which versions a cluster runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterVersion {
    /// Of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
}

/// Something known of a cluster: copied from its `ClusterProperty` objects, or its manager's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfileProperty {
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Its value.
    #[serde(deserialize_with = "or_default")]
    pub value: String,
    /// When it was seen in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_observed_time: Option<Time>,
}

/// A way to a cluster. Which program gives the credentials for it is known by its name, to whoever uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessProvider {
    /// What the way is called.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Where it leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<AccessProviderCluster>,
}

/// Where a way to a cluster leads: a cluster as kubeconfigs describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct AccessProviderCluster {
    /// The address of the API server. Empty until the manager knows it.
    #[serde(deserialize_with = "or_default")]
    pub server: String,
    /// Which name the server's certificate has to be for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// Whether the server's certificate is not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// A file of the manager's machine: of no use to anybody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority: Option<String>,
    /// The certificate authorities: PEM in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_authority_data: Option<String>,
    /// The proxy before the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Whether answers are not to be compressed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_compression: Option<bool>,
    /// More, by name: for the program that gives the credentials.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub extensions: Vec<NamedExtension>,
}

/// Something that the fields of a cluster have no place for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamedExtension {
    /// What it is called.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// What it says: an object, by the definition of the kind.
    pub extension: Value,
}

impl ClusterProfile {
    /// The definition of the kind.
    pub fn crd() -> CustomResourceDefinition {
        definition(include_str!("cluster_profile.yaml"))
    }

    /// The condition of that type.
    pub fn condition(&self, type_: &str) -> Option<&Condition> {
        let mut conditions = self.status.iter().flat_map(|status| &status.conditions);
        conditions.find(|condition| condition.type_ == type_)
    }

    /// The ways to the cluster by name: those of `credentialProviders`, those of `accessProviders` in their place.
    pub fn access_providers(&self) -> BTreeMap<&str, &AccessProvider> {
        let status = self.status.as_ref();
        let all = status.into_iter().flat_map(|status| {
            let former = status.credential_providers.iter();
            former.chain(&status.access_providers)
        });
        all.map(|provider| (provider.name.as_str(), provider)).collect()
    }

    /// The cluster set that its labels name.
    pub fn cluster_set(&self) -> Option<&str> {
        let labels = self.metadata.labels.as_ref()?;
        let mut named = CLUSTER_SET_LABELS.iter().filter_map(|label| labels.get(*label));
        named.next().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_go_programs_write_is_read() {
        let profile: ClusterProfile = serde_json::from_value(json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile",
            "metadata": {"name": "a", "namespace": "n", "creationTimestamp": null},
            "spec": {"clusterManager": {"name": "m"}, "displayName": null, "later": 1},
            "status": {
                "conditions": null, "version": {}, "properties": [{"name": "p", "value": "v", "lastObservedTime": null}],
                "accessProviders": [{"name": "x", "cluster": {
                    "server": "https://s", "tls-server-name": "t", "certificate-authority-data": "Y2E=",
                    "extensions": [{"name": "e", "extension": {"k": 1}}, {"name": "null", "extension": null}],
                }}, {"name": "y", "cluster": null}],
                "credentialProviders": null,
            },
        }))
        .unwrap();
        let status = profile.status.as_ref().unwrap();
        assert_eq!(status.properties[0].value, "v");
        let cluster = status.access_providers[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.tls_server_name.as_deref(), Some("t"));
        assert_eq!(cluster.extensions[0].extension, json!({"k": 1}));
        assert_eq!(status.access_providers[1].cluster, None);
        assert_eq!(profile.condition(CONTROL_PLANE_HEALTHY), None);
    }

    #[test]
    fn what_is_missing_is_empty() {
        let profile: ClusterProfile = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        assert_eq!(profile.spec.cluster_manager.name, "");
        assert!(profile.access_providers().is_empty());
    }

    #[test]
    fn what_is_written_has_its_kind_and_no_null() {
        let mut profile = ClusterProfile::default();
        profile.spec.cluster_manager.name = "m".into();
        assert_eq!(
            serde_json::to_value(&profile).unwrap(),
            json!({
                "apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ClusterProfile", "metadata": {},
                "spec": {"clusterManager": {"name": "m"}},
            })
        );
        profile.status = Some(ClusterProfileStatus::default());
        let written = serde_json::to_value(&profile).unwrap();
        assert_eq!(written["status"], json!({"conditions": []}));
    }

    #[test]
    fn access_providers_stand_in_the_place_of_former_ones_of_the_same_name() {
        let way = |name: &str, server: &str| json!({"name": name, "cluster": {"server": server}});
        let profile: ClusterProfile = serde_json::from_value(json!({"status": {
            "credentialProviders": [way("a", "old"), way("b", "old")], "accessProviders": [way("b", "new")],
        }}))
        .unwrap();
        let servers: Vec<_> = profile
            .access_providers()
            .into_iter()
            .map(|(name, way)| (name, way.cluster.as_ref().unwrap().server.as_str()))
            .collect();
        assert_eq!(servers, [("a", "old"), ("b", "new")]);
    }

    #[test]
    fn the_definition_is_of_the_kind_and_has_maps_of_named_parts() {
        let crd = serde_json::to_value(ClusterProfile::crd()).unwrap();
        assert_eq!(crd["metadata"]["name"], "clusterprofiles.multicluster.x-k8s.io");
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        let status = &schema["status"]["properties"];
        for (list, key) in [
            ("conditions", "type"),
            ("properties", "name"),
            ("accessProviders", "name"),
            ("credentialProviders", "name"),
        ] {
            assert_eq!(status[list]["x-kubernetes-list-type"], "map", "{list}");
            assert_eq!(status[list]["x-kubernetes-list-map-keys"], json!([key]), "{list}");
        }
        let rule = &schema["spec"]["properties"]["clusterManager"]["x-kubernetes-validations"][0]["rule"];
        assert_eq!(rule, "self == oldSelf");
    }
}
