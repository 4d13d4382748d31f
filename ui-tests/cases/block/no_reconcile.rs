use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{multicluster_controller, reconciler};

#[multicluster_controller(for = ConfigMap)]
struct Copier;

#[reconciler]
impl Copier {
    fn helper(&self) {}
}

fn main() {}
