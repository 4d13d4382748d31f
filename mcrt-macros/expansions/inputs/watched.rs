//! A watched kind is mapped; on `metadata_only` the function takes the metadata.

#[multicluster_controller(for = ConfigMap, watches(Secret, on = host), watches(v1::Node, on = all, metadata_only))]
struct TeamTokens;

#[reconciler]
impl TeamTokens {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }

    #[map]
    fn rotated(&self, key: &Secret, cx: MapContext<Self>) -> Vec<Request<ConfigMap>> {
        todo!()
    }

    #[map]
    fn moved(&self, node: &PartialObjectMeta<v1::Node>, cx: MapContext<Self>) -> Option<Request<ConfigMap>> {
        todo!()
    }
}
