//! Hosts that do not answer, replicas that vanish, views that are behind.
use super::*;
use crate::coordinator::LostHost;
use kube::api::DeleteParams;
use mcrt_sim::{Fault, Requests};

#[tokio::test(start_paused = true)]
async fn a_replica_that_vanishes_is_followed_when_its_session_has_run_out_and_not_before() {
    let rig = Rig::new(30);
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    rig.shared_by(&[&one, &two]).await;
    sleep(LEASE).await;
    let lost = rig.work.of("one").len();
    let crashed = Instant::now();
    one.crash(&rig.host).await;
    until("the first of it is taken over", || {
        yes(rig.work.of("two").len() > 30 - lost)
    })
    .await;
    // The last renewal was at most three tenths of a lease before.
    assert!(crashed.elapsed() >= LEASE * 7 / 10, "{:?}", crashed.elapsed());
    assert!(crashed.elapsed() <= LEASE * 11 / 10, "{:?}", crashed.elapsed());
    rig.shared_by(&[&two]).await;
    two.leave().await;
    rig.work.check();
}

/// Nothing of this replica is answered any more; its watch, begun before, may go on.
fn hung(user: &str) -> Faults {
    Faults::none().on(Requests::any().by(user), Fault::hang())
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_is_not_answered_stops_before_its_session_can_be_taken_for_ended() {
    let rig = Rig::new(30);
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    rig.shared_by(&[&one, &two]).await;
    sleep(LEASE).await;
    rig.faults(hung("one"));
    let cut_off = Instant::now();
    until("it has stopped", || yes(rig.work.of("one").is_empty())).await;
    let stopped = cut_off.elapsed();
    assert!(stopped <= LEASE * 9 / 10, "{stopped:?}");
    assert!(
        stopped >= LEASE * 3 / 10,
        "an outage of seconds stops nothing: {stopped:?}"
    );
    rig.shared_by(&[&two]).await;
    assert!(cut_off.elapsed() > stopped, "nobody was faster");
    rig.host.clear_faults();
    until("it works again", || yes(!rig.work.of("one").is_empty())).await;
    rig.shared_by(&[&one, &two]).await;
    rig.work.check();
    one.leave().await;
    two.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_once_loses_nothing() {
    let rig = Rig::new(10);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    let begun = rig.work.begun();
    let patches = || Requests::patches().of("leases");
    let now = rig.host.clone();
    for fault in [
        Fault::status(409),
        Fault::status(500),
        Fault::reset(),
        Fault::hang(),
        Fault::lose_answer(),
    ] {
        now.faults(Faults::none().on(patches().first(1), fault));
        sleep(LEASE).await;
    }
    assert_eq!(rig.work.begun(), begun);
    assert_eq!(rig.sessions().await.len(), 1);
    one.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stood_still_for_longer_than_its_lease_goes_on_as_another_session() {
    let rig = Rig::new(5);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    let (id, begun) = (rig.sessions().await.remove(0).id, rig.work.begun());
    // Everything is due at once, and the host answers at once.
    tokio::time::advance(LEASE * 2).await;
    until("all work has begun anew", || {
        yes(rig.work.begun().iter().all(|(name, count)| *count > begun[name]))
    })
    .await;
    rig.shared_by(&[&one]).await;
    let sessions = rig.sessions().await;
    let former = sessions.iter().find(|session| session.id == id).unwrap();
    assert!(former.ended && sessions.len() == 2, "{sessions:?}");
    one.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn a_fence_that_is_deleted_while_its_cluster_moves_is_not_taken_before_the_work_has_ended() {
    let rig = Rig::new(30);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    let two = rig.replica("two");
    let moving = until("a cluster is on its way", || {
        let (names, working) = (rig.names(), rig.work.of("one"));
        names
            .into_iter()
            .find(|name| !one.works_on(name) && working.contains(name))
            .ok_or("not yet")
    })
    .await;
    let fence = names::fence(GROUP, &moving);
    rig.leases()
        .delete(&fence, &DeleteParams::default())
        .await
        .unwrap();
    rig.shared_by(&[&one, &two]).await;
    rig.work.check();
    one.leave().await;
    two.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_vanished_is_asked_for_once_however_many_clusters_it_had() {
    let rig = Rig::new(60);
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    rig.shared_by(&[&one, &two]).await;
    sleep(LEASE).await;
    assert!(rig.work.of("one").len() > 10);
    one.crash(&rig.host).await;
    let gets = || rig.host.counters().gets;
    let before = gets();
    rig.shared_by(&[&two]).await;
    assert!(gets() - before <= 2, "{}", gets() - before);
    two.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_is_lost_is_found_out_about() {
    let rig = Rig::new(20);
    rig.faults(Faults::seeded(7).on(Requests::writes().of("leases").rate(0.5), Fault::lose_answer()));
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    sleep(LEASE).await;
    rig.shared_by(&[&one, &two]).await;
    rig.host.clear_faults();
    one.leave().await;
    two.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn a_view_that_stands_still_does_not_make_others_look_dead() {
    let rig = Rig::new(30);
    // The watch of the second tells nothing after its first second; what it writes is carried out.
    let silent = Fault::silence_after(Duration::from_secs(20));
    rig.faults(Faults::none().on(Requests::watches().of("leases").by("two"), silent));
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    rig.shared_by(&[&one, &two]).await;
    let begun = rig.work.begun();
    for _ in 0..60 {
        sleep(LEASE / 10).await;
        rig.work.check();
    }
    assert!(!rig.work.of("one").is_empty());
    rig.host.clear_faults();
    rig.shared_by(&[&one, &two]).await;
    assert!(begun.values().all(|count| *count <= 2));
    one.leave().await;
    two.leave().await;
    rig.work.check();
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_lease_is_deleted_by_hand_goes_on() {
    let rig = Rig::new(10);
    let (one, two) = (rig.replica("one"), rig.replica("two"));
    rig.shared_by(&[&one, &two]).await;
    sleep(LEASE).await;
    let begun = rig.work.begun();
    for session in rig.sessions().await {
        rig.leases()
            .delete(&session.lease, &DeleteParams::default())
            .await
            .unwrap();
    }
    sleep(LEASE * 2).await;
    rig.shared_by(&[&one, &two]).await;
    assert_eq!(rig.sessions().await.len(), 2);
    let moved = rig
        .work
        .begun()
        .iter()
        .filter(|(name, count)| begun[*name] != **count)
        .count();
    // Until both are written again, each may see itself alone; nothing is taken from one that may be alive.
    assert!(moved <= 10, "{moved}");
    rig.work.check();
    one.leave().await;
    two.leave().await;
}

#[tokio::test(start_paused = true)]
async fn who_goes_on_without_the_host_stops_when_another_has_taken_over() {
    let rig = Rig::new(10);
    let one = rig.replica_of("one", Rig::sharding("one").on_lost_host(LostHost::Continue));
    rig.shared_by(&[&one]).await;
    let begun = rig.work.begun();
    rig.host.partition();
    sleep(LEASE * 3).await;
    assert_eq!(rig.work.of("one").len(), 10, "it goes on");
    rig.host.heal();
    sleep(LEASE).await;
    assert_eq!(
        rig.work.begun(),
        begun,
        "nobody else was there: it went on with the same lives"
    );
    one.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_replica_waits_for_the_host_before_it_works() {
    let rig = Rig::new(3);
    rig.host.partition();
    let one = rig.replica("one");
    sleep(LEASE * 2).await;
    assert!(rig.work.working().is_empty());
    assert_eq!(one.fleet.elsewhere().len(), 3);
    rig.host.heal();
    rig.shared_by(&[&one]).await;
    one.leave().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_stops_while_the_host_is_silent_ends_all_the_same() {
    let rig = Rig::new(3);
    let one = rig.replica("one");
    rig.shared_by(&[&one]).await;
    rig.host.partition();
    let began = Instant::now();
    one.leave().await;
    assert!(began.elapsed() < LEASE, "{:?}", began.elapsed());
    rig.host.heal();
}

/// Replicas join, leave and crash while calls fail, hang and come late; in the end each cluster is worked on by one.
async fn storm(seed: u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let rig = Rig::new(24);
    let leases = || Requests::any().of("leases");
    rig.faults(
        Faults::seeded(seed)
            .on(leases().rate(0.04), Fault::status(500))
            .on(leases().rate(0.04), Fault::hang())
            .on(Requests::writes().of("leases").rate(0.05), Fault::lose_answer())
            .on(
                Requests::writes().of("leases").rate(0.05),
                Fault::delay(Duration::from_secs(5)),
            )
            .on(
                Requests::watches().of("leases").rate(0.3),
                Fault::silence_after(Duration::from_secs(15)),
            )
            .on(
                Requests::watches().of("leases").rate(0.3),
                Fault::lag(Duration::from_secs(8)),
            ),
    );
    let mut replicas = vec![rig.replica("r0")];
    for number in 1..12 {
        sleep(Duration::from_secs(chance.below(25))).await;
        match chance.below(5) {
            0 | 1 => replicas.push(rig.replica(&format!("r{number}"))),
            2 if replicas.len() > 1 => {
                let at = usize::try_from(chance.below(replicas.len() as u64)).unwrap();
                replicas.swap_remove(at).leave().await;
            }
            3 if replicas.len() > 1 => {
                let at = usize::try_from(chance.below(replicas.len() as u64)).unwrap();
                replicas.swap_remove(at).crash(&rig.host).await;
            }
            _ => {}
        }
        rig.work.check();
    }
    rig.host.clear_faults();
    sleep(LEASE * 3).await;
    let left: Vec<_> = replicas.iter().collect();
    rig.shared_by(&left).await;
    for replica in replicas {
        replica.leave().await;
    }
    rig.work.check();
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_comes_no_cluster_is_worked_on_by_two_and_in_the_end_each_is_by_one() {
    let seeds = std::env::var("MCRT_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    for seed in 0..seeds.unwrap_or(20) {
        eprintln!("seed {seed}");
        storm(seed).await;
    }
}
