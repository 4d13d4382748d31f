//! Clusters and engines that fail: what was good stays, what is wrong is said once, the rest goes on.
use super::machine::{LOOK, Machine, kubeconfig, up};
use crate::provider::tests::Reader;
use rustix::process::{Pid, test_kill_process};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// What kind says while a cluster is being created.
const NOT_YET: &str = "ERROR: failed to get cluster internal kubeconfig: command \"docker exec --privileged \
                       a-control-plane cat /etc/kubernetes/admin.conf\" failed with error: exit status 1\n\nCommand \
                       Output: cat: /etc/kubernetes/admin.conf: No such file or directory\n";

#[tokio::test]
async fn a_cluster_that_is_being_created_is_rejected_alone_until_it_is_there() {
    let machine = Machine::new();
    machine.runs(&[("a", "1"), ("b", "2")]);
    machine.write("refusals/a", NOT_YET);
    let mut reader = machine.follow();
    let mut first = reader.until("synced").await;
    first.sort();
    let [good, rejected, _] = &first[..] else {
        panic!("{first:?}");
    };
    assert_eq!(good, "+b");
    assert!(
        rejected.starts_with(
            "?a: `kind get kubeconfig` exited with code 1: ERROR: failed to get cluster internal kubeconfig"
        ),
        "{rejected}"
    );
    assert!(
        rejected.ends_with("has none yet") && !rejected.contains("Output"),
        "{rejected}"
    );
    machine.quiet_until_asked(&mut reader, "--name=a", 4).await;
    machine.remove("refusals/a");
    assert_eq!(reader.next().await, "+a");
}

#[tokio::test]
async fn a_cluster_that_hangs_holds_up_neither_others_nor_the_poll() {
    let machine = Machine::new();
    machine.runs(&[("a", "1"), ("b", "2")]);
    machine.write("hangs/a", "");
    let kind = Arc::new(machine.kind().deadline(Duration::from_secs(6)));
    let mut reader = Reader::of(&kind);
    let began = Instant::now();
    assert_eq!(reader.next().await, "+b");
    machine.runs(&[("a", "1"), ("c", "3")]);
    let mut changes = reader.take(2).await;
    changes.sort();
    assert_eq!(changes, ["+c", "-b"]);
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    let rejected = reader.next().await;
    assert!(
        rejected.contains("did not end within 6s and was killed"),
        "{rejected}"
    );
    assert_eq!(reader.next().await, "synced");
    machine.remove("hangs/a");
    assert_eq!(reader.next().await, "+a");
}

#[tokio::test]
async fn an_engine_that_does_not_answer_keeps_everything_and_is_said_once() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let mut reader = machine.follow();
    reader.until("synced").await;
    let complaint =
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?";
    machine.write("down", &format!("{complaint}\n"));
    machine.runs(&[]);
    assert_eq!(
        reader.next().await,
        format!("!`docker ps` exited with code 1: {complaint}; clusters stay as they were")
    );
    assert!(reader.is_quiet(LOOK * 5).await);
    machine.write("down", "error during connect: EOF\n");
    let said = reader.next().await;
    assert!(said.contains("error during connect: EOF"), "{said}");
    machine.runs(&[("a", "1"), ("b", "2")]);
    machine.remove("down");
    assert_eq!(reader.next().await, "+b");
}

#[tokio::test]
async fn an_engine_that_is_down_at_first_is_waited_for() {
    let machine = Machine::without_engine();
    machine.runs(&[("a", "1")]);
    let mut reader = machine.follow();
    let said = reader.next().await;
    assert!(said.starts_with("!no container engine answers"), "{said}");
    machine.engine("podman", "podman version 5.4.0", "index .Labels");
    assert_eq!(reader.until("synced").await, ["+a", "synced"]);
}

#[tokio::test]
async fn a_kind_that_is_not_installed_rejects_every_cluster() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let kind = Arc::new(machine.kind().program("kindest"));
    let said = Reader::of(&kind).next().await;
    assert!(
        said.starts_with("?a: `kindest get kubeconfig` not found: install it"),
        "{said}"
    );
}

#[tokio::test]
async fn kubeconfigs_that_ask_for_more_or_make_no_sense_are_rejected_without_their_values() {
    let machine = Machine::new();
    let good = kubeconfig("x", 40000);
    let cases = [
        (
            "exec",
            good.replace("token: secret", "exec: {command: SECRET}"),
            "exec: runs a program",
        ),
        (
            "file",
            good.replace("token: secret", "tokenFile: /SECRET"),
            "tokenFile: names a file",
        ),
        ("empty", String::new(), "empty"),
        ("text", "SECRET".into(), "not a kubeconfig"),
        ("half", good[..good.len() / 2].into(), ""),
        (
            "server",
            good.replace("https://127.0.0.1:40000", "\"\""),
            "server",
        ),
        (
            "type",
            good.replace("https://127.0.0.1:40000", "[SECRET]"),
            "line 4",
        ),
    ];
    let names: Vec<_> = cases.iter().map(|(name, ..)| (*name, *name)).collect();
    machine.runs(&names);
    for (name, text, _) in &cases {
        machine.write(&format!("kubeconfigs/{name}"), text);
    }
    let mut reader = machine.follow();
    let said = reader.until("synced").await.join("\n");
    assert!(!said.contains("SECRET") && !said.contains('+'), "{said}");
    for (name, _, reason) in cases {
        let line = said
            .lines()
            .find(|line| line.starts_with(&format!("?{name}: its kubeconfig: ")));
        assert!(line.is_some_and(|line| line.contains(reason)), "{name}: {said}");
    }
}

#[tokio::test]
async fn a_kubeconfig_that_becomes_unusable_leaves_the_cluster_as_it_was() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let mut reader = machine.follow();
    reader.until("synced").await;
    machine.write("kubeconfigs/a", "clusters: [");
    machine.lists(&[&up("a", "1").replace("40000", "40001")]);
    assert!(
        reader
            .next()
            .await
            .starts_with("?a: its kubeconfig: not a kubeconfig")
    );
    assert!(reader.clusters.contains_key("a"));
    machine.gives("a", 40001);
    assert_eq!(reader.next().await, "+a");
}

#[tokio::test]
async fn names_that_are_none_are_said_and_the_rest_goes_on() {
    let machine = Machine::new();
    machine.runs(&[("a", "1")]);
    let long = "x".repeat(254);
    let odd = "Team A/x#y+z:1";
    // Between the bars of a line a name is what it is; a flag it is not.
    machine.lists(&[
        &up("a", "1"),
        &up(&long, "2"),
        &up(odd, "3"),
        "nonsense",
        &up("-h", "4"),
    ]);
    machine.gives("-h", 40000);
    let mut reader = machine.follow();
    let mut said = reader.until("synced").await;
    said.sort();
    assert_eq!(said.len(), 6, "{said:#?}");
    assert!(said[0].starts_with("!1 of the containers"), "{said:#?}");
    assert!(said[1].contains("shorten it to 253"), "{said:#?}");
    assert_eq!(&said[2..4], ["+-h", "+a"]);
    assert!(
        said[4].starts_with(&format!("?{odd}: `kind get kubeconfig` exited")),
        "{said:#?}"
    );
    machine.runs(&[("a", "1")]);
    let mut changes = reader.take(2).await;
    changes.sort();
    assert_eq!(changes, ["--h".to_owned(), format!("-{odd}")]);
}

#[tokio::test]
async fn a_stream_that_is_dropped_ends_its_programs_and_their_children() {
    let machine = Machine::new();
    machine.write("hang", "");
    let mut reader = machine.follow();
    let number = |name: &str| {
        let text = std::fs::read_to_string(machine.path(name)).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    };
    let numbers = loop {
        assert!(reader.is_quiet(Duration::from_millis(20)).await);
        if let (Some(engine), Some(child)) = (number("engine-number"), number("child-number")) {
            break [engine, child];
        }
    };
    assert!(numbers.iter().all(|number| test_kill_process(*number).is_ok()));
    drop(reader);
    let gone = async {
        // The child becomes the child of whoever reaps on this machine, which may take its time.
        let runs = |number: &Pid| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.as_raw_nonzero()));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        while numbers.iter().any(runs) || test_kill_process(numbers[0]).is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone)
        .await
        .expect("both end");
}
