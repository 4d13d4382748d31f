//! Several replicas of a program over one fleet: no object is reconciled by two at once, and nothing is lost.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use mcrt::{
    Action, Controller, LostHost, Manager, ManagerHandle, Place, Sharding, StartError, Watch,
    connect::ServiceAccess,
};
use mcrt_sim::{Fault, Faults, Requests, Server, User};
use mcrt_tests::{
    eventually,
    random::Random,
    simulated::{Recorder, Run, Sims, What, alive_tasks, config, nothing_left, secret, with_data},
};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

type Mourner = Recorder<ConfigMap, true>;

/// So many that by chance none of two replicas is left without.
const MEMBERS: [&str; 18] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r",
];
const LEASE: Duration = Duration::from_secs(30);
const SECOND: Duration = Duration::from_secs(1);
/// Longer than anything takes that happens at all.
const LIMIT: Duration = Duration::from_mins(10);

/// One program of several.
struct Replica {
    user: String,
    manager: ManagerHandle,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

fn sharding(replica: &str) -> Sharding {
    Sharding::new("tokens").replica(replica).lease(LEASE)
}

impl Replica {
    /// The host knows it by its name, so that faults find it.
    fn start(sims: &Sims, user: &str, controller: Controller) -> Self {
        Self::of(sims, user, sharding(user), controller)
    }

    fn of(sims: &Sims, user: &str, sharding: Sharding, controller: Controller) -> Self {
        let host = sims.host();
        host.add_token(user, User::admin(user));
        let access = ServiceAccess::new(host.uid(), host.service().with_token(user));
        let manager = sims.manager().host(access.into()).sharded(sharding);
        let manager = manager.controller(controller).build().unwrap();
        let (handle, stop) = (manager.handle(), CancellationToken::new());
        let task = tokio::spawn(manager.run(stop.clone().cancelled_owned()));
        Self {
            user: user.to_owned(),
            manager: handle,
            stop,
            task,
        }
    }

    fn engaged(&self) -> BTreeSet<String> {
        let clusters = self.manager.fleet().clusters();
        clusters.iter().map(ToString::to_string).collect()
    }

    async fn leave(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }

    /// As a program ends that is killed: the host hears nothing more of it.
    async fn crash(self, host: &Server) {
        host.remove_token(&self.user);
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Waits until each cluster is engaged by one of these.
async fn shared(sims: &Sims, replicas: &[&Replica]) {
    let all: BTreeSet<_> = sims
        .servers()
        .iter()
        .map(|server| server.name().to_owned())
        .collect();
    eventually(LIMIT, "every cluster is engaged by one replica", async || {
        let mut engaged: Vec<_> = replicas.iter().flat_map(|replica| replica.engaged()).collect();
        engaged.sort();
        (engaged.len() == all.len() && engaged.iter().all(|name| all.contains(name)))
            .then_some(())
            .ok_or_else(|| format!("{engaged:?} are"))
    })
    .await;
}

/// Waits until every object of every member has been reconciled as it is.
async fn all_reconciled(sims: &Sims, seen: &Mourner) {
    for server in sims.servers() {
        eventually(LIMIT, "every object has been reconciled as it is", async || {
            let runs = seen.runs();
            let objects = server.list("v1", "ConfigMap", Some("default")).unwrap();
            let ours = objects
                .iter()
                .filter(|object| object["metadata"]["labels"]["mcrt.dev/test"] == "yes");
            for object in ours {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
                let is_last = |run: &&Run| run.uid == text("uid") && run.what == What::Reconcile;
                let last = runs.iter().rev().find(is_last);
                if last.is_none_or(|run| run.version != text("resourceVersion")) {
                    return Err(format!("{}/{} was not: {last:?}", server.name(), text("name")));
                }
            }
            Ok(())
        })
        .await;
    }
}

fn slow() -> Mourner {
    Mourner::default().doing(|_| async {
        sleep(Duration::from_millis(700)).await;
        Ok(Action::await_change())
    })
}

#[tokio::test(start_paused = true)]
async fn replicas_share_hand_over_in_order_and_reconcile_nothing_twice_at_once() {
    let tasks = alive_tasks();
    let sims = Sims::of(MEMBERS);
    for server in sims.servers() {
        for number in 0..5 {
            server.create(config(&format!("object-{number}"))).unwrap();
        }
    }
    let seen = slow();
    let one = Replica::start(&sims, "one", seen.controller("seen"));
    shared(&sims, &[&one]).await;
    all_reconciled(&sims, &seen).await;
    let two = Replica::start(&sims, "two", seen.controller("seen"));
    eventually(LIMIT, "the second has a part", async || {
        (!two.engaged().is_empty()).then_some(()).ok_or("it has none")
    })
    .await;
    shared(&sims, &[&one, &two]).await;
    let elsewhere: BTreeSet<_> = one
        .manager
        .fleet()
        .elsewhere()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(elsewhere, two.engaged());
    for server in sims.servers() {
        server
            .replace(with_data(config("object-1"), "changed", "yes"))
            .unwrap();
    }
    one.leave().await;
    shared(&sims, &[&two]).await;
    all_reconciled(&sims, &seen).await;
    two.leave().await;
    assert_eq!(seen.most_at_once(), 1);
    nothing_left(&sims, tasks).await;
}

/// Writes to its object, again and again, for longer than any lease.
fn busy(user: &'static str, writes: &Writes) -> Recorder {
    let writes = writes.clone();
    Recorder::default().doing(move |call| {
        let writes = writes.clone();
        async move {
            loop {
                let mut filled = ConfigMap::default();
                filled.metadata.name = Some("counter".to_owned());
                filled.data = Some([(user.to_owned(), "works".to_owned())].into());
                call.cx.apply(&filled).await?;
                let now = Instant::now();
                writes
                    .lock()
                    .entry((call.cluster().to_owned(), user))
                    .or_default()
                    .push(now);
                sleep(SECOND).await;
            }
        }
    })
}

type Writes = std::sync::Arc<parking_lot::Mutex<BTreeMap<(String, &'static str), Vec<Instant>>>>;

fn last_of(writes: &Writes, user: &str) -> Instant {
    let writes = writes.lock();
    let of = writes.iter().filter(|((_, by), _)| *by == user);
    of.filter_map(|(_, at)| at.last().copied()).max().unwrap()
}

#[tokio::test(start_paused = true)]
async fn without_the_host_all_writes_end_before_another_replica_can_begin() {
    let sims = Sims::of(MEMBERS);
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let writes = Writes::default();
    let (one, two) = (busy("one", &writes), busy("two", &writes));
    let one = Replica::start(&sims, "one", one.controller("busy"));
    shared(&sims, &[&one]).await;
    let two = Replica::start(&sims, "two", two.controller("busy"));
    sleep(LEASE).await;
    shared(&sims, &[&one, &two]).await;
    let held = one.engaged();
    assert!(!held.is_empty() && held.len() < MEMBERS.len(), "{held:?}");
    // The members answer as before.
    sims.host()
        .faults(Faults::none().on(Requests::any().by("one"), Fault::hang()));
    let cut_off = Instant::now();
    eventually(LIMIT, "the other has taken over", async || {
        (two.engaged().len() == MEMBERS.len())
            .then_some(())
            .ok_or_else(|| format!("{:?}", two.engaged()))
    })
    .await;
    sleep(LEASE).await;
    let stopped = last_of(&writes, "one");
    assert!(stopped >= cut_off, "it went on for a while");
    assert!(stopped - cut_off <= LEASE * 9 / 10, "{:?}", stopped - cut_off);
    for cluster in &held {
        let writes = writes.lock();
        let (former, latter) = (
            &writes[&(cluster.clone(), "one")],
            &writes[&(cluster.clone(), "two")],
        );
        assert!(former.last() < latter.first(), "{cluster} was written to by both");
    }
    sims.host().clear_faults();
    eventually(LIMIT, "it has a part again", async || {
        (!one.engaged().is_empty()).then_some(()).ok_or("it has none")
    })
    .await;
    shared(&sims, &[&one, &two]).await;
    one.leave().await;
    two.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_out_for_seconds_stops_nothing() {
    let sims = Sims::of(["a", "b"]);
    sims.server("a").create(config("object")).unwrap();
    let seen = slow();
    let one = Replica::start(&sims, "one", seen.controller("seen"));
    shared(&sims, &[&one]).await;
    let epochs = |replica: &Replica| -> Vec<_> {
        replica
            .manager
            .fleet()
            .clusters()
            .iter()
            .map(mcrt::Cluster::epoch)
            .collect()
    };
    let before = epochs(&one);
    for _ in 0..5 {
        sleep(LEASE / 2).await;
        sims.host().partition();
        sleep(LEASE / 4).await;
        sims.host().heal();
    }
    assert_eq!(epochs(&one), before);
    one.leave().await;
}

#[tokio::test(start_paused = true)]
async fn by_choice_work_goes_on_without_the_host() {
    let sims = Sims::of(["a"]);
    let seen = slow();
    let choice = sharding("one").on_lost_host(LostHost::Continue);
    let one = Replica::of(&sims, "one", choice, seen.controller("seen"));
    shared(&sims, &[&one]).await;
    sims.host().partition();
    sleep(LEASE * 3).await;
    sims.server("a").create(config("object")).unwrap();
    eventually(LIMIT, "it is reconciled", async || seen.expect("a", "object", 1)).await;
    one.leave().await;
    sims.host().heal();
}

/// Works on objects of the host, and looks at Secrets there.
fn on_host(seen: &Mourner) -> Controller {
    let mut wiring = mcrt::ControllerBuilder::<Mourner>::new("on-host");
    wiring.for_kind(Watch::new().labels("mcrt.dev/test").on(Place::Host));
    seen.build(wiring)
}

#[tokio::test(start_paused = true)]
async fn what_lives_on_the_host_is_reconciled_by_one_replica_and_by_the_next_when_it_ends() {
    let sims = Sims::of(["a"]);
    let host = sims.host().clone();
    for number in 0..10 {
        host.create(config(&format!("object-{number}"))).unwrap();
    }
    let seen = slow();
    let one = Replica::start(&sims, "one", on_host(&seen));
    let ran = |at_least: usize| {
        let seen = seen.clone();
        async move {
            eventually(LIMIT, "the objects of the host are reconciled", async || {
                let runs = seen.runs().len();
                (runs >= at_least)
                    .then_some(())
                    .ok_or_else(|| format!("{runs} runs"))
            })
            .await;
        }
    };
    ran(10).await;
    let two = Replica::start(&sims, "two", on_host(&seen));
    let three = Replica::start(&sims, "three", on_host(&seen));
    sleep(LEASE).await;
    // Whoever works now: one change is one run.
    seen.forget();
    host.replace(with_data(config("object-3"), "changed", "yes"))
        .unwrap();
    host.delete("v1", "ConfigMap", Some("default"), "object-4")
        .unwrap();
    sleep(LEASE).await;
    let runs: Vec<_> = seen
        .runs()
        .iter()
        .map(|run| (run.what, run.name.clone()))
        .collect();
    let expected = [
        (What::Reconcile, "object-3".to_owned()),
        (What::Gone, "object-4".to_owned()),
    ];
    assert_eq!(runs, expected);
    for (replica, left) in [(one, 2), (two, 1)] {
        seen.forget();
        replica.leave().await;
        host.replace(with_data(config("object-5"), "left", &left.to_string()))
            .unwrap();
        eventually(LIMIT, "the change is reconciled", async || {
            let of = seen.of("host", "object-5");
            let current = host.get("v1", "ConfigMap", Some("default"), "object-5").unwrap();
            let version = current["metadata"]["resourceVersion"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            of.iter()
                .any(|run| run.version == version)
                .then_some(())
                .ok_or_else(|| format!("{of:?}"))
        })
        .await;
    }
    let gone = seen.runs().iter().filter(|run| run.what == What::Gone).count();
    assert_eq!(gone, 0, "leave of object-4 was taken before");
    assert_eq!(seen.most_at_once(), 1);
    three.leave().await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_on_the_host_that_outlasts_its_grace_is_broken_off_before_the_next_replica_begins() {
    let sims = Sims::of([]);
    sims.host().create(config("object")).unwrap();
    let seen = Mourner::default().doing(|_| async {
        sleep(Duration::from_mins(4)).await;
        Ok(Action::await_change())
    });
    let one = Replica::start(&sims, "one", on_host(&seen));
    eventually(LIMIT, "it runs", async || seen.expect("host", "object", 1)).await;
    sims.host()
        .faults(Faults::none().on(Requests::any().by("one"), Fault::hang()));
    let two = Replica::start(&sims, "two", on_host(&seen));
    eventually(LIMIT, "the next one runs it", async || {
        seen.expect("host", "object", 2)
    })
    .await;
    let runs = seen.runs();
    assert!(
        runs[0].ended.is_some_and(|ended| ended < runs[1].began),
        "{runs:?}"
    );
    sims.host().clear_faults();
    one.leave().await;
    two.leave().await;
    assert_eq!(seen.most_at_once(), 1);
}

#[tokio::test(start_paused = true)]
async fn who_does_not_work_on_the_host_reads_it_all_the_same() {
    let sims = Sims::of(MEMBERS);
    for server in sims.servers() {
        server.create(config("object")).unwrap();
    }
    let seen = slow();
    let controller = || {
        let mut wiring = seen.wiring("reads-host");
        wiring.watches(
            Watch::<Secret>::new().on(Place::Host).labels("mcrt.dev/test"),
            |_, _, cx| {
                let clusters = cx.fleet().clusters().into_iter();
                let requests = clusters.map(|cluster| {
                    mcrt::Request::<ConfigMap>::new(
                        cluster.name().clone(),
                        mcrt::ObjectKey::namespaced("default", "object"),
                    )
                });
                requests.collect::<Vec<_>>()
            },
        );
        seen.build(wiring)
    };
    let (one, two) = (
        Replica::start(&sims, "one", controller()),
        Replica::start(&sims, "two", controller()),
    );
    shared(&sims, &[&one, &two]).await;
    all_reconciled(&sims, &seen).await;
    sleep(LEASE).await;
    assert!(!one.engaged().is_empty() && !two.engaged().is_empty());
    seen.forget();
    // Each replica hears of it, and works on its own clusters for it.
    sims.host().create(secret("news")).unwrap();
    eventually(LIMIT, "every cluster has heard", async || {
        MEMBERS
            .iter()
            .try_for_each(|cluster| seen.expect(cluster, "object", 1))
    })
    .await;
    one.leave().await;
    two.leave().await;
}

#[tokio::test(start_paused = true)]
async fn through_joins_leaves_crashes_and_faults_nothing_is_lost_and_nothing_is_done_by_two() {
    let mut random = Random::new();
    for _ in 0..6 {
        storm(&mut random).await;
    }
}

async fn storm(random: &mut Random) {
    let sims = Sims::of(["a", "b", "c", "d", "e"]);
    let host = sims.host().clone();
    let seen = slow();
    let leases = || Requests::any().of("leases");
    host.faults(
        Faults::seeded(random.number())
            .on(leases().rate(0.05), Fault::status(500))
            .on(leases().rate(0.05), Fault::hang())
            .on(Requests::writes().of("leases").rate(0.05), Fault::lose_answer()),
    );
    let mut replicas = vec![Replica::start(&sims, "r-0", seen.controller("seen"))];
    for step in 1..60_u32 {
        let server = sims.server(random.choose::<&str>(&["a", "b", "c", "d", "e"]));
        let object = format!("object-{}", random.below(8));
        match random.below(4) {
            0 => drop(server.delete("v1", "ConfigMap", Some("default"), &object)),
            1 => drop(server.create(config(&object))),
            _ => drop(server.replace(with_data(config(&object), "step", &step.to_string()))),
        }
        let at = usize::try_from(random.below(replicas.len() as u64)).unwrap();
        match random.below(12) {
            0 | 1 if replicas.len() < 4 => {
                replicas.push(Replica::start(
                    &sims,
                    &format!("r-{step}"),
                    seen.controller("seen"),
                ));
            }
            2 if replicas.len() > 1 => replicas.swap_remove(at).leave().await,
            3 if replicas.len() > 1 => replicas.swap_remove(at).crash(&host).await,
            _ => sleep(random.millis(6_000)).await,
        }
    }
    host.clear_faults();
    sleep(LEASE * 3).await;
    shared(&sims, &replicas.iter().collect::<Vec<_>>()).await;
    all_reconciled(&sims, &seen).await;
    for replica in replicas {
        replica.leave().await;
    }
    assert_eq!(seen.most_at_once(), 1, "{seen:?}");
}

#[tokio::test]
async fn what_replicas_cannot_share_by_is_refused_at_the_start() {
    let sims = Sims::of(["a"]);
    let refused = sims.manager().sharded(Sharding::new("a/b")).build();
    assert!(
        matches!(&refused, Err(StartError::Sharding(fault)) if fault.contains("`a/b`")),
        "{refused:?}"
    );
    let hostless = Manager::builder()
        .provider(sims.provider())
        .sharded(Sharding::new("tokens"))
        .build();
    assert!(
        matches!(&hostless, Err(StartError::NoHostToShare { group }) if group == "tokens"),
        "{hostless:?}"
    );
}
