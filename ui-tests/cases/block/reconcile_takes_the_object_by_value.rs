use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{Action, Context, multicluster_controller, reconciler};

#[multicluster_controller(for = ConfigMap)]
struct Copier;

#[reconciler]
impl Copier {
    #[reconcile]
    async fn reconcile(&self, config: ConfigMap, cx: Context<Self>) -> mcrt::Result<Action> {
        drop((config, cx));
        Ok(Action::await_change())
    }
}

fn main() {}
