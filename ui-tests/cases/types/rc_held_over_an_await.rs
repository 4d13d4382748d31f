use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{Action, Context, multicluster_controller, reconciler};
use std::rc::Rc;
use std::sync::Arc;

#[multicluster_controller(for = ConfigMap)]
struct Copier;

#[reconciler]
impl Copier {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        drop((config, cx));
        let count = Rc::new(1);
        std::future::ready(()).await;
        println!("{count}");
        Ok(Action::await_change())
    }
}

fn main() {}
