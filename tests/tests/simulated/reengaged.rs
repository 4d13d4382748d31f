//! A cluster that comes and goes while a kind appears in it: every step ends in time, whatever the step before did.

use std::time::Duration;

use kube::core::DynamicObject;
use mcrt::{ControllerBuilder, Watch, WatchState};
use mcrt_sim::{Server, Verb, Verdict};
use mcrt_tests::simulated::{Recorder, Running, Sims, config, name, widget, widget_resource, widgets};
use tokio::time::{Instant, sleep};

/// What a removal may take.
const REMOVED: Duration = Duration::from_secs(5);
/// The kinds of a server are looked at every 30 s, give or take a fifth.
const FOUND: Duration = Duration::from_secs(40);

/// With objects, and with lists that take their time.
fn slow(label: &str) -> Server {
    let server = Server::new(label);
    server.create(config("object")).unwrap();
    server.hook(|request| match request.verb() {
        Verb::List => Verdict::Delay(Duration::from_millis(100)),
        _ => Verdict::Pass,
    });
    server
}

fn begin_to_serve(server: &Server) {
    server.serve(widgets());
    server.create(widget("widget")).unwrap();
}

async fn leave(running: &Running<'_>, server: &Server) {
    let asked = Instant::now();
    running.sims.leave(server.name());
    running
        .within(REMOVED, "it has left", async || {
            let known = running.handle.fleet().get(&name(server.name()));
            match (server.counters().open_requests, known) {
                (0, None) => Ok(()),
                left => Err(format!("{left:?}")),
            }
        })
        .await;
    assert!(asked.elapsed() < REMOVED);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_may_come_and_go_while_a_kind_appears_in_the_middle_of_its_sync() {
    let sims = Sims::of(["b"]);
    begin_to_serve(&sims.server("b"));
    let (seen, configs): (Recorder<DynamicObject>, Recorder) = (Recorder::default(), Recorder::default());
    let mut wiring = ControllerBuilder::new("widgets");
    wiring.for_kind_with(widget_resource(), Watch::new());
    sims.manager()
        .controller(seen.build(wiring))
        .controller(configs.controller("configs"))
        .run(async |running| {
            running
                .until("b has widgets", async || seen.expect("b", "widget", 1))
                .await;
            for round in 0..200_u64 {
                let server = slow("a");
                sims.put(&server);
                // From before the first request, over the middle of either list, to after the last.
                let appears = round * 7 % 260;
                sleep(Duration::from_millis(appears)).await;
                begin_to_serve(&server);
                sleep(Duration::from_millis(round * 13 % 150)).await;
                if round % 3 == 0 {
                    server.unserve("example.com", "widgets");
                }
                // The same server again and again, or a new one each time.
                leave(running, &server).await;
                if round % 2 == 0 {
                    sims.put(&server);
                    sleep(Duration::from_millis(round % 130)).await;
                    leave(running, &server).await;
                }
            }
            let server = slow("a");
            sims.put(&server);
            sleep(Duration::from_millis(150)).await;
            seen.forget();
            configs.forget();
            begin_to_serve(&server);
            running
                .within(FOUND, "the kind is found at last", async || {
                    seen.expect("a", "widget", 1)
                })
                .await;
            let states = running.cluster("a").watches();
            assert!(
                states.iter().all(|(_, state)| *state == WatchState::Synced),
                "{states:?}"
            );
            running.settled().await;
            assert_eq!(seen.count("b", "widget"), 0, "nothing happened to the other");
        })
        .await;
}
