use mcrt::{Action, Context, multicluster_controller, reconciler};
use std::sync::Arc;

#[multicluster_controller(for = String)]
struct Copier;

#[reconciler]
impl Copier {
    #[reconcile]
    async fn reconcile(&self, config: Arc<String>, cx: Context<Self>) -> mcrt::Result<Action> {
        drop((config, cx));
        Ok(Action::await_change())
    }
}

fn main() {}
