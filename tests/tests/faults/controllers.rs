//! The controllers of the examples under every fault and under the three perturbations that break controllers
//! ("Automatic Reliability Testing for Cluster Management Controllers", OSDI 2022): stale states, states that nobody
//! observed, and states between two writes. Once all is over they have converged, and stay so.

use std::time::Duration;

use mcrt::testing::{Setup, TestFleet};
use mcrt_sim::{Fault, Faults, Fleet, Requests, Server};
use mcrt_tests::{random::Random, seeds};
use tokio::time::sleep;

use super::{configmaps::ConfigMaps, plan, tokens::Tokens, watcher::Shown, world};

/// Of each test, of which there are eight.
const SEEDS: u64 = 12;
const MEMBERS: [&str; 3] = ["a", "b", "c"];
const LATENCY: Duration = Duration::from_millis(500);
/// Long enough for every backoff and every timer of an idle watch.
const LIMIT: Duration = Duration::from_hours(1);

/// A controller and what is right for it.
pub(crate) trait Subject {
    /// Fills the servers.
    fn fill(&self, sim: &Fleet);

    /// The controller, as a fresh process has it.
    fn controller(&self, setup: Setup) -> Setup;

    /// Changes something that the controller is about.
    fn change(&self, sim: &Fleet, random: &mut Random, step: u64);

    /// Says what is not as it should be.
    fn check(&self, sim: &Fleet, server: &Server) -> Result<(), String>;
}

/// What breaks controllers.
#[derive(Clone, Copy)]
enum Perturbation {
    /// Any faults.
    Faults,
    /// It sees what was, after a crash too.
    Stale,
    /// Things happen while it sees nothing.
    Unobserved,
    /// It crashes between two writes.
    Intermediate,
}

macro_rules! subjects {
    ($($subject:ident: $value:expr, $first:literal;)*) => { $(
        mod $subject {
            use super::*;

            #[test]
            fn converges_under_faults() {
                seeds::each($first, SEEDS, async |seed| converges($value, Perturbation::Faults, seed).await);
            }

            #[test]
            fn converges_after_stale_states() {
                seeds::each($first + 1_000, SEEDS, async |seed| converges($value, Perturbation::Stale, seed).await);
            }

            #[test]
            fn converges_after_unobserved_states() {
                seeds::each($first + 2_000, SEEDS, async |seed| converges($value, Perturbation::Unobserved, seed).await);
            }

            #[test]
            fn converges_after_intermediate_states() {
                seeds::each($first + 3_000, SEEDS, async |seed| converges($value, Perturbation::Intermediate, seed).await);
            }
        }
    )* };
}

subjects! {
    team_tokens: Tokens, 0;
    fleet_configmaps: ConfigMaps::default(), 10_000;
}

async fn converges(subject: impl Subject, perturbation: Perturbation, seed: u64) {
    let mut random = Random::seeded(seed);
    let sim = Fleet::of(MEMBERS);
    subject.fill(&sim);
    // A controller that sees a ConfigMap's former life gives its Secret an owner that is gone, and the garbage
    // collector takes it away again: a loop until the watch catches up, which has to take time for that to come.
    for server in sim.servers() {
        server.set_latency(LATENCY);
    }
    let start = async |sim: &Fleet| subject.controller(TestFleet::over(sim)).await;
    let mut fleet = start(&sim).await;
    for round in 0..3 {
        let faults = faults(perturbation, &mut random);
        let shown = Shown(format!("round {round}: {faults:#?}"));
        sim.faults(&faults);
        sim.host().faults(faults);
        for step in 0..10 {
            subject.change(&sim, &mut random, round * 100 + step);
            let name = random.choose(&MEMBERS);
            let server = sim.get(name).unwrap();
            disturb(perturbation, &server, &mut random);
            sleep(random.millis(6_000)).await;
        }
        if !matches!(perturbation, Perturbation::Unobserved) && random.percent(60) {
            let sim = fleet.crash().await;
            fleet = start(&sim).await;
        }
        calm(&sim, random.percent(50));
        drop(shown);
    }
    calm(&sim, true);
    let all = || {
        sim.servers()
            .iter()
            .try_for_each(|server| subject.check(&sim, server))
    };
    fleet.within(LIMIT, "it has converged", async || all()).await;
    fleet.settled_within(LIMIT).await;
    let versions = || {
        sim.servers()
            .iter()
            .map(Server::resource_version)
            .collect::<Vec<_>>()
    };
    let before = versions();
    sleep(Duration::from_hours(1)).await;
    all().unwrap();
    assert_eq!(
        versions(),
        before,
        "seed {seed}: something was written though nothing changed"
    );
    fleet.stop().await;
}

fn faults(perturbation: Perturbation, random: &mut Random) -> Faults {
    let kinds = ["configmaps", "secrets"];
    match perturbation {
        Perturbation::Faults => plan::draw(random, &kinds),
        Perturbation::Stale => Faults::seeded(random.number())
            .on(Requests::reads().rate(0.7), Fault::behind(1 + random.below(30)))
            .on(Requests::watches().rate(0.5), Fault::replay(1 + random.below(30)))
            .on(Requests::watches().rate(0.5), Fault::lag(random.millis(20_000)))
            .on(
                Requests::watches().rate(0.5),
                Fault::reset_after(random.millis(20_000)),
            ),
        Perturbation::Unobserved => {
            let outage = [Fault::status(503), Fault::hang(), Fault::reset(), Fault::gone()];
            Faults::seeded(random.number())
                .on(Requests::watches().rate(0.8), random.choose(&outage).clone())
                .on(Requests::lists().rate(0.3), Fault::delay(random.millis(10_000)))
        }
        Perturbation::Intermediate => {
            let nth = 1 + random.below(4);
            Faults::seeded(random.number())
                .on(
                    Requests::writes().nth(nth),
                    random.choose(&[Fault::hang(), Fault::lose_answer()]).clone(),
                )
                .on(Requests::writes().after(nth), Fault::hang())
        }
    }
}

fn disturb(perturbation: Perturbation, server: &Server, random: &mut Random) {
    match perturbation {
        Perturbation::Faults if random.percent(25) => world::disturb(server, random),
        Perturbation::Unobserved if random.percent(50) => {
            server.disconnect_watches();
            if random.percent(50) {
                server.compact();
            }
        }
        Perturbation::Stale if random.percent(20) => server.restart(),
        _ => {}
    }
}

/// Ends all faults; watches that a fault has in its hands end too, or only when they notice.
fn calm(sim: &Fleet, restart: bool) {
    for server in sim.servers().into_iter().chain([sim.host()]) {
        server.heal();
        server.clear_faults();
        if restart {
            server.restart();
        }
    }
}
