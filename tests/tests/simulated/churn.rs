//! Clusters join, leave and are replaced at random: everything living works, nothing is left behind.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use mcrt::{Action, Cluster};
use mcrt_sim::Server;
use mcrt_tests::{
    random::Random,
    simulated::{Call, Recorder, Running, Sims, alive_tasks, config},
};
use parking_lot::Mutex;
use tokio::time::sleep;

const GRACE: Duration = Duration::from_secs(3);
const HOUR: Duration = Duration::from_hours(1);

/// How much happens, and how fast.
#[derive(Clone, Copy)]
struct Pace {
    changes: u32,
    grace: Duration,
    /// The longest pause between two changes, in milliseconds.
    pause: u64,
    /// The longest time that a reconcile takes to stop, in milliseconds.
    stop: u64,
}

#[tokio::test(start_paused = true)]
async fn a_thousand_random_joins_leaves_and_replacements_leave_the_living_at_work_and_nothing_else() {
    let pace = Pace {
        changes: 1_000,
        grace: GRACE,
        pause: 400,
        stop: 2_000,
    };
    churn(pace).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_holds_on_several_threads_in_real_time() {
    let pace = Pace {
        changes: 300,
        grace: Duration::from_millis(60),
        pause: 8,
        stop: 40,
    };
    churn(pace).await;
}

async fn churn(pace: Pace) {
    let mut random = Random::new();
    let calm = Arc::new(AtomicBool::new(false));
    let seen = restless(pace, Random::seeded(random.number()), calm.clone());
    let sims = Sims::of([]);
    let setup = sims.manager().settings(|settings| settings.grace = pace.grace);
    setup
        .controller(seen.controller("churn"))
        .run(async |running| {
            // What the manager itself runs is there by then.
            sleep(Duration::from_millis(100)).await;
            let before = alive_tasks();
            let mut lives = Lives::default();
            for _ in 0..pace.changes {
                change_something(running, &mut random);
                lives.note(running);
                if random.percent(70) {
                    sleep(random.millis(pace.pause)).await;
                }
            }
            calm.store(true, Relaxed);
            the_living_work(running, &seen).await;
            lives.the_dead_hold_nothing(running).await;
            for server in sims.servers() {
                sims.leave(server.name());
            }
            lives.the_dead_hold_nothing(running).await;
            running
                .until("every task has ended", async || match alive_tasks() {
                    tasks if tasks <= before => Ok(()),
                    tasks => Err(format!("{tasks} tasks, {before} before")),
                })
                .await;
            let queue = running.controller("churn").queue();
            assert_eq!(
                (queue.lanes, queue.ready, queue.delayed, queue.running),
                (0, 0, 0, 0)
            );
        })
        .await;
    assert_eq!(seen.most_at_once(), 1, "two lives of one name overlapped");
}

/// Reconciles end in their own time: at once, late, when asked and a while after, or never by themselves.
fn restless(pace: Pace, random: Random, calm: Arc<AtomicBool>) -> Recorder {
    let random = Mutex::new(random);
    Recorder::default().doing(move |call: Call| {
        let calm = calm.load(Relaxed);
        let (way, time) = {
            let mut random = random.lock();
            (random.below(4), random.millis(pace.stop))
        };
        async move {
            match way {
                _ if calm => return Ok(Action::await_change()),
                0 => {}
                1 => sleep(time).await,
                2 => {
                    call.cx.cancelled().await;
                    sleep(time).await;
                }
                _ => sleep(HOUR).await,
            }
            Ok(Action::requeue(HOUR))
        }
    })
}

fn change_something(running: &Running<'_>, random: &mut Random) {
    let member = *random.choose(&["a", "b", "c", "d", "e", "f"]);
    let present = running
        .sims
        .servers()
        .iter()
        .any(|server| server.name() == member);
    match random.below(10) {
        0..4 if present => drop(running.sims.leave(member)),
        4..6 if present => drop(
            running
                .sims
                .server(member)
                .create(config(&format!("late-{}", random.below(50)))),
        ),
        _ => {
            let server = Server::new(member);
            for object in 0..random.below(4) {
                server.create(config(&format!("early-{object}"))).unwrap();
            }
            running.sims.put(&server);
        }
    }
}

async fn the_living_work(running: &Running<'_>, seen: &Recorder) {
    for server in running.sims.servers() {
        server.create(config("last")).unwrap();
    }
    for server in running.sims.servers() {
        let uid = server.get("v1", "ConfigMap", Some("default"), "last").unwrap()["metadata"]["uid"].clone();
        running
            .until("a new object is reconciled in every living cluster", async || {
                let runs = seen.of(server.name(), "last");
                let found = runs.iter().any(|run| uid == run.uid);
                found
                    .then_some(())
                    .ok_or_else(|| format!("not in {}", server.name()))
            })
            .await;
    }
}

/// Every life that was ever engaged.
#[derive(Default)]
struct Lives(Vec<Cluster>);

impl Lives {
    fn note(&mut self, running: &Running<'_>) {
        for cluster in running.handle.fleet().clusters() {
            if !self.0.contains(&cluster) {
                self.0.push(cluster);
            }
        }
    }

    async fn the_dead_hold_nothing(&self, running: &Running<'_>) {
        let alive = |cluster: &Cluster| running.handle.fleet().get(cluster.name()).as_ref() == Some(cluster);
        let living: Vec<_> = running.sims.servers().iter().map(Server::uid).collect();
        running
            .until("what has left holds nothing", async || {
                if let Some(dead) = self.0.iter().find(|it| !alive(it) && it.connection_tasks() > 0) {
                    return Err(format!("{dead:?} has connection tasks"));
                }
                let servers = running.sims.all();
                let mut dead = servers
                    .iter()
                    .filter(|server| !living.iter().any(|uid| *uid == server.uid()));
                match dead.find(|server| server.counters().open_requests > 0) {
                    Some(server) => Err(format!("{server:?} is still asked")),
                    None => Ok(()),
                }
            })
            .await;
    }
}
