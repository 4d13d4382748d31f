//! Type parameters are not available yet: both stand-ins are generic.

#[multicluster_controller(for = ConfigMap)]
struct TeamTokens<T: Sign>
where
    T: Clone,
{
    signer: T,
}

#[reconciler]
impl<T: Sign> TeamTokens<T>
where
    T: Clone,
{
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }
}
