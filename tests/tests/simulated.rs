//! Behaviour on the simulated fleet.
use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::{
    Action, Context, ControllerBuilder, HandWired, Manager, Reconciler, Watch, connect::Access,
    provider::ClusterSpec, providers::Clusters,
};
use mcrt_tests::eventually;
use parking_lot::Mutex;
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeSet<String>>>);
impl HandWired for Seen {}
impl Reconciler for Seen {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        self.0.lock().insert(cx.request().to_string());
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn every_object_of_every_cluster_is_reconciled() {
    let clusters = Clusters::new();
    for name in ["a", "b", "c"] {
        let server = mcrt_sim::Server::new(name);
        clusters
            .add(ClusterSpec::new(
                name.try_into().unwrap(),
                server.uid(),
                Access::service(name, server.service()),
            ))
            .unwrap();
    }
    let seen = Seen::default();
    let mut wiring = ControllerBuilder::new("seen");
    wiring.for_kind(Watch::new());
    let manager = Manager::builder()
        .provider(clusters)
        .controller(wiring.build(seen.clone()).unwrap())
        .build()
        .unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.run(stop.clone().cancelled_owned()));
    eventually(Duration::from_secs(30), "nine objects", async || {
        let seen = seen.0.lock();
        if seen.len() == 9 {
            Ok(())
        } else {
            Err(format!("{seen:?}"))
        }
    })
    .await;
    stop.cancel();
    running.await.unwrap();
}
