use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::multicluster_controller;

#[multicluster_controller(for = ConfigMap)]
struct Copier;

fn main() {}
