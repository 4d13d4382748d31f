use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{Action, Context, multicluster_controller, reconciler};
use std::sync::Arc;

#[multicluster_controller(for = ConfigMap, clusters(names("prod", "")))]
struct Copier;

#[reconciler]
impl Copier {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        drop((config, cx));
        Ok(Action::await_change())
    }
}

fn main() {}
