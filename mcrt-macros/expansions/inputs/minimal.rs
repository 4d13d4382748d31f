//! A kind, and a function that reconciles it.

#[multicluster_controller(for = ConfigMap)]
pub struct TeamTokens {
    issuer: String,
}

#[reconciler]
impl TeamTokens {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }
}
