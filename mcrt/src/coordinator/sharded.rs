//! Shares the clusters with other replicas for as long as the manager runs.
use super::{leases::Leases, names, session::Session, sharding::Sharding, view::View, work::Work};
use crate::{
    cache::WatchScope,
    cluster::{ClusterName, ObjectKey},
    fleet::Fleet,
    provider::{ProviderContext, host::HostReader},
};
use k8s_openapi::api::coordination::v1::Lease;
use kube::core::ApiResource;
use std::pin::pin;
use tokio_util::sync::CancellationToken;

/// Has the fleet work on this replica's part of the clusters until `stop`; then closes the fleet, renewing the session
/// for as long as that takes, and says that it has ended.
pub(crate) async fn coordinate(
    fleet: Fleet,
    sharding: Sharding,
    cx: ProviderContext,
    stop: CancellationToken,
) {
    let mut reader = match HostReader::new(&cx) {
        Ok(reader) => reader,
        Err(error) => {
            tracing::error!(error, "the clusters cannot be shared: nothing is worked on");
            stop.cancelled().await;
            return fleet.close().await;
        }
    };
    let client = reader.client();
    let namespace = sharding.namespace.clone();
    let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
    let mut scope = WatchScope::all(ApiResource::erase::<Lease>(&()));
    scope.namespaces = [namespace.clone()].into();
    scope.labels = Some(format!("{}={}", names::GROUP, sharding.group));
    let store = reader
        .watch(scope, (), |lease: &Lease| vec![ObjectKey::of(lease)])
        .await;
    let leases = Leases::new(
        client,
        &namespace,
        &sharding.group,
        sharding.lease,
        sharding.lease / 10,
    );
    let mut view = View::new(&sharding.group, reader, store);
    while !stop.is_cancelled() {
        let begun = stop
            .run_until_cancelled(Session::begin(&sharding, leases.clone()))
            .await;
        if let Some(session) = begun {
            share(&fleet, &sharding, session, &leases, &mut view, &stop).await;
        }
    }
    fleet.close().await;
    view.into_reader().close().await;
}

/// Works for the length of one session.
async fn share(
    fleet: &Fleet,
    sharding: &Sharding,
    mut session: Session,
    leases: &Leases,
    view: &mut View,
    stop: &CancellationToken,
) {
    let me = session.me.clone();
    tracing::info!(replica = me.id, group = sharding.group, "shares the clusters");
    let mut work = Work::new(fleet.clone(), leases.clone(), me.clone(), view, sharding.lease);
    let is_stopping = tokio::select! {
        biased;
        () = session.keep(fleet) => false,
        () = stop.cancelled() => true,
        () = work.go_on() => false,
    };
    if is_stopping {
        let mut closing = pin!(fleet.close());
        tokio::select! {
            biased;
            () = &mut closing => {}
            // Nothing more is sent; what still runs comes to its end.
            () = session.keep(fleet) => {
                fleet.withdraw(&ClusterName::host()).cut();
                closing.await;
            }
        }
    } else {
        tracing::error!(
            replica = me.id,
            "the session could not be renewed in time: all work stops, before another replica can take it over"
        );
        work.stop(session.works_until()).await;
    }
    if let Err(failure) = session.end().await {
        tracing::warn!(replica = me.id, error = %failure, "nobody could be told that the session has ended: others wait for its Lease to run out");
    }
}
