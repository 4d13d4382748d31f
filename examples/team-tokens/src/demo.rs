//! What the simulated fleet holds when the program starts: two teams and their keys.
use serde_json::{Value, json};

/// Gives the host two keys, and every cluster a ConfigMap for each team.
pub fn demo(fleet: &mcrt_sim::Fleet) {
    for (team, key) in [("blue", "c2t5"), ("red", "cm9zZXM=")] {
        put(&fleet.host(), key_secret(team, key));
        for server in fleet.servers() {
            put(&server, team_config(team));
        }
    }
}

fn put(server: &mcrt_sim::Server, object: Value) {
    if let Err(status) = server.create(object) {
        eprintln!("{}: {status}", server.name());
    }
}

fn key_secret(team: &str, key: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": team, "labels": {"mcrt.dev/signing-key": ""}},
        "data": {"key": key},
    })
}

fn team_config(team: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("{team}-settings"), "labels": {"mcrt.dev/team": team}},
        "data": {"colour": team},
    })
}
