use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{Context, multicluster_controller, reconciler};
use std::sync::Arc;

#[multicluster_controller(for = ConfigMap)]
struct Copier;

#[reconciler]
impl Copier {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) {
        drop((config, cx));
    }
}

fn main() {}
