//! When programs run, under paused time.
use super::{
    super::{
        Plugins,
        exec::{Failure, again_after, refresh_after},
    },
    script::{MINUTE, Script, shown, token},
};
use futures::future::join_all;
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, advance, sleep};

const SECOND: Duration = Duration::from_secs(1);
const NOW: Duration = Duration::ZERO;

#[test]
fn a_credential_is_refreshed_a_tenth_of_its_life_before_its_end_or_ten_seconds_at_least() {
    for _ in 0..200 {
        let hour = refresh_after(60 * MINUTE);
        assert!(hour <= 54 * MINUTE && hour >= 51 * MINUTE, "{hour:?}");
        let minute = refresh_after(MINUTE);
        assert!(minute <= 50 * SECOND && minute >= 45 * SECOND, "{minute:?}");
        let short = refresh_after(6 * SECOND);
        assert!(short <= 3 * SECOND && short >= 3 * SECOND / 2, "{short:?}");
        assert_eq!(refresh_after(SECOND / 10), SECOND, "never in a loop");
        assert!(
            refresh_after(Duration::MAX) < 60 * 24 * 60 * MINUTE,
            "timers have an end"
        );
    }
}

#[test]
fn pauses_after_failures_double_up_to_a_minute() {
    for (failures, expected) in [(1, 1), (2, 2), (4, 8), (7, 60), (u32::MAX, 60)] {
        let pause = again_after(failures).as_secs_f64();
        assert!(
            (pause / f64::from(expected) - 1.0).abs() <= 0.21,
            "{failures}: {pause}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_does_not_run_until_somebody_asks_and_once_for_all_who_do() {
    let script = Script::of([(5 * SECOND, token("one", None))]);
    let lease = script.lease(&Plugins::new(8), "p");
    sleep(MINUTE).await;
    assert_eq!(script.runs(), 0);
    let all = join_all((0..100).map(|_| shown(lease.shared()))).await;
    assert!(all.iter().all(|shown| shown.as_deref() == Ok("Bearer one")));
    assert_eq!(script.runs(), 1);
    sleep(1000 * MINUTE).await;
    assert_eq!(
        shown(lease.shared()).await.unwrap(),
        "Bearer one",
        "no expiry: until refused"
    );
    assert_eq!(script.runs(), 1);
    lease.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_refresh_happens_before_the_end_and_no_request_waits_for_it() {
    let hour = Some(60 * MINUTE);
    let script = Script::of([
        (NOW, token("one", hour)),
        (30 * SECOND, token("two", hour)),
        (NOW, token("three", hour)),
    ]);
    let lease = script.lease(&Plugins::new(8), "p");
    let mut last = shown(lease.shared()).await.unwrap();
    let mut changes = Vec::new();
    let began = Instant::now();
    while began.elapsed() < 120 * MINUTE {
        sleep(SECOND).await;
        let asked = Instant::now();
        let now = shown(lease.shared()).await.unwrap();
        assert_eq!(asked.elapsed(), NOW, "a request waited");
        if now != last {
            changes.push(began.elapsed());
            last = now;
        }
    }
    assert_eq!(script.runs(), 3);
    assert!(
        changes[0] < 55 * MINUTE && changes[0] > 50 * MINUTE,
        "{changes:?}"
    );
    lease.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_refresh_leaves_the_old_credential_in_use_until_its_end() {
    let failures = (0..20).map(|_| (NOW, Err(Failure::Exit(1))));
    let script = Script::of(
        [(NOW, token("one", Some(10 * MINUTE)))]
            .into_iter()
            .chain(failures),
    );
    let lease = script.lease(&Plugins::new(8), "p");
    let began = Instant::now();
    while began.elapsed() < 10 * MINUTE {
        assert_eq!(
            shown(lease.shared()).await.unwrap(),
            "Bearer one",
            "{:?}",
            began.elapsed()
        );
        sleep(SECOND).await;
    }
    let runs = script.runs();
    assert!((3..=8).contains(&runs), "backs off: {runs}");
    assert_eq!(shown(lease.shared()).await.unwrap_err(), Failure::Exit(1));
    lease.end().await;
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_everybody_is_refused_at_once_until_the_pause_is_over() {
    let script = Script::of([(SECOND, Err(Failure::NoStatus)), (NOW, token("two", None))]);
    let lease = script.lease(&Plugins::new(8), "p");
    let all = join_all((0..10).map(|_| shown(lease.shared()))).await;
    assert!(all.iter().all(|shown| *shown == Err(Failure::NoStatus)));
    assert_eq!(shown(lease.shared()).await, Err(Failure::NoStatus));
    assert_eq!(script.runs(), 1);
    advance(2 * SECOND).await;
    assert_eq!(shown(lease.shared()).await.unwrap(), "Bearer two");
    lease.end().await;
}

#[tokio::test(start_paused = true)]
async fn refusals_have_it_run_again_once_per_interval_however_many_there_are() {
    let script = Script::of([
        (NOW, token("one", None)),
        (SECOND, token("two", None)),
        (NOW, token("two", None)),
        (NOW, token("three", None)),
    ]);
    let lease = script.lease(&Plugins::new(8), "p");
    let shared = lease.shared();
    let one = shared.header().await.unwrap();
    let all = join_all((0..100).map(|_| shared.refused(one.as_ref(), 0))).await;
    assert!(all.iter().all(|again| *again));
    assert_eq!(script.runs(), 2);
    let two = shared.header().await.unwrap();
    assert!(
        shared.refused(one.as_ref(), 0).await,
        "the first token is history"
    );
    assert!(!shared.refused(two.as_ref(), 0).await, "within the interval");
    assert_eq!(script.runs(), 2);
    sleep(MINUTE).await;
    assert!(!shared.refused(two.as_ref(), 0).await, "it gave the same again");
    assert_eq!(script.runs(), 3);
    sleep(MINUTE).await;
    assert!(shared.refused(two.as_ref(), 0).await);
    assert_eq!(shown(shared).await.unwrap(), "Bearer three");
    lease.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_because_of_a_refusal_leaves_what_there_is() {
    let script = Script::of([(NOW, token("one", None)), (NOW, Err(Failure::Exit(1)))]);
    let lease = script.lease(&Plugins::new(8), "p");
    let one = lease.shared().header().await.unwrap();
    assert!(!lease.shared().refused(one.as_ref(), 0).await);
    assert_eq!(shown(lease.shared()).await.unwrap(), "Bearer one");
    sleep(10 * MINUTE).await;
    assert_eq!(script.runs(), 2, "without an end nothing is due");
    lease.end().await;
}

#[tokio::test(start_paused = true)]
async fn no_more_programs_run_at_once_than_the_limit() {
    let script = Script::of((0..20).map(|n| (SECOND, token(&n.to_string(), None))));
    let plugins = Plugins::new(3);
    let leases: Vec<_> = (0..20).map(|n| script.lease(&plugins, &n.to_string())).collect();
    let began = Instant::now();
    let all = join_all(leases.iter().map(|lease| shown(lease.shared()))).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!((script.runs(), script.most()), (20, 3));
    assert_eq!(began.elapsed(), 7 * SECOND);
    for lease in leases {
        lease.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_when_the_program_is_no_longer_wanted_is_told() {
    let script = Script::of([(MINUTE, token("late", None))]);
    let lease = script.lease(&Plugins::new(1), "p");
    let shared = Arc::clone(lease.shared());
    let (waited, ()) = tokio::join!(shown(&shared), async {
        sleep(SECOND).await;
        lease.end().await;
    });
    assert_eq!(waited.unwrap_err(), Failure::Stopped);
}
