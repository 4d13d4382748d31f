//! The program as a user starts it: what it prints on the simulated fleet, and how it ends.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail as tests do"
)]
mod support;

use std::collections::BTreeSet;
use support::{Line, Program, log};

/// The clusters whose root certificate was printed: every namespace of a cluster has one.
fn clusters(seen: &[Line]) -> BTreeSet<String> {
    let printed = seen.iter().filter_map(|line| match line {
        Line::Out(text) if text.ends_with("name=kube-root-ca.crt") => text.split_whitespace().next(),
        _ => None,
    });
    printed
        .map(|word| word.trim_start_matches("cluster=").to_owned())
        .collect()
}

#[test]
fn it_prints_the_simulated_fleet_follows_it_and_ends_on_ctrl_c() {
    let mut program = Program::start(&[], |_| ());

    let first = program.wait_for("a first log line", |seen| log(seen, "").map(str::to_owned));
    assert!(first.contains("SIMULATED"), "{first}");
    assert!(first.contains("provider `sim`, because"), "{first}");

    let three = program.wait_for("three clusters", |seen| {
        Some(clusters(seen)).filter(|clusters| clusters.len() >= 3)
    });
    let four = program.wait_for("the one that joins", |seen| {
        Some(clusters(seen)).filter(|clusters| clusters.len() >= 4)
    });
    assert!(four.is_superset(&three), "{three:?}, then {four:?}");

    let leaving = program.wait_for("the one that leaves", |seen| {
        log(seen, "disengaging").map(str::to_owned)
    });
    assert!(
        four.iter()
            .any(|cluster| leaving.contains(&format!("cluster={cluster}"))),
        "{leaving}"
    );

    program.interrupt();
    let status = program.wait_for_exit();
    assert!(status.success(), "{status}; {:#?}", program.seen);
    assert!(log(&program.seen, "stopped").is_some(), "{:#?}", program.seen);
}
