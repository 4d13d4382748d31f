//! A controller that sees nothing but metadata: requests are of what it reconciles.

#[multicluster_controller(for(ConfigMap, metadata_only), watches = Secret)]
struct TeamTokens;

#[reconciler]
impl TeamTokens {
    #[reconcile]
    async fn reconcile(&self, config: Arc<PartialObjectMeta<ConfigMap>>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }

    #[map]
    fn rotated(&self, key: &Secret, cx: MapContext<Self>) -> Vec<Request<PartialObjectMeta<ConfigMap>>> {
        todo!()
    }
}
