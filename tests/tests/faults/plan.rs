//! Plans of faults drawn from a seed: every fault of the simulator comes up.

use std::time::Duration;

use mcrt_sim::{Fault, Faults, Requests};
use mcrt_tests::random::Random;

/// How many kinds of faults there are; see [`fault`].
pub(crate) const FAULTS: u64 = 25;

/// A plan of a few rules.
pub(crate) fn draw(random: &mut Random, kinds: &[&str]) -> Faults {
    let rules = 1 + random.below(5);
    let plan = Faults::seeded(random.number());
    (0..rules).fold(plan, |plan, _| {
        let number = random.below(FAULTS);
        rule(plan, random, kinds, number)
    })
}

/// A plan with one rule of each kind of fault, each seldom.
pub(crate) fn all(random: &mut Random, kinds: &[&str]) -> Faults {
    let plan = Faults::seeded(random.number());
    (0..FAULTS).fold(plan, |plan, number| rule(plan, random, kinds, number))
}

fn rule(plan: Faults, random: &mut Random, kinds: &[&str], number: u64) -> Faults {
    let (requests, fault) = fault(random, number);
    let requests = match random.below(3) {
        // Discovery is of no kind: faults of everything concern probes as well.
        0 => requests,
        _ => requests.of(*random.choose(kinds)),
    };
    plan.on(some(requests, random), fault)
}

/// Some of these requests, by turn, chance or time.
fn some(requests: Requests, random: &mut Random) -> Requests {
    match random.below(6) {
        0 => requests.nth(1 + random.below(5)),
        1 => requests.first(1 + random.below(4)),
        2 => requests.every(2 + random.below(4)),
        3 => {
            let from = random.millis(60_000);
            requests.during(from..from + random.millis(60_000))
        }
        _ => requests.rate([0.05, 0.2, 0.5][usize::try_from(random.below(3)).unwrap()]),
    }
}

/// What goes wrong with which requests.
fn fault(random: &mut Random, number: u64) -> (Requests, Fault) {
    let after = random.millis(90_000);
    let (any, lists, watches, writes) = (
        Requests::any(),
        Requests::lists(),
        Requests::watches(),
        Requests::writes(),
    );
    match number {
        0 => (any, Fault::delay_between(Duration::ZERO, Duration::from_secs(20))),
        1 => (any, Fault::hang()),
        2 => (Requests::reads(), Fault::hang_body()),
        3 => (any, Fault::reset()),
        4 => (any, Fault::refuse()),
        5 => (any, Fault::status(*random.choose(&[500, 502, 503, 504]))),
        6 => (
            any,
            Fault::status(429).retry_after(Duration::from_secs(1 + random.below(20))),
        ),
        7 => (any, Fault::status(*random.choose(&[401, 403]))),
        8 => (Requests::reads(), Fault::status(404)),
        9 => (lists, Fault::gone()),
        10 => (Requests::lists().continued(), Fault::gone()),
        11 => (watches, Fault::gone()),
        12 => (watches, Fault::watch_gone()),
        13 => (watches, Fault::watch_error(*random.choose(&[500, 504, 429]))),
        14 => (any, Fault::stall()),
        15 => (any, Fault::cut()),
        16 => (watches, Fault::silence_after(after)),
        17 => (watches, Fault::close_after(after)),
        18 => (watches, Fault::reset_after(after)),
        19 => (watches, Fault::expire_after(after)),
        20 => (watches, Fault::lag(random.millis(20_000))),
        21 => (watches, Fault::without_bookmarks()),
        22 => (watches, Fault::replay(1 + random.below(20))),
        23 => (Requests::reads(), Fault::behind(1 + random.below(20))),
        _ => (writes, Fault::lose_answer()),
    }
}
