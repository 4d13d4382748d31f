//! A stream that ends takes its program with it.
use super::program::{Program, line};
use std::time::Duration;

/// Until no process of this number runs.
pub(super) async fn gone(number: &str) {
    let number = number.trim();
    assert!(number.parse::<u32>().is_ok(), "`{number}` is a number");
    let path = format!("/proc/{number}/stat");
    let ended = async {
        // An orphan belongs to whoever reaps on this machine, which may take its time.
        let runs = || std::fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z "));
        while runs() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
    ended.expect("the process ends");
}

#[tokio::test]
async fn a_stream_that_is_dropped_kills_and_reaps_the_program_and_its_children() {
    let script = "echo $$ > self; sleep 600 & echo $! > child; cat output; wait";
    for streamed in [false, true] {
        let program = Program::of(script);
        program.prints(&[&line("a")]);
        let mut reader = if streamed {
            program.stream()
        } else {
            program.poll()
        };
        while program.read("child").is_empty() || streamed && reader.clusters.is_empty() {
            if !reader.is_quiet(Duration::from_millis(20)).await {
                break;
            }
        }
        while program.read("child").trim().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        drop(reader);
        gone(&program.read("child")).await;
        let leader = program.read("self");
        let path = format!("/proc/{}", leader.trim());
        let reaped = async {
            while std::path::Path::new(&path).exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reaped)
            .await
            .expect("it is reaped");
    }
}

#[tokio::test]
async fn what_may_be_secret_is_in_no_debug_output() {
    let command = crate::providers::Command::new("x")
        .arg("SECRET")
        .env("TOKEN", "SECRET");
    let shown = format!("{command:?}");
    assert!(shown.contains('x') && !shown.contains("SECRET"), "{shown}");
}
