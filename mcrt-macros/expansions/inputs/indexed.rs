//! Each index is a constant with the visibility of its function.

#[reconciler]
impl TeamTokens {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }

    #[index]
    pub(crate) fn by_team(config: &ConfigMap) -> Option<String> {
        todo!()
    }

    #[index]
    fn r#type(secret: &Secret) -> Vec<Self::Kind> {
        todo!()
    }

    #[index]
    fn by_owner(secret: &Secret) -> Owners {
        todo!()
    }
}
