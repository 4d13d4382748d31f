//! `crate` replaces the path of mcrt in both halves.

#[multicluster_controller(crate = ::facade::runtime, for = ConfigMap, owns = Secret, watches(Node, on = host))]
struct TeamTokens;

#[reconciler(crate = ::facade::runtime)]
impl TeamTokens {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
        todo!()
    }

    #[facade::runtime::index]
    fn by_team(config: &ConfigMap) -> Option<String> {
        todo!()
    }

    #[map]
    fn moved(&self, node: &Node, cx: MapContext<Self>) -> Vec<Request<ConfigMap>> {
        todo!()
    }
}
