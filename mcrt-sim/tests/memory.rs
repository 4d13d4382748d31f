//! What stored objects cost, as the operating system sees it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests, helpers included")]

use mcrt_sim::Server;
use serde_json::json;

const OBJECTS: usize = 8_000;

/// Bytes of memory that the process holds.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

fn fill(server: &Server, from: usize, to: usize) -> usize {
    let mut written = 0;
    for index in from..to {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("object-{index}"), "labels": {"team": "red"}},
            "data": {"key": "x".repeat(500)},
        });
        written += server.create(object).unwrap().to_string().len();
    }
    written
}

#[test]
fn stored_objects_take_at_most_twice_their_json() {
    let server = Server::new("one");
    // What the first ones leave free is used by the later ones.
    fill(&server, 0, 1_000);
    let before = resident();
    let json = fill(&server, 1_000, OBJECTS);
    let held = resident() - before;
    assert!(
        held <= 2 * json,
        "{held} bytes are held for {json} bytes of JSON: {} and {} an object",
        held / OBJECTS,
        json / OBJECTS
    );
    println!("{} bytes for {} bytes of JSON", held / OBJECTS, json / OBJECTS);
}
