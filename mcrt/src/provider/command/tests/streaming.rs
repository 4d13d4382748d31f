//! Programs that go on.
use super::program::{Program, at, line};
use crate::provider::tests::Reader;
use std::{sync::Arc, time::Duration};

const SYNCED: &str = r#"{"synced": true}"#;

/// Prints `first`, and then whatever is written into `more`.
const FOLLOWS: &str = "cat first\ntouch more\nexec tail -n +1 -f more";

fn following(first: &[&str]) -> Program {
    let program = Program::of(FOLLOWS);
    program.write("first", &(first.join("\n") + "\n"));
    program
}

impl Program {
    /// The program prints these lines now.
    fn goes_on(&self, lines: &[&str]) {
        use std::io::Write;
        let more = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.path("more"));
        more.unwrap()
            .write_all((lines.join("\n") + "\n").as_bytes())
            .unwrap();
    }
}

#[tokio::test]
async fn what_was_named_comes_first_then_each_change() {
    let program = following(&[&line("a"), &line("b"), SYNCED]);
    let mut reader = program.stream();
    assert_eq!(reader.until("synced").await, ["+a", "+b", "synced"]);
    program.goes_on(&[
        &line("c"),
        r#"{"remove": "a"}"#,
        &at("b", "elsewhere"),
        r#"{"remove": "nobody"}"#,
    ]);
    assert_eq!(reader.take(3).await, ["+c", "-a", "+b"]);
    program.goes_on(&[&at("b", "elsewhere"), SYNCED]);
    assert!(
        reader.is_quiet(Duration::from_millis(300)).await,
        "which it knows"
    );
    program.goes_on(&[&line("a")]);
    assert_eq!(reader.next().await, "+a");
}

#[tokio::test]
async fn a_program_that_ends_is_started_again_and_what_it_no_longer_names_is_gone() {
    let program = Program::of("cat first; [ -e stay ] && exec sleep 600; exit 7");
    program.write(
        "first",
        &[&line("a"), &line("b"), SYNCED, ""].map(String::from).join("\n"),
    );
    let mut reader = program.stream();
    reader.until("synced").await;
    let said = reader.next().await;
    assert_eq!(
        said,
        "!`/bin/sh` exited with code 7; clusters stay as they were, and it is started again"
    );
    program.write("stay", "");
    program.write(
        "first",
        &[&line("b"), &line("c"), SYNCED, ""].map(String::from).join("\n"),
    );
    let changes = reader.until("-a").await;
    let changes: Vec<_> = changes.iter().filter(|change| !change.starts_with('!')).collect();
    assert_eq!(changes, ["+c", "-a"]);
}

#[tokio::test]
async fn nothing_is_gone_before_all_has_been_named_again() {
    let program = Program::of("cat first; exec sleep 600");
    program.write("first", &[&line("a"), SYNCED, ""].map(String::from).join("\n"));
    let command = Arc::new(program.command().streamed().deadline(Duration::from_secs(2)));
    let mut reader = Reader::of(&command);
    reader.until("synced").await;
    drop(reader);
    program.write("first", &(line("b") + "\n"));
    let mut reader = Reader::of(&command);
    assert_eq!(reader.next().await, "+b");
    let said = reader.next().await;
    assert!(
        said.contains("did not print `{\"synced\": true}` before its deadline and was killed"),
        "{said}"
    );
}

#[tokio::test]
async fn bad_lines_are_told_apart_and_passed_over() {
    let program = following(&[&line("a"), "SECRET", SYNCED]);
    let mut reader = program.stream();
    let said = reader.until("synced").await;
    assert_eq!(
        said[1],
        "!`/bin/sh`: line 2 is not JSON: it goes wrong at column 1; until it is started again, no cluster is taken for \
         gone that it does not remove"
    );
    program.goes_on(&[
        r#"{"name": "b", "access": {"server": "http://SECRET"}}"#,
        r#"{"name": "a", "access": {"server": ["SECRET"]}}"#,
        "[1]",
        &format!(r#"{{"name": "{}"}}"#, "x".repeat(3 << 20)),
        &line("c"),
    ]);
    let said = reader.until("+c").await;
    assert_eq!(said.len(), 5, "{said:#?}");
    assert!(
        said[0].starts_with("?b: its kubeconfig: context `b`: clusters[b].cluster.server: "),
        "{said:#?}"
    );
    assert!(
        said[1].starts_with("?a: its kubeconfig: not a kubeconfig"),
        "{said:#?}"
    );
    assert_eq!(said[2], "!`/bin/sh`: line 6 is no JSON object");
    assert!(
        said[3].starts_with("!`/bin/sh`: line 7 is longer than 2 MiB"),
        "{said:#?}"
    );
    assert!(!said.concat().contains("SECRET"), "{said:#?}");
    assert!(reader.clusters.contains_key("a"), "it stays as it was");
}

#[tokio::test]
async fn a_program_that_babbles_is_not_listened_to_for_ever() {
    let program = Program::of("cat first; yes SECRET | head -n 100000; cat first; exec sleep 600");
    program.write("first", &[&line("a"), SYNCED, ""].map(String::from).join("\n"));
    let mut reader = program.stream();
    reader.until("synced").await;
    let said = reader.take(10).await;
    assert!(
        said[9].ends_with("more such lines are not reported in this run"),
        "{said:#?}"
    );
    assert!(reader.is_quiet(Duration::from_millis(500)).await);
}

#[tokio::test]
async fn noise_on_standard_error_does_not_hold_the_program_up() {
    let program = Program::of("yes noise | head -c 1000000 >&2; cat first; exec sleep 600");
    program.write("first", &[&line("a"), SYNCED, ""].map(String::from).join("\n"));
    assert_eq!(program.stream().until("synced").await, ["+a", "synced"]);
}
