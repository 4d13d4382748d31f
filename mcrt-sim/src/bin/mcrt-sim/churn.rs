//! Life in the fleet: `ConfigMaps` that come, change and go.

use std::time::Duration;

use mcrt_sim::Server;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

/// How many objects there are at most in each cluster.
const OBJECTS: u64 = 20;
/// The label by which they can be found.
const LABEL: &str = "mcrt.dev/churn";

/// Changes objects for ever, so many a second; the seed says which.
pub(crate) async fn churn(servers: Vec<Server>, rate: f64, seed: u64) {
    let mut random = Random(seed);
    // A rate that makes no sense means as slow as can be.
    let pause = Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX);
    let mut ticks = interval(pause.max(Duration::from_micros(100)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for step in 0_u64.. {
        ticks.tick().await;
        if let Some(server) = servers.get(random.index(servers.len())) {
            change(server, &mut random, step);
        }
    }
}

fn change(server: &Server, random: &mut Random, step: u64) {
    let name = format!("churn-{}", random.next() % OBJECTS);
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {LABEL: "yes"}},
        "data": {"step": step.to_string()},
    });
    // What is not there cannot be deleted, and what is there is not created again: both are life as well.
    let done = match random.next() % 4 {
        0 => server.delete("v1", "ConfigMap", Some("default"), &name),
        _ => server
            .replace(object.clone())
            .or_else(|_| server.create(object))
            .map(|_| ()),
    };
    if let Err(status) = done {
        tracing::debug!(cluster = server.name(), %status, "nothing changed");
    }
}

/// A small generator of numbers: the same seed gives the same life.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // Knuth's multiplier; the upper bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn index(&mut self, count: usize) -> usize {
        usize::try_from(self.next()).unwrap_or_default() % count.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_same_seed_gives_the_same_life() {
        let live = async |seed| {
            let servers = vec![Server::new("a"), Server::new("b")];
            let life = churn(servers.clone(), 10.0, seed);
            let _ = tokio::time::timeout(Duration::from_secs(30), life).await;
            let names = servers
                .iter()
                .flat_map(|server| server.list("v1", "ConfigMap", Some("default")).unwrap());
            names
                .map(|it| (it["metadata"]["name"].clone(), it["data"].clone()))
                .collect::<Vec<_>>()
        };
        let first = live(7).await;
        assert!(first.len() > 10);
        assert_eq!(first, live(7).await);
        assert_ne!(first, live(8).await);
    }
}
