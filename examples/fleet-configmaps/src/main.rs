//! Prints a line for every ConfigMap of every cluster, and again when one changes.
use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{Action, Context, multicluster_controller, reconciler};
use std::sync::Arc;

/// Looks at every ConfigMap of the fleet.
#[multicluster_controller(for = ConfigMap, name = "fleet-configmaps")]
pub(crate) struct FleetConfigMaps;

#[reconciler]
impl FleetConfigMaps {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let meta = &config.metadata;
        println!(
            "cluster={} namespace={} name={}",
            cx.cluster(),
            meta.namespace.as_deref().unwrap_or_default(),
            meta.name.as_deref().unwrap_or_default(),
        );
        Ok(Action::await_change())
    }
}

#[tokio::main]
async fn main() -> mcrt::Result<()> {
    mcrt::run(FleetConfigMaps).await
}
