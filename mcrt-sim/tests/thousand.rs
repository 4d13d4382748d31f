//! A thousand clusters in one process cost next to nothing.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use common::{client, config_map_json};
use futures::FutureExt;
use mcrt_sim::{Fleet, FleetChange};
use serde_json::json;
use tokio::runtime::Handle;

#[tokio::test]
async fn a_thousand_idle_clusters_have_no_task_and_hardly_any_memory() {
    let tasks = Handle::current().metrics().num_alive_tasks();
    let before = resident();
    let names: Vec<_> = (0..1000).map(|number| format!("cluster-{number}")).collect();
    let fleet = Fleet::of(names.iter().map(String::as_str));
    let clients: Vec<_> = fleet.servers().iter().map(client).collect();
    for client in &clients {
        client.apiserver_version().await.unwrap();
    }
    let held = resident().saturating_sub(before) / 1000;
    // Clients included, which weigh more than the servers.
    assert!(held < 200_000, "{held} bytes a cluster");
    assert!(
        fleet
            .servers()
            .iter()
            .all(|server| server.counters().open_requests == 0)
    );
    drop(clients);
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}

#[tokio::test]
async fn members_of_a_large_fleet_do_not_see_each_other() {
    let names: Vec<_> = (0..200).map(|number| format!("cluster-{number}")).collect();
    let fleet = Fleet::of(names.iter().map(String::as_str));
    for (number, server) in fleet.servers().iter().enumerate() {
        server
            .create(config_map_json(&format!("own-{number}"), &json!({})))
            .unwrap();
    }
    fleet.leave("cluster-7");
    fleet.reset("cluster-8");
    let changes: Vec<_> = {
        let mut changes = Box::pin(fleet.changes());
        std::iter::from_fn(|| futures::StreamExt::next(&mut changes).now_or_never().flatten()).collect()
    };
    assert_eq!(changes.len(), 200);
    assert!(matches!(changes[199], FleetChange::Synced));
    for server in fleet.servers() {
        let own = server.list("v1", "ConfigMap", Some("default")).unwrap();
        let expected = if server.name() == "cluster-8" { 1 } else { 2 };
        assert_eq!(own.len(), expected, "{}", server.name());
    }
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or_default() * 1024
}
