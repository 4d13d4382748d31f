//! What a replica writes of itself and makes of others.
use super::*;
use crate::coordinator::{
    rendezvous::Peer,
    seen::{FenceLease, SessionLease},
    watched::{Sessions, Silent, Standing},
};
use kube::ResourceExt;

fn session(id: &str, version: &str) -> SessionLease {
    SessionLease {
        lease: names::session(GROUP, id),
        id: id.to_owned(),
        ended: false,
        weight: 1,
        duration: LEASE,
        version: version.to_owned(),
    }
}

fn me() -> Peer {
    Peer {
        id: "me".to_owned(),
        weight: 3,
    }
}

fn silent_as(lease: &str, version: Option<&str>) -> Silent {
    Silent {
        lease: lease.to_owned(),
        version: version.map(str::to_owned),
    }
}

fn ids(sessions: &Sessions) -> Vec<String> {
    let mut ids: Vec<_> = sessions
        .alive(&me(), Instant::now())
        .into_iter()
        .map(|peer| peer.id)
        .collect();
    ids.sort();
    ids
}

#[tokio::test(start_paused = true)]
async fn a_session_is_written_renewed_and_marked_when_it_ends_in_order() {
    let rig = Rig::new(1);
    let sharding = Rig::sharding("one").weight(5).lease(Duration::from_secs(20));
    let replica = rig.replica_of("one", sharding);
    rig.shared_by(&[&replica]).await;
    let sessions = rig.sessions().await;
    let [session] = &*sessions else {
        panic!("{sessions:?}")
    };
    assert!(session.id.starts_with("one_") && !session.ended, "{session:?}");
    assert_eq!((session.weight, session.duration), (5, Duration::from_secs(20)));
    let lease = rig.leases().get(&session.lease).await.unwrap();
    assert_eq!(lease.labels()[names::GROUP], GROUP);
    assert_eq!(lease.labels()[names::MANAGED_BY], "mcrt");
    sleep(Duration::from_secs(20)).await;
    let later = rig.leases().get(&session.lease).await.unwrap();
    assert_eq!(
        later.spec.clone().unwrap().acquire_time,
        lease.spec.clone().unwrap().acquire_time
    );
    assert!(
        later.resource_version() != lease.resource_version(),
        "it was renewed"
    );
    let id = session.id.clone();
    replica.leave().await;
    let sessions = rig.sessions().await;
    let [session] = &*sessions else {
        panic!("{sessions:?}")
    };
    assert!(session.ended && session.id == id, "{session:?}");
}

#[tokio::test(start_paused = true)]
async fn peers_are_those_of_the_group_that_were_seen_to_live_and_oneself() {
    let mut sessions = Sessions::default();
    assert_eq!(ids(&sessions), ["me"]);
    let none: [&FenceLease; 0] = [];
    let mut ended = session("ended", "1");
    ended.ended = true;
    let both = [session("a", "1"), session("b", "1"), ended.clone()];
    sessions.look(GROUP, both, none, Instant::now());
    assert_eq!(ids(&sessions), ["a", "b", "me"]);
    sleep(LEASE / 2).await;
    sessions.look(
        GROUP,
        [session("a", "2"), session("b", "1"), ended],
        none,
        Instant::now(),
    );
    sleep(LEASE / 2).await;
    assert_eq!(ids(&sessions), ["a", "me"], "b was not seen to renew");
    let silent = sessions.standing(&names::session(GROUP, "b"), Instant::now());
    assert_eq!(
        silent,
        Standing::Silent(silent_as(&names::session(GROUP, "b"), Some("1")))
    );
}

#[tokio::test(start_paused = true)]
async fn groups_share_nothing_with_each_other() {
    let rig = Rig::new(12);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    let other = rig.replica_of("other", Sharding::new("others").replica("other"));
    until("both work on everything", || {
        yes(one.fleet.clusters().len() == 12 && other.fleet.clusters().len() == 12)
    })
    .await;
    sleep(LEASE).await;
    assert!(one.fleet.elsewhere().is_empty() && other.fleet.elsewhere().is_empty());
    one.leave().await;
    other.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_lease_was_deleted_counts_from_when_that_was_seen() {
    let mut sessions = Sessions::default();
    let fence = FenceLease {
        cluster: ClusterName::new("c").unwrap(),
        holder: Some("a".to_owned()),
        transitions: 0,
        duration: LEASE,
        version: "1".to_owned(),
        vanished: None,
    };
    let lease = names::session(GROUP, "a");
    let standing = |sessions: &Sessions| sessions.standing(&lease, Instant::now());
    sessions.look(GROUP, [session("a", "1")], [&fence], Instant::now());
    sleep(LEASE * 2).await;
    assert!(matches!(standing(&sessions), Standing::Silent(_)));
    // Deleted now: whoever it was may have renewed it just before.
    sessions.look(GROUP, [], [&fence], Instant::now());
    assert_eq!(standing(&sessions), Standing::Alive);
    sleep(LEASE.saturating_sub(Duration::from_millis(1))).await;
    sessions.look(GROUP, [], [&fence], Instant::now());
    assert_eq!(standing(&sessions), Standing::Alive);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(standing(&sessions), Standing::Silent(silent_as(&lease, None)));
    sessions.look(GROUP, [session("a", "2")], [&fence], Instant::now());
    assert_eq!(standing(&sessions), Standing::Alive, "it is written again");
}

#[test]
fn what_a_lease_says_is_read_with_care() {
    let lease = |labels: serde_json::Value, notes: serde_json::Value, spec: serde_json::Value| -> Lease {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "l", "resourceVersion": "7", "labels": labels, "annotations": notes}, "spec": spec,
        }))
        .unwrap()
    };
    let replica = serde_json::json!({names::LEASE: names::SESSION});
    let cluster = serde_json::json!({names::LEASE: names::FENCE});
    let read = |labels: &serde_json::Value, notes, spec| seen::read(&lease(labels.clone(), notes, spec));
    for (weight, expected) in [("8", 8), ("0", 1), ("-1", 1), ("much", 1), ("", 1)] {
        let notes = serde_json::json!({names::WEIGHT: weight});
        let Some(seen::Seen::Session(session)) =
            read(&replica, notes, serde_json::json!({"holderIdentity": "a"}))
        else {
            panic!("{weight}")
        };
        assert_eq!(session.weight, expected, "{weight}");
        assert!(
            session.duration >= Duration::from_secs(30),
            "a silence that nobody promised takes long"
        );
    }
    // Without an identity there is nobody, whatever else it says.
    assert!(
        read(
            &replica,
            serde_json::json!({}),
            serde_json::json!({"holderIdentity": ""})
        )
        .is_none()
    );
    assert!(
        read(
            &cluster,
            serde_json::json!({}),
            serde_json::json!({"holderIdentity": "a"})
        )
        .is_none()
    );
    assert!(
        read(
            &cluster,
            serde_json::json!({names::CLUSTER: ""}),
            serde_json::json!({})
        )
        .is_none()
    );
    assert!(
        read(
            &serde_json::json!({}),
            serde_json::json!({}),
            serde_json::json!({})
        )
        .is_none()
    );
    let host = read(
        &cluster,
        serde_json::json!({names::HOST: "true"}),
        serde_json::json!({"leaseDurationSeconds": -5}),
    );
    let Some(seen::Seen::Fence(host)) = host else {
        panic!("the host's")
    };
    assert!(host.cluster.is_host() && host.holder.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_silent_session_is_over_for_good_only_when_it_was_asked_for_and_is_as_it_was_seen() {
    let mut sessions = Sessions::default();
    let none: [&FenceLease; 0] = [];
    let lease = names::session(GROUP, "a");
    let look = |sessions: &mut Sessions, version: &str| {
        sessions.look(GROUP, [session("a", version)], none, Instant::now());
    };
    look(&mut sessions, "1");
    sleep(LEASE).await;
    let silent = silent_as(&lease, Some("1"));
    assert_eq!(
        sessions.standing(&lease, Instant::now()),
        Standing::Silent(silent.clone())
    );
    // What was seen was behind: it counts from now.
    sessions.answered(&silent, Some("2"), Instant::now());
    assert_eq!(sessions.standing(&lease, Instant::now()), Standing::Alive);
    sleep(LEASE).await;
    // Another version was seen while it was asked for.
    look(&mut sessions, "2");
    sessions.answered(&silent, Some("1"), Instant::now());
    assert_eq!(sessions.standing(&lease, Instant::now()), Standing::Alive);
    sleep(LEASE).await;
    sessions.answered(&silent_as(&lease, Some("2")), Some("2"), Instant::now());
    assert_eq!(sessions.standing(&lease, Instant::now()), Standing::Ended);
    assert_eq!(ids(&sessions), ["me"]);
}
