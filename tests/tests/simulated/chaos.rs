//! Random changes under random faults: once the faults are over, every object has been reconciled as it is, and leave
//! was taken of every one that is gone, once.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::runtime::reflector::ObjectRef;
use mcrt::{Action, Error, Watch};
use mcrt_sim::{Server, Verb, Verdict};
use mcrt_tests::{
    random::Random,
    simulated::{Recorder, Run, Running, Sims, What, config, hang, secret, with_data},
};
use tokio::time::sleep;

type Mourner = Recorder<ConfigMap, true>;

const MEMBERS: [&str; 3] = ["a", "b", "c"];

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_whatever_happens_to_the_servers() {
    let mut random = Random::new();
    let sims = Sims::of(MEMBERS);
    let seen = Mourner::default().doing(|call| async move {
        // A third of all versions fail at first, and all take a while.
        sleep(Duration::from_millis(30)).await;
        match call
            .object
            .metadata
            .resource_version
            .as_deref()
            .unwrap_or_default()
            .parse::<u64>()
        {
            Ok(version) if version % 3 == 0 && call.cx.attempt() == 0 => Err(Error::msg("not at first")),
            _ => Ok(Action::await_change()),
        }
    });
    let mut wiring = seen.wiring("chaos");
    wiring.watches(Watch::<Secret>::new().labels("mcrt.dev/test"), |_, secret, _| {
        let name = secret.metadata.name.as_deref().unwrap_or_default();
        Some(ObjectRef::<ConfigMap>::new(name).within("default"))
    });
    sims.manager()
        .controller(seen.build(wiring))
        .run(async |running| {
            running.settled().await;
            for step in 0..600_u32 {
                let server = sims.server(random.choose::<&str>(&MEMBERS));
                change(&server, &mut random, step);
                if random.percent(15) {
                    disturb(&server, &mut random);
                }
                if random.percent(20) {
                    sims.servers().iter().for_each(Server::clear_hook);
                }
                sleep(random.millis(300)).await;
            }
            sims.servers().iter().for_each(Server::clear_hook);
            all_is_as_it_should_be(running, &seen).await;
        })
        .await;
}

fn change(server: &Server, random: &mut Random, step: u32) {
    let object = format!("object-{}", random.below(12));
    // What cannot be done is not done: there is no such object, or there is one already.
    match random.below(10) {
        0..3 => drop(server.create(config(&object))),
        3..6 => drop(server.replace(with_data(config(&object), "step", &step.to_string()))),
        6..8 => drop(server.delete("v1", "ConfigMap", Some("default"), &object)),
        8 => {
            drop(server.delete("v1", "ConfigMap", Some("default"), &object));
            drop(server.create(config(&object)));
        }
        _ => drop(
            server
                .create(secret(&object))
                .or_else(|_| server.get("v1", "Secret", Some("default"), &object)),
        ),
    }
}

fn disturb(server: &Server, random: &mut Random) {
    match random.below(8) {
        0 => server.disconnect_watches(),
        1 => server.expire_watches(),
        2 => {
            server.compact();
            server.disconnect_watches();
        }
        3 => {
            hang(server);
            server.disconnect_watches();
        }
        4 => {
            server.hook(|_| Verdict::Reset);
            server.disconnect_watches();
        }
        5 => server.hook(|request| match request.verb() {
            Verb::Watch => Verdict::gone(),
            _ => Verdict::Pass,
        }),
        6 => {
            server.hook(|request| match request.verb() {
                Verb::List => Verdict::fail(500),
                Verb::Watch => Verdict::HangBody,
                _ => Verdict::Pass,
            });
            server.expire_watches();
        }
        _ => {
            server.hook(|request| match request.verb() {
                Verb::Watch => Verdict::watch_gone(),
                Verb::List => Verdict::Delay(Duration::from_millis(700)),
                _ => Verdict::Pass,
            });
            server.disconnect_watches();
        }
    }
}

async fn all_is_as_it_should_be(running: &Running<'_>, seen: &Mourner) {
    for server in running.sims.servers() {
        let objects: BTreeMap<_, _> = server
            .list("v1", "ConfigMap", Some("default"))
            .unwrap()
            .iter()
            .filter(|object| object["metadata"]["labels"]["mcrt.dev/test"] == "yes")
            .map(|object| {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
                (text("uid"), text("resourceVersion"))
            })
            .collect();
        running
            .within(
                Duration::from_mins(10),
                "every object has been reconciled as it is",
                async || {
                    let runs: Vec<_> = seen
                        .runs()
                        .into_iter()
                        .filter(|run| run.cluster == server.name())
                        .collect();
                    reconciled(&objects, &runs)?;
                    mourned(&objects, &runs)
                },
            )
            .await;
    }
    assert_eq!(seen.most_at_once(), 1);
    running
        .until("the last retries are over", async || {
            match running.controller("chaos").queue().delayed {
                0 => running.idle(),
                delayed => Err(format!("{delayed} wait")),
            }
        })
        .await;
}

fn reconciled(objects: &BTreeMap<String, String>, runs: &[Run]) -> Result<(), String> {
    for (uid, version) in objects {
        let last = runs
            .iter()
            .rev()
            .find(|run| run.uid == *uid && run.what == What::Reconcile);
        match last {
            Some(run) if run.version == *version => {}
            Some(run) => return Err(format!("{} at {}, not {version}", run.request, run.version)),
            None => return Err(format!("{uid} was never reconciled")),
        }
    }
    Ok(())
}

/// Every object that was reconciled and is no more was taken leave of, once, and not reconciled after that.
fn mourned(objects: &BTreeMap<String, String>, runs: &[Run]) -> Result<(), String> {
    for run in runs.iter().filter(|run| run.what == What::Reconcile) {
        let leaves: Vec<_> = runs
            .iter()
            .filter(|it| it.uid == run.uid && it.what == What::Gone)
            .collect();
        match leaves[..] {
            [] if objects.contains_key(&run.uid) => {}
            [leave] if leave.began >= run.began && !objects.contains_key(&run.uid) => {}
            _ => {
                return Err(format!(
                    "{} {}: gone {} times",
                    run.request,
                    run.uid,
                    leaves.len()
                ));
            }
        }
    }
    Ok(())
}
