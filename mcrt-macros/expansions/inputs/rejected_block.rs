//! A block with a mistake: the block, the error, a stand-in that keeps the index.

#[reconciler]
impl TeamTokens {
    #[reconcile]
    fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }

    #[index]
    pub fn by_team(config: &ConfigMap) -> Option<String> {
        todo!()
    }
}
