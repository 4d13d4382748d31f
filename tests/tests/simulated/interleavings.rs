//! Engagements held up at every step: nothing is lost, nothing runs twice, whatever falls between two steps.

use std::time::Duration;

use mcrt::fleet::Step;
use mcrt_sim::Server;
use mcrt_tests::simulated::{Holds, Recorder, Sims, config, name};

const HOLD: Duration = Duration::from_millis(700);

/// In the order in which an engagement passes them.
const ENGAGING: [Step; 6] = [
    Step::Published,
    Step::Lane,
    Step::Indexed,
    Step::Attached,
    Step::Reached,
    Step::Started,
];
const LEAVING: [Step; 3] = [Step::Leaving, Step::IntakeStopped, Step::Purged];

/// Every step alone and every pair of them.
fn alone_and_in_pairs() -> Vec<Vec<Step>> {
    let mut choices = Vec::new();
    for (at, first) in ENGAGING.iter().enumerate() {
        choices.push(vec![*first]);
        choices.extend(ENGAGING[at + 1..].iter().map(|second| vec![*first, *second]));
    }
    choices
}

#[tokio::test(start_paused = true)]
async fn an_object_is_reconciled_once_wherever_the_engagement_is_held_up() {
    for held in alone_and_in_pairs() {
        let sims = Sims::of(["a"]);
        sims.server("a").create(config("before")).unwrap();
        let holds = Holds::at(held.iter().map(|step| (*step, HOLD)));
        let seen: Recorder = Recorder::default();
        sims.manager()
            .settings(|settings| holds.apply(settings))
            .controller(seen.controller("seen"))
            .run(async |running| {
                let mut expected = vec!["before".to_owned()];
                for step in &held {
                    running
                        .until("the step is reached", async || holds.reached(*step, "a"))
                        .await;
                    let during = format!("during-{step:?}").to_lowercase();
                    sims.server("a").create(config(&during)).unwrap();
                    expected.push(during);
                }
                running
                    .until("every object is reconciled", async || seen_all(&seen, &expected))
                    .await;
                running.settled().await;
                for object in &expected {
                    assert_eq!(seen.count("a", object), 1, "{object}, held at {held:?}");
                }
            })
            .await;
    }
}

fn seen_all(seen: &Recorder, objects: &[String]) -> Result<(), String> {
    match objects.iter().find(|object| seen.count("a", object) == 0) {
        Some(missing) => Err(format!("{missing} is not reconciled")),
        None => Ok(()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_may_leave_at_any_step_of_its_engagement() {
    for step in ENGAGING {
        let sims = Sims::of(["a"]);
        sims.server("a").create(config("before")).unwrap();
        let holds = Holds::at([(step, HOLD)]);
        let seen: Recorder = Recorder::default();
        sims.manager()
            .settings(|settings| holds.apply(settings))
            .controller(seen.controller("seen"))
            .run(async |running| {
                running
                    .until("the step is reached", async || holds.reached(step, "a"))
                    .await;
                let server = sims.leave("a").expect("a member");
                running
                    .until("nothing of it is left", async || {
                        let queue = running.controller("seen").queue();
                        let open = server.counters().open_requests;
                        let known = running.handle.fleet().get(&name("a"));
                        if (queue.lanes, queue.ready + queue.delayed, open) == (0, 0, 0) && known.is_none() {
                            Ok(())
                        } else {
                            Err(format!("left at {step:?}: {queue:?}, {open} open, {known:?}"))
                        }
                    })
                    .await;
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_replacement_at_any_step_works_and_never_beside_its_predecessor() {
    for step in ENGAGING.into_iter().chain(LEAVING) {
        let sims = Sims::of(["a"]);
        sims.server("a").create(config("object")).unwrap();
        let holds = Holds::at([(step, HOLD)]);
        let seen: Recorder = Recorder::default().doing(|_| async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok(mcrt::Action::await_change())
        });
        sims.manager()
            .settings(|settings| holds.apply(settings))
            .controller(seen.controller("seen"))
            .run(async |running| {
                if LEAVING.contains(&step) {
                    running
                        .until("it runs", async || seen.expect("a", "object", 1))
                        .await;
                    replace(&sims);
                    running
                        .until("the step is reached", async || holds.reached(step, "a"))
                        .await;
                    sims.leave("a");
                } else {
                    running
                        .until("the step is reached", async || holds.reached(step, "a"))
                        .await;
                }
                let uid = replace(&sims);
                running
                    .until("the last life is reconciled", async || {
                        let runs = seen.of("a", "object");
                        let last = runs
                            .iter()
                            .filter(|run| run.uid == uid && run.ended.is_some())
                            .count();
                        if last == 1 {
                            Ok(())
                        } else {
                            Err(format!("{last} runs of it, replaced at {step:?}"))
                        }
                    })
                    .await;
                running.settled().await;
                assert_eq!(
                    seen.of("a", "object").iter().filter(|run| run.uid == uid).count(),
                    1
                );
                assert_eq!(seen.most_at_once(), 1, "replaced at {step:?}");
            })
            .await;
    }
}

/// Another life of `a`; the UID of its object.
fn replace(sims: &Sims) -> String {
    let server = Server::new("a");
    let object = server.create(config("object")).unwrap();
    sims.put(&server);
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}
