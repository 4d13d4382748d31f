//! Raw identifiers lose their prefix where they become names.

#[multicluster_controller(for = r#struct::Kind)]
struct r#Type;

#[reconciler]
impl r#Type {
    #[reconcile]
    async fn r#loop(&self, object: Arc<r#struct::Kind>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }
}
