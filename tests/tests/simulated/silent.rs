//! A watch whose connection was forgotten on the way: nobody closes it, nothing comes any more.

use std::time::Duration;

use mcrt_sim::{Fault, Faults, Requests};
use mcrt_tests::simulated::{Recorder, Sims, config, with_data};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_watch_that_fell_silent_is_begun_again_before_a_balancer_forgets_it() {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    server.create(config("object")).unwrap();
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            // What is open, or opened once more, says nothing any more and is not closed either.
            let silent = Requests::watches().of("configmaps").first(1);
            server.faults(Faults::none().on(silent, Fault::silence_after(Duration::ZERO)));
            server.disconnect_watches();
            running
                .until("the silent watch is open", async || {
                    match server.counters().kind("configmaps").open_watches {
                        1 => Ok(()),
                        open => Err(format!("{open} watches")),
                    }
                })
                .await;
            sleep(SECOND * 5).await;
            server.replace(with_data(config("object"), "key", "new")).unwrap();
            let changed = Instant::now();
            running
                .within(SECOND * 240, "the change is seen", async || {
                    seen.expect("a", "object", 2)
                })
                .await;
            assert!(changed.elapsed() > SECOND * 5, "the watch was silent");
            assert!(
                running.cluster("a").health().is_ready(),
                "the server answers all along"
            );
        })
        .await;
}
