//! Replicas that come and go in order.
use super::*;
use kube::api::{DeleteParams, Patch, PatchParams};
use mcrt_sim::{Fault, Requests};

#[tokio::test(start_paused = true)]
async fn a_replica_alone_works_on_everything_and_each_fence_names_it() {
    let rig = Rig::new(5);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    let id = rig.sessions().await.remove(0).id;
    for cluster in rig.names() {
        assert_eq!(rig.fence(&cluster).await.unwrap().holder, Some(id.clone()));
    }
    assert_eq!(one.fleet.elsewhere(), []);
    one.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn replicas_share_and_what_does_not_move_goes_on_with_its_life() {
    let rig = Rig::new(90);
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    rig.shared_by(&[&one, &two]).await;
    sleep(LEASE).await;
    let lives = |replica: &Replica| -> BTreeMap<_, _> {
        let clusters = replica.fleet.clusters();
        clusters
            .into_iter()
            .map(|cluster| (cluster.name().clone(), cluster.epoch()))
            .collect()
    };
    let before = [lives(&one), lives(&two)];
    assert_eq!(before[0].len() + before[1].len(), 90);
    let three = rig.replica("three");
    until(
        "the third has its part",
        || yes(three.fleet.clusters().len() > 10),
    )
    .await;
    rig.shared_by(&[&one, &two, &three]).await;
    let taken = three.fleet.clusters().len();
    assert!((11..55).contains(&taken), "about a third: {taken}");
    for (replica, before) in [&one, &two].into_iter().zip(before) {
        for (name, epoch) in lives(replica) {
            assert_eq!(
                before.get(&name),
                Some(&epoch),
                "{name} had no reason to begin anew"
            );
        }
        assert_eq!(
            replica.fleet.elsewhere().len() + replica.fleet.clusters().len(),
            90
        );
    }
    three.leave().await;
    rig.shared_by(&[&one, &two]).await;
    for replica in [one, two] {
        replica.leave().await;
    }
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_falls_to_another_is_left_and_its_fence_released() {
    let rig = Rig::new(20);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    // The other one cannot take anything, so it is seen what the first leaves behind.
    let claims = Requests::matching(|request| request.name().is_some_and(|name| name.contains("cluster")));
    rig.faults(Faults::none().on(claims.by("two"), Fault::status(500)));
    let two = rig.replica("two");
    until("some are left", || yes(rig.work.working().len() < 20)).await;
    sleep(Duration::from_secs(5)).await;
    let left: Vec<_> = rig
        .names()
        .into_iter()
        .filter(|name| !one.works_on(name))
        .collect();
    assert!(!left.is_empty() && two.fleet.clusters().is_empty());
    for name in &left {
        assert_eq!(rig.fence(name).await.unwrap().holder, None, "{name}");
    }
    rig.host.clear_faults();
    rig.shared_by(&[&one, &two]).await;
    for name in &left {
        assert_eq!(rig.fence(name).await.unwrap().transitions, 1, "{name}");
        assert!(two.works_on(name));
    }
    rig.work.check();
    one.leave().await;
    two.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_ends_in_order_is_followed_at_once() {
    let rig = Rig::new(30);
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    rig.shared_by(&[&one, &two]).await;
    one.leave().await;
    let left = Instant::now();
    rig.shared_by(&[&two]).await;
    assert!(
        left.elapsed() < LEASE / 3,
        "nobody waits for a session that has ended: {:?}",
        left.elapsed()
    );
    two.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn clusters_are_shared_by_weight() {
    let rig = Rig::new(300);
    let light = rig.replica_of("light", Rig::sharding("light"));
    let heavy = rig.replica_of("heavy", Rig::sharding("heavy").weight(9));
    until("both work", || yes(rig.work.of("light").len() > 10)).await;
    sleep(LEASE).await;
    let counts = rig.shared_by(&[&light, &heavy]).await;
    assert!((8..70).contains(&counts["light"]), "a tenth of 300: {counts:?}");
    light.leave().await;
    heavy.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn two_replicas_of_one_name_are_two() {
    let rig = Rig::new(40);
    let (one, other) = (
        rig.replica("same"),
        rig.replica_of("other", Rig::sharding("same")),
    );
    sleep(LEASE).await;
    let counts = rig.shared_by(&[&one, &other]).await;
    assert!(counts["same"] > 5 && counts["other"] > 5, "{counts:?}");
    one.leave().await;
    other.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn uncommon_names_are_shared_like_any_other() {
    let long = "X".repeat(253);
    let names = [
        "a/b",
        "a-b",
        "A/b",
        "a#b",
        "a+b",
        "arn:aws:eks:eu-west-1:123:cluster/Prod",
        "host",
        &long,
    ];
    let rig = Rig::of(names.map(str::to_owned));
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    rig.shared_by(&[&one, &two]).await;
    for cluster in rig.names() {
        assert_eq!(rig.fence(&cluster).await.unwrap().cluster, cluster);
    }
    one.leave().await;
    rig.shared_by(&[&two]).await;
    two.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_no_more_takes_its_fence_along_and_one_that_comes_gets_one() {
    let rig = Rig::new(3);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    let (gone, stays) = (
        ClusterName::new("cluster-1").unwrap(),
        ClusterName::new("cluster-2").unwrap(),
    );
    let epoch = one.fleet.get(&stays).unwrap().epoch();
    one.fleet.remove(&gone);
    until("its work has ended", || yes(rig.work.working().len() == 2)).await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(rig.fence(&gone).await, None);
    let asked = rig.host.counters().gets;
    sleep(LEASE / 2).await;
    assert_eq!(rig.host.counters().gets, asked, "nothing is left to ask about");
    assert_eq!(
        one.fleet.get(&stays).unwrap().epoch(),
        epoch,
        "another's end is nothing to it"
    );
    rig.describe(&one.fleet, &gone);
    rig.shared_by(&[&one]).await;
    assert!(rig.fence(&gone).await.is_some());
    one.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn a_thousand_clusters_move_by_a_third_when_one_of_three_replicas_is_lost() {
    let rig = Rig::new(1_000);
    let replicas = [rig.replica("one"), rig.replica("two"), rig.replica("three")];
    rig.shared_by(&[&replicas[0], &replicas[1], &replicas[2]]).await;
    sleep(LEASE).await;
    rig.shared_by(&[&replicas[0], &replicas[1], &replicas[2]]).await;
    let begun = rig.work.begun();
    let [one, two, three] = replicas;
    let lost = rig.work.of("three").len();
    assert!((270..400).contains(&lost), "about a third: {lost}");
    three.crash(&rig.host).await;
    rig.shared_by(&[&one, &two]).await;
    let moved = rig
        .work
        .begun()
        .iter()
        .filter(|(name, count)| begun[*name] != **count)
        .count();
    assert_eq!(moved, lost, "the others go on as they were");
    one.leave().await;
    two.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn a_fence_that_is_deleted_by_hand_is_made_again_and_work_goes_on() {
    let rig = Rig::new(1);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    let cluster = ClusterName::new("cluster-0").unwrap();
    let epoch = one.fleet.get(&cluster).unwrap().epoch();
    let before = rig.fence(&cluster).await.unwrap();
    rig.leases()
        .delete(&names::fence(GROUP, &cluster), &DeleteParams::default())
        .await
        .unwrap();
    sleep(Duration::from_secs(10)).await;
    assert_eq!(rig.fence(&cluster).await.unwrap().holder, before.holder);
    assert_eq!(one.fleet.get(&cluster).unwrap().epoch(), epoch);
    one.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_fence_that_somebody_rewrote_stops_the_work_at_once() {
    let rig = Rig::new(2);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    let cluster = ClusterName::new("cluster-0").unwrap();
    let stolen = serde_json::json!({"spec": {"holderIdentity": "thief"}});
    let lease = names::fence(GROUP, &cluster);
    rig.leases()
        .patch(&lease, &PatchParams::default(), &Patch::Merge(stolen))
        .await
        .unwrap();
    until("it is left", || yes(!one.works_on(&cluster))).await;
    assert!(one.works_on(&ClusterName::new("cluster-1").unwrap()));
    // There is no such session: after the time of a lease it is over.
    rig.shared_by(&[&one]).await;
    one.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn what_is_left_of_sessions_is_cleared_away_in_time() {
    let rig = Rig::new(4);
    for number in 0..3 {
        let former = rig.replica(&format!("former-{number}"));
        rig.shared_by(&[&former]).await;
        former.crash(&rig.host).await;
    }
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    assert_eq!(rig.sessions().await.len(), 4);
    sleep(LEASE * 15).await;
    let left = rig.sessions().await;
    assert!(left.len() == 1 && !left[0].ended, "{left:?}");
    rig.shared_by(&[&one]).await;
    one.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn the_settings_of_a_replica_are_in_its_leases() {
    let rig = Rig::new(1);
    let sharding = Rig::sharding("a.b-c")
        .namespace("ops")
        .weight(7)
        .lease(Duration::from_secs(12));
    let namespace = serde_json::from_value(serde_json::json!({"metadata": {"name": "ops"}})).unwrap();
    let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(rig.client());
    namespaces
        .create(&kube::api::PostParams::default(), &namespace)
        .await
        .unwrap();
    let one = rig.replica_of("one", sharding);
    rig.shared_by(&[&one]).await;
    let leases = Api::<Lease>::namespaced(rig.client(), "ops");
    let all = leases
        .list(&kube::api::ListParams::default())
        .await
        .unwrap()
        .items;
    assert_eq!(all.len(), 2, "one of the replica, one of the cluster");
    for lease in all {
        let seconds = lease.spec.as_ref().unwrap().lease_duration_seconds;
        assert_eq!(seconds, Some(12));
        if let Some(seen::Seen::Session(session)) = seen::read(&lease) {
            assert!(
                session.id.starts_with("a.b-c_") && session.weight == 7,
                "{session:?}"
            );
        }
    }
    one.leave().await;
}
