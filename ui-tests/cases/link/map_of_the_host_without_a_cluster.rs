use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::kube::runtime::reflector::ObjectRef;
use mcrt::{Action, Context, MapContext, multicluster_controller, reconciler};
use std::sync::Arc;

#[multicluster_controller(for = ConfigMap, watches(Secret, on = host))]
struct Copier;

#[reconciler]
impl Copier {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        drop((config, cx));
        Ok(Action::await_change())
    }

    #[map]
    fn rotated(&self, key: &Secret, cx: MapContext<Self>) -> Vec<ObjectRef<ConfigMap>> {
        drop((key.clone(), cx));
        Vec::new()
    }
}

fn main() {}
