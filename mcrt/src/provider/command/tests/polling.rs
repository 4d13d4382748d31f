//! Programs that list everything and end.
use super::program::{Program, RUN, at, line};
use crate::provider::{Change, tests::Reader};
use std::sync::Arc;

#[tokio::test]
async fn what_is_listed_is_there_and_what_is_no_longer_listed_is_gone() {
    let program = Program::printing(&[&line("a"), "", &line("b")]);
    let mut reader = program.poll();
    assert_eq!(reader.until("synced").await, ["+a", "+b", "synced"]);
    program.prints(&[&line("b"), &line("c")]);
    assert_eq!(reader.take(2).await, ["-a", "+c"], "what goes goes first");
    program.prints(&[]);
    assert_eq!(reader.take(2).await, ["-b", "-c"]);
}

#[tokio::test]
async fn an_equal_list_says_nothing_in_any_order() {
    let program = Program::printing(&[&line("a"), &line("b")]);
    let mut reader = program.poll();
    reader.until("synced").await;
    program.prints(&[&line("b"), &line("a")]);
    assert!(reader.is_quiet(RUN * 4).await);
    program.prints(&[&at("a", "elsewhere"), &line("b")]);
    assert_eq!(reader.next().await, "+a");
    assert_eq!(reader.clusters["a"], "https://elsewhere.test:6443/");
}

#[tokio::test]
async fn a_program_that_fails_changes_nothing_and_is_said_once() {
    let program = Program::printing(&[&line("a")]);
    let mut reader = program.poll();
    reader.until("synced").await;
    for (script, told) in [
        ("echo SECRET >&2; exit 3", "exited with code 3"),
        ("cat output; kill -9 $$", "was ended by signal 9"),
        (
            "while :; do cat output output output output; done",
            "printed more than 33554432 bytes",
        ),
    ] {
        program.prints(&[&line(&"b".repeat(200))]);
        program.runs(script);
        let said = reader.next().await;
        assert_eq!(said, format!("!`/bin/sh` {told}; clusters stay as they were"));
    }
    program.runs("exit 4");
    assert!(reader.next().await.contains("code 4"));
    assert!(reader.is_quiet(RUN * 4).await, "said once");
    program.runs("cat output");
    program.prints(&[&line("c")]);
    assert_eq!(reader.take(2).await, ["-a", "+c"]);
}

#[tokio::test]
async fn a_program_that_fails_at_first_is_no_empty_list() {
    let program = Program::of("exit 1");
    let mut reader = program.poll();
    assert!(reader.next().await.contains("exited with code 1"));
    program.runs("exit 0");
    assert_eq!(reader.next().await, "synced");
    let missing = Arc::new(crate::providers::Command::new("no-such-program-of-mcrt"));
    let said = Reader::of(&missing).next().await;
    assert!(
        said.contains("`no-such-program-of-mcrt` not found: install it"),
        "{said}"
    );
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_at_its_deadline_with_its_children() {
    let program = Program::of("sleep 600 & echo $! > child; wait");
    let deadline = std::time::Duration::from_secs(3);
    let command = Arc::new(program.command().deadline(deadline));
    let said = Reader::of(&command).next().await;
    assert!(said.contains("did not end within 3s and was killed"), "{said}");
    super::lifecycle::gone(&program.read("child")).await;
}

#[tokio::test]
async fn a_bad_line_rejects_its_cluster_alone_which_stays_as_it_was() {
    let program = Program::printing(&[&line("a"), &line("b")]);
    let mut reader = program.poll();
    reader.until("synced").await;
    program.prints(&[r#"{"name": "a", "access": {"server": ""}}"#, &line("c")]);
    assert_eq!(reader.next().await, "-b");
    let rejected = reader.next().await;
    assert!(
        rejected.starts_with("?a: its kubeconfig: context `a`: clusters[a].cluster.server: "),
        "{rejected}"
    );
    assert_eq!(reader.next().await, "+c");
    assert!(reader.is_quiet(RUN * 3).await, "said once");
    assert!(reader.clusters.contains_key("a"));
    program.prints(&[&line("a"), &line("c")]);
    assert_eq!(reader.next().await, "+a", "which takes the rejection back");
}

#[tokio::test]
async fn a_line_without_a_name_takes_nobody_for_gone() {
    let program = Program::printing(&[&line("a"), &line("b")]);
    let mut reader = program.poll();
    reader.until("synced").await;
    program.prints(&[&line("a"), r#"{"nam": "SECRET"}"#, &line("c")]);
    assert_eq!(reader.next().await, "+c");
    assert_eq!(
        reader.next().await,
        "!`/bin/sh`: line 2: has no `name`; until that is right, no cluster is taken for gone"
    );
    assert!(reader.clusters.contains_key("b"));
    program.prints(&[&line("a"), &line("c")]);
    assert_eq!(reader.next().await, "-b");
}

#[tokio::test]
async fn two_lines_for_one_cluster_must_agree() {
    let program = Program::printing(&[&line("a"), &line("a")]);
    let mut reader = program.poll();
    assert_eq!(reader.until("synced").await, ["+a", "synced"]);
    program.prints(&[&at("a", "one"), "", &at("a", "other"), &at("a", "one")]);
    assert_eq!(
        reader.next().await,
        "?a: lines 1 and 3 describe it differently: print one line for each cluster"
    );
    assert_eq!(reader.clusters["a"], "https://a.test:6443/");
}

#[tokio::test]
async fn many_bad_lines_are_counted() {
    let lines: Vec<_> = (0..5000).map(|_| "SECRET").collect();
    let program = Program::printing(&lines);
    let said = program.poll().until("synced").await;
    assert_eq!(said.len(), 12, "{said:#?}");
    assert!(
        said.iter()
            .any(|said| said.contains("4990 more lines cannot be read")),
        "{said:#?}"
    );
    assert!(!said.concat().contains("SECRET"));
}

#[tokio::test]
async fn the_program_gets_its_environment_and_no_input() {
    let program = Program::of(
        "cat > input; printf '{\"name\": \"%s\", \"unusable\": \"%s\"}\\n' \"$NAME\" \"$1\"; echo \"$HOME\" > home",
    );
    let command = program.command().arg("as it is said").env("NAME", "x");
    let mut reader = Reader::of(&Arc::new(command));
    assert_eq!(reader.next().await, "?x: as it is said");
    assert_eq!(program.read("input"), "");
    assert_eq!(
        program.read("home").trim(),
        std::env::var("HOME").unwrap_or_default()
    );
}

#[tokio::test]
async fn properties_come_with_their_cluster() {
    let text = r#"{"name":"a","uid":"u","access":{"server":"https://a.test"},"labels":{"stage":"prod"},"properties":{"version":"1"}}"#;
    let program = Program::printing(&[text]);
    let mut reader = program.poll();
    let Change::Upsert(spec) = reader.change().await else {
        panic!("it comes first");
    };
    assert_eq!(spec.uid, "u");
    assert_eq!(spec.properties.labels["stage"], "prod");
    assert_eq!(spec.properties.named["version"].value, "1");
    program.prints(&[&text.replace("prod", "test")]);
    assert_eq!(reader.until("+a").await.last().map(String::as_str), Some("+a"));
}
