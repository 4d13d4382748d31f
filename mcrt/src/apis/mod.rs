//! Kinds that other projects define and that fleets are described by, as resources for kube.
//!
//! They are read leniently: what is missing or null is empty, what is not known is passed over. Each kind that
//! describes clusters has a `crd()`, for clusters and simulated servers that lack the definition; where its project installs one, that one
//! counts.
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::{Deserialize, Deserializer};

pub mod cluster_api;
pub mod cluster_profile;
pub mod cluster_property;
pub mod kcp;

/// Makes a struct of `metadata`, `spec` and, where it is named, an optional `status` a resource of one version: to be
/// read, and to be written with its `apiVersion` and `kind`.
macro_rules! resource {
    ($type:ident, $group:literal, $version:literal, $plural:literal, $scope:ident, $spec:ty $(, $status:ty)?) => {
        impl kube::Resource for $type {
            type DynamicType = ();
            type Scope = kube::core::$scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($type).into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &kube::core::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                &mut self.metadata
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                #[serde(rename_all = "camelCase")]
                struct Written<'a> {
                    api_version: &'static str,
                    kind: &'static str,
                    metadata: &'a kube::core::ObjectMeta,
                    spec: &'a $spec,
                    $(
                        #[serde(skip_serializing_if = "Option::is_none")]
                        status: Option<&'a $status>,
                    )?
                }
                serde::Serialize::serialize(
                    &Written {
                        api_version: concat!($group, "/", $version),
                        kind: stringify!($type),
                        metadata: &self.metadata,
                        spec: &self.spec,
                        $(status: self.status.as_ref() as Option<&$status>,)?
                    },
                    serializer,
                )
            }
        }
    };
}
pub(crate) use resource;

/// A definition that is compiled in; tests read each.
pub(crate) fn definition(yaml: &str) -> CustomResourceDefinition {
    serde_saphyr::from_str(yaml).expect("a test reads every definition that is compiled in")
}

/// Reads null as what the field is without it: Go programs write null for lists that they never set.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
