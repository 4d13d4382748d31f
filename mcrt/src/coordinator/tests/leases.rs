//! The calls, each against the API server in memory.
use super::*;
use crate::coordinator::{duties::Claim, leases::Leases, rendezvous::Peer};

fn peer(id: &str) -> Peer {
    Peer {
        id: id.to_owned(),
        weight: 1,
    }
}

fn cluster(name: &str) -> ClusterName {
    ClusterName::new(name).unwrap()
}

fn calls(rig: &Rig) -> Leases {
    Leases::new(rig.client(), "default", GROUP, LEASE, Duration::from_secs(3))
}

fn free(fence: &seen::FenceLease) -> Claim {
    Claim::Free {
        version: fence.version.clone(),
        transitions: fence.transitions + 1,
    }
}

#[tokio::test(start_paused = true)]
async fn a_fence_is_made_released_and_taken_again() {
    let (rig, a, b, c) = (Rig::new(0), peer("a"), peer("b"), cluster("team-a/Prod"));
    let leases = calls(&rig);
    assert!(leases.claim(&a, &c, &Claim::New).await.unwrap());
    let made = rig.fence(&c).await.unwrap();
    assert_eq!(
        (made.holder.as_deref(), made.transitions, made.duration),
        (Some("a"), 0, LEASE)
    );
    assert_eq!(made.cluster, c, "it says which cluster, as that is called");
    assert!(
        !leases.claim(&b, &c, &Claim::New).await.unwrap(),
        "it is there already"
    );
    leases.give_back(&a, &c).await.unwrap();
    let released = rig.fence(&c).await.unwrap();
    assert_eq!(released.holder, None);
    assert!(
        !leases.claim(&b, &c, &free(&made)).await.unwrap(),
        "it is not as it was seen"
    );
    assert!(leases.claim(&b, &c, &free(&released)).await.unwrap());
    let taken = rig.fence(&c).await.unwrap();
    assert_eq!((taken.holder.as_deref(), taken.transitions), (Some("b"), 1));
}

#[tokio::test(start_paused = true)]
async fn to_release_or_delete_what_is_not_held_is_nothing() {
    let (rig, a, b, c) = (Rig::new(0), peer("a"), peer("b"), cluster("c"));
    let leases = calls(&rig);
    leases.give_back(&a, &c).await.unwrap();
    leases.delete(&a, &c).await.unwrap();
    assert!(leases.claim(&b, &c, &Claim::New).await.unwrap());
    let before = rig.fence(&c).await.unwrap();
    leases.give_back(&a, &c).await.unwrap();
    leases.delete(&a, &c).await.unwrap();
    assert_eq!(rig.fence(&c).await.unwrap(), before);
    leases.delete(&b, &c).await.unwrap();
    assert_eq!(rig.fence(&c).await, None);
}

#[tokio::test(start_paused = true)]
async fn of_two_who_take_a_free_fence_at_once_one_has_it() {
    let (rig, c) = (Rig::new(0), cluster("c"));
    let leases = calls(&rig);
    let (a, b) = (peer("a"), peer("b"));
    let (one, other) = tokio::join!(
        leases.claim(&a, &c, &Claim::New),
        leases.claim(&b, &c, &Claim::New)
    );
    assert!(one.unwrap() ^ other.unwrap());
    let holder = rig.fence(&c).await.unwrap().holder.unwrap();
    leases.give_back(&peer(&holder), &c).await.unwrap();
    let seen = free(&rig.fence(&c).await.unwrap());
    let (one, other) = tokio::join!(leases.claim(&a, &c, &seen), leases.claim(&b, &c, &seen));
    assert!(one.unwrap() ^ other.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_comes_late_does_not_bring_an_ended_session_back() {
    let (rig, a) = (Rig::new(0), peer("a"));
    let leases = calls(&rig);
    leases.renew(&a).await.unwrap();
    leases.end(&a).await.unwrap();
    leases.renew(&a).await.unwrap();
    assert!(rig.sessions().await[0].ended);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_ends_at_its_deadline() {
    let (rig, a) = (Rig::new(0), peer("a"));
    let leases = calls(&rig);
    rig.host.partition();
    let began = Instant::now();
    assert!(leases.renew(&a).await.is_err());
    assert!(leases.claim(&a, &cluster("c"), &Claim::New).await.is_err());
    assert_eq!(began.elapsed(), Duration::from_secs(6));
}
