//! Reads of one small object, one after another and many at once.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use mcrt::connect::Life;
use mcrt_tests::measure::Numbers;

use super::{Arguments, Outcome, Site, median};

/// The object that every namespace has.
const NAME: &str = "kube-root-ca.crt";

/// Microseconds a request: of time, and of this process's CPU.
#[derive(Default)]
struct Side {
    time: Vec<f64>,
    cpu: Vec<f64>,
}

pub(crate) async fn measure(site: &Site, life: &Life, arguments: &Arguments) -> Outcome {
    let (ours, plain) = (site.ours(life, arguments)?, site.plain().await?);
    println!(
        "{} reads a round, medians of {} rounds, us a request",
        arguments.requests, arguments.rounds
    );
    println!("{:<26} {:>8} {:>8} {:>7}", "", "mcrt", "kube", "ratio");
    for at_once in [1, 32] {
        let (mut us, mut them) = (Side::default(), Side::default());
        // The first round is for the connections.
        round(&ours, at_once, arguments.requests / 10).await?;
        round(&plain, at_once, arguments.requests / 10).await?;
        for _ in 0..arguments.rounds {
            us.add(round(&ours, at_once, arguments.requests).await?);
            them.add(round(&plain, at_once, arguments.requests).await?);
        }
        row(&format!("{at_once} at once, time"), us.time, them.time);
        row(&format!("{at_once} at once, CPU"), us.cpu, them.cpu);
    }
    Ok(())
}

impl Side {
    fn add(&mut self, (time, cpu): (f64, f64)) {
        self.time.push(time);
        self.cpu.push(cpu);
    }
}

fn row(what: &str, us: Vec<f64>, them: Vec<f64>) {
    let (us, them) = (median(us), median(them));
    println!("{what:<26} {us:>8.1} {them:>8.1} {:>7.2}", us / them);
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
async fn round(client: &Client, at_once: usize, requests: usize) -> Outcome<(f64, f64)> {
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    let before = Numbers::read(Duration::ZERO)?;
    let began = Instant::now();
    futures::stream::iter(0..requests)
        .map(|_| api.get(NAME))
        .buffer_unordered(at_once)
        .try_for_each(async |_| Ok(()))
        .await?;
    let took = began.elapsed();
    let after = Numbers::read(took)?;
    let each = |seconds: f64| seconds * 1e6 / requests as f64;
    Ok((
        each(took.as_secs_f64()),
        each(after.cpu_seconds - before.cpu_seconds),
    ))
}
