use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{multicluster_controller, reconciler};

#[multicluster_controller(for = ConfigMap)]
struct Copier;

#[reconciler]
impl Clone for Copier {
    fn clone(&self) -> Self {
        Copier
    }
}

fn main() {}
