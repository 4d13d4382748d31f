//! Every function that takes an object and a context.

#[reconciler]
impl TeamTokens {
    const ISSUER: &str = "mcrt";

    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }

    #[gone]
    async fn forget(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> std::io::Result<()> {
        todo!()
    }

    #[error_policy]
    fn later(&self, config: Arc<ConfigMap>, error: &Error, cx: Context<Self>) -> Action {
        todo!()
    }

    /// Not marked, not touched.
    #[must_use]
    fn token(&self) -> String {
        todo!()
    }
}
