//! The task that keeps the lane of one engagement, as its cluster fares and as its watches tell what exists.
use super::{
    engagement::Engagement,
    gate::{Gate, Gating},
    runtime::Shared,
};
use crate::{cache::WatchState, fleet::Step};
use std::{sync::Arc, time::Duration};

/// How long a lane waits for its watches before that is reported, and reported again.
const GATE_REPORT: Duration = Duration::from_secs(30);

/// Keeps the lane open while the cluster answers and every watch has told what exists, until it is dropped. A
/// controller that uses the host finds it: not synced perhaps, which its stores say, but there.
pub(super) async fn keep_lane(
    shared: Arc<Shared>,
    engagement: Arc<Engagement>,
    uses_host: bool,
    enqueue_all: impl Fn(&Shared, &Engagement),
) {
    tokio::join!(
        follow_health(&shared, &engagement, enqueue_all),
        follow_watches(&shared, &engagement, uses_host),
    );
}

/// From the first moment on: others wait for the cluster to be back, though its own lane may never have opened.
///
/// Of the host it follows too whether the work there is this replica's. If it comes to be, all objects are looked at:
/// what another began, and when it wanted to look again, is not known here.
async fn follow_health(shared: &Shared, engagement: &Engagement, enqueue_all: impl Fn(&Shared, &Engagement)) {
    let is_host = engagement.cluster.is_host();
    let duty = shared.fleet.host_duty();
    let mut turn = duty.turn();
    let mut health = engagement.cluster.health_changes();
    let mut circuit = engagement.cluster.transport().breaker().changes();
    loop {
        shared.regulate(engagement);
        // The senders are in the cluster.
        tokio::select! {
            _ = health.changed() => {}
            _ = circuit.changed() => {}
            () = duty.changed_since(turn), if is_host => {
                turn = duty.turn();
                if turn.0 {
                    enqueue_all(shared, engagement);
                }
            }
        }
    }
}

async fn follow_watches(shared: &Shared, engagement: &Arc<Engagement>, uses_host: bool) {
    let say = |waits_for: String| {
        tracing::warn!(
            controller = %shared.name, cluster = %engagement.cluster, %waits_for,
            "nothing of this cluster is reconciled yet; going on waiting",
        );
    };
    let mut gate = Gate::of(engagement);
    let mut told = Vec::new();
    patiently(first_open(shared, engagement, &mut gate), || {
        let waits_for = engagement.waits_for();
        // What is under way should end, unless an outage holds it up, which is said elsewhere; a kind may be absent
        // for ever, and is said once.
        let under_way = |gating: &Gating| gating.state == WatchState::Syncing;
        if !engagement.is_down() && (waits_for != told || waits_for.iter().any(under_way)) {
            let watches: Vec<_> = waits_for.iter().map(ToString::to_string).collect();
            say(watches.join(", "));
            told = waits_for;
        }
    })
    .await;
    if uses_host {
        let mut host = shared.host.subscribe();
        let attached = async {
            // The sender is in `shared`.
            let _ = host.wait_for(Option::is_some).await;
        };
        patiently(attached, || say("the host to be attached".to_owned())).await;
    }
    engagement.cluster.reach(Step::Started).await;
    loop {
        // The reconciled kind may not have been served and appear: nothing runs until it is told what there is of it.
        shared.start_lane(engagement, gate.is_open());
        gate.changed().await;
    }
}

/// Waits until every kind that gates is known. Work in other clusters needs the reconciled kind alone: it is let go as
/// soon as that is known, whatever this lane still waits for.
async fn first_open(shared: &Shared, engagement: &Engagement, gate: &mut Gate) {
    loop {
        // Looked at before anything is let go: what becomes known later is a change.
        let open = gate.is_open();
        shared.release_waiting(engagement.cluster.name());
        if open {
            return;
        }
        gate.changed().await;
    }
}

/// Waits, and says so from time to time.
async fn patiently(wait: impl Future<Output = ()>, mut say: impl FnMut()) {
    let mut wait = std::pin::pin!(wait);
    while tokio::time::timeout(GATE_REPORT, &mut wait).await.is_err() {
        say();
    }
}
