//! A provider of the application's own.

#[multicluster_controller(for = ConfigMap, provider = inventory::Clusters::from_env("CLUSTERS"))]
struct TeamTokens;
