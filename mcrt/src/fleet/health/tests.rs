//! What is known of a cluster, and the health that follows.
use super::{
    HealthSettings,
    condition::{APPLICATION, Condition, Pace, READINESS},
};
use crate::{cluster::Health, connect::Answered};
use proptest::prelude::*;
use std::time::Duration;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

struct Bed {
    condition: Condition,
    now: Instant,
}

impl Bed {
    fn new() -> Self {
        Self {
            condition: Condition::new(&HealthSettings::default(), 1),
            now: Instant::now(),
        }
    }

    fn alive() -> Self {
        let mut bed = Self::new();
        bed.answers(Answered::Ready, 1);
        bed
    }

    fn passes(&mut self, seconds: u32) -> &mut Self {
        self.now += SECOND * seconds;
        self
    }

    fn answers(&mut self, answer: Answered, times: u32) -> Health {
        for _ in 0..times {
            self.condition.answered(answer, self.now);
        }
        self.health()
    }

    fn fails(&mut self, times: u32) -> Health {
        for _ in 0..times {
            self.condition.failed("no response".to_owned(), self.now);
        }
        self.health()
    }

    fn health(&self) -> Health {
        self.condition.health(self.now)
    }
}

#[test]
fn three_failures_in_a_row_make_an_outage_and_two_answers_end_it() {
    let mut bed = Bed::alive();
    assert_eq!(bed.fails(2), Health::Ready);
    assert_eq!(bed.answers(Answered::Ready, 1), Health::Ready);
    assert_eq!(bed.fails(2), Health::Ready);
    assert_eq!(bed.fails(1), Health::Unreachable { since: bed.now });
    let since = bed.now;
    bed.passes(10);
    assert_eq!(bed.answers(Answered::Ready, 1), Health::Unreachable { since });
    assert_eq!(bed.fails(1), Health::Unreachable { since });
    assert_eq!(bed.answers(Answered::Ready, 1), Health::Unreachable { since });
    assert_eq!(bed.answers(Answered::Ready, 1), Health::Ready);
}

#[test]
fn a_new_cluster_is_ready_with_its_first_answer_and_unreachable_after_three_failures() {
    assert_eq!(Bed::new().health(), Health::Connecting);
    assert_eq!(Bed::new().answers(Answered::Ready, 1), Health::Ready);
    let mut bed = Bed::new();
    assert_eq!(bed.fails(2), Health::Connecting);
    assert_eq!(bed.fails(1), Health::Unreachable { since: bed.now });
}

#[test]
fn an_outage_longer_than_the_grace_period_is_a_loss_and_began_when_it_began() {
    let mut bed = Bed::alive();
    bed.fails(3);
    let since = bed.now;
    assert_eq!(bed.passes(299).health(), Health::Unreachable { since });
    assert_eq!(bed.passes(1).health(), Health::Lost { since });
    assert_eq!(bed.answers(Answered::Ready, 2), Health::Ready);
}

#[test]
fn a_server_that_comes_and_goes_has_to_stay_longer_each_time() {
    let mut bed = Bed::alive();
    let returns_after = |bed: &mut Bed| {
        bed.passes(5).fails(3);
        (1..100).find(|_| bed.passes(1).answers(Answered::Ready, 1) == Health::Ready)
    };
    let needed: Vec<_> = (0..7).map(|_| returns_after(&mut bed).unwrap()).collect();
    assert_eq!(needed, [2, 4, 8, 16, 32, 32, 32]);
    bed.passes(60);
    assert_eq!(returns_after(&mut bed), Some(2), "it has stayed");
}

#[test]
fn refusals_are_no_outage_and_take_as_long_to_count() {
    let mut bed = Bed::alive();
    let refused = Answered::Refused { status: 401 };
    assert_eq!(bed.answers(refused, 2), Health::Ready);
    let since = bed.now;
    let unauthorized = Health::Unauthorized { since, status: 401 };
    assert_eq!(bed.answers(refused, 1), unauthorized);
    assert_eq!(bed.passes(5).answers(refused, 1), unauthorized);
    assert_eq!(bed.answers(Answered::Ready, 1), Health::Ready);
    assert!(!Bed::new().answers(refused, 1).takes_requests());
    assert!(
        Bed::new()
            .answers(Answered::Refused { status: 403 }, 1)
            .takes_requests()
    );
    let mut dead = Bed::alive();
    dead.fails(3);
    dead.condition.refused(401, dead.now);
    assert!(
        matches!(dead.health(), Health::Unreachable { .. }),
        "nobody has answered"
    );
    assert!(matches!(dead.answers(refused, 2), Health::Unauthorized { .. }));
}

#[test]
fn three_failures_of_one_check_degrade_since_the_first_and_one_success_ends_it() {
    let mut bed = Bed::alive();
    for check in [READINESS, APPLICATION] {
        let since = bed.now;
        for round in 0..3 {
            assert_eq!(bed.health(), Health::Ready, "{round}");
            bed.condition.checked(check, Err("missing".to_owned()), bed.now);
            bed.passes(30);
        }
        assert_eq!(bed.health(), Health::Degraded { since });
        assert_eq!(bed.condition.complaints(), ["missing"]);
        bed.condition.checked(check, Ok(()), bed.now);
        assert_eq!(bed.health(), Health::Ready);
        assert!(bed.condition.complaints().is_empty());
    }
    let unready = Answered::Unready { status: 500 };
    assert_eq!(bed.answers(unready, 2), Health::Ready);
    assert_eq!(bed.answers(unready, 1), Health::Degraded { since: bed.now });
    assert_eq!(
        Bed::new().answers(unready, 1).as_str(),
        "degraded",
        "a server that starts"
    );
}

#[test]
fn a_suspension_hides_what_goes_on_until_it_ends() {
    let mut bed = Bed::alive();
    bed.condition.suspend(bed.now);
    let since = bed.now;
    assert_eq!(bed.passes(1).fails(3), Health::Suspended { since });
    bed.condition.resume();
    assert!(matches!(bed.health(), Health::Unreachable { .. }));
    bed.condition.suspend(bed.now);
    bed.answers(Answered::Ready, 2);
    bed.condition.resume();
    assert_eq!(bed.health(), Health::Ready);
}

/// The server answers until it freezes, at any moment between two probes, and each wait is as long as chance allows.
fn noticed_after(frozen_at: f64, chance: impl Fn(Duration) -> Duration) -> Duration {
    let settings = HealthSettings::default().liveness;
    let mut bed = Bed::alive();
    let start = bed.now;
    let frozen = start + settings.interval.mul_f64(frozen_at);
    let mut began = start;
    loop {
        let answers = began < frozen;
        let ended = if answers { began } else { began + settings.deadline };
        bed.now = ended;
        if answers {
            bed.answers(Answered::Ready, 1);
        } else if matches!(bed.fails(1), Health::Unreachable { .. }) {
            return ended - frozen;
        }
        began = match bed.condition.pace() {
            Pace::FromStart(interval) => began + chance(interval),
            Pace::FromEnd(interval) => ended + chance(interval),
        };
    }
}

/// The server is frozen for long and returns at any moment between two probes.
fn returned_after(returned_at: f64, chance: impl Fn(Duration) -> Duration) -> Duration {
    let settings = HealthSettings::default().liveness;
    let mut bed = Bed::alive();
    bed.fails(3);
    let returned = bed.now + SECOND * 60 + settings.outage_interval.mul_f64(returned_at);
    loop {
        let began = bed.now;
        // A probe that was under way when the server returned is lost, at worst.
        let ended = if began < returned {
            began + settings.deadline
        } else {
            began
        };
        bed.now = ended;
        if began < returned {
            bed.fails(1);
        } else if bed.answers(Answered::Ready, 1) == Health::Ready {
            return ended - returned;
        }
        bed.now = match bed.condition.pace() {
            Pace::FromStart(interval) => (began + chance(interval)).max(ended),
            Pace::FromEnd(interval) => ended + chance(interval),
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn an_outage_is_noticed_within_twenty_seconds_and_its_end_within_ten(
        at in 0.0..2.0,
        parts in prop::collection::vec(0.8..=1.2, 16),
    ) {
        let mut next = parts.iter().cycle();
        let next = std::cell::RefCell::new(&mut next);
        let chance = |interval: Duration| interval.mul_f64(*next.borrow_mut().next().unwrap());
        let noticed = noticed_after(at, chance);
        prop_assert!(noticed <= Duration::from_millis(17_400), "noticed after {noticed:?}");
        let returned = returned_after(at, chance);
        prop_assert!(returned <= Duration::from_secs(6), "back after {returned:?}");
    }
}
