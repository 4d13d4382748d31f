//! Who uses a program, and that it is gone with the last who does.
use super::{
    super::{super::connection::Credentials, Material, Plugins},
    V1, plugin,
    script::{Script, shown, token},
};
use crate::connect::{
    Access, ConnectError, Connection, CredentialSettings, Life,
    connection::ExecPlugin,
    probe,
    tests::{SOON, kubeconfig, limits, yaml},
};
use http::Request;
use kube::client::Body;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::time::timeout;

/// A user whose credentials a shell script prints.
fn connection(script: &str) -> Connection {
    let yaml = yaml("https://a.test", &[], &[]);
    let mut connection = Connection::from_kubeconfig(&kubeconfig(&yaml), "c").unwrap();
    connection.credentials = Credentials::Exec(Arc::new(ExecPlugin {
        args: vec!["-c".into(), script.into()],
        ..plugin("/bin/sh")
    }));
    connection
}

fn settings(plugins: &Plugins) -> CredentialSettings {
    CredentialSettings {
        plugins: plugins.clone(),
        ..CredentialSettings::default()
    }
}

fn material(script: &str, plugins: &Plugins, life: &Life) -> Material {
    Material::new(&connection(script), &settings(plugins), life).unwrap()
}

/// Prints a token after it has left a line in a file.
fn counting(file: &Path) -> String {
    let credential = format!(r#"{{"apiVersion":"{V1}","kind":"ExecCredential","status":{{"token":"abc"}}}}"#);
    format!("echo run >> {}; echo '{credential}'", file.display())
}

fn lines(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn fifty_clusters_with_the_same_description_share_one_run() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("runs");
    let (plugins, script) = (Plugins::new(8), counting(&file));
    let lives: Vec<_> = (0..50).map(|_| Life::new()).collect();
    let all: Vec<_> = lives
        .iter()
        .map(|life| material(&script, &plugins, life))
        .collect();
    assert_eq!(plugins.used(), 1);
    let headers = futures::future::join_all(all.iter().map(Material::header)).await;
    assert!(
        headers
            .into_iter()
            .all(|header| header.unwrap().unwrap() == "Bearer abc")
    );
    assert_eq!(lines(&file), 1);
    let other = Life::new();
    material("echo another", &plugins, &other);
    assert_eq!(plugins.used(), 2);
    for life in lives.iter().chain([&other]) {
        timeout(SOON, life.end()).await.unwrap();
    }
    assert_eq!(plugins.used(), 0);
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_with_its_children_when_the_last_cluster_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pids");
    let script = format!(
        "sleep 600 & echo $! >> {0}; echo $$ >> {0}; sleep 600",
        file.display()
    );
    let plugins = Plugins::new(8);
    let (one, other) = (Life::new(), Life::new());
    let material_of = [
        material(&script, &plugins, &one),
        material(&script, &plugins, &other),
    ];
    let asking = tokio::spawn(async move { material_of[0].header().await });
    let started = async {
        while lines(&file) < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, started).await.expect("the program starts");
    let pids: Vec<_> = std::fs::read_to_string(&file)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect();
    timeout(SOON, one.end()).await.unwrap();
    assert!(pids.iter().all(|pid| runs(pid)), "one cluster still uses it");
    timeout(SOON, other.end()).await.unwrap();
    assert!(!runs(&pids[1]), "waited for");
    let gone = async {
        // The child of a child is reaped by whoever inherits it.
        while runs(&pids[0]) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, gone).await.expect("its children are gone");
    assert!(timeout(SOON, asking).await.unwrap().unwrap().is_err());
}

/// Whether a process is there and no zombie.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

#[tokio::test]
async fn a_life_that_is_dropped_gives_its_program_back() {
    let plugins = Plugins::new(8);
    let life = Life::new();
    let kept = material("sleep 600", &plugins, &life);
    drop(life);
    let given_back = async {
        while plugins.used() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, given_back).await.unwrap();
    assert!(kept.header().await.is_err());
}

#[tokio::test]
async fn errors_name_the_context_and_the_program_and_neither_arguments_nor_output() {
    let life = Life::new();
    let plugins = Plugins::new(8);
    let error = material("echo SECRET; exit 3", &plugins, &life)
        .header()
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "context `c`: credential program /bin/sh: exited with code 3: run it by hand to see what it says"
    );
    assert!(error.is_about_credentials());
    assert!(!format!("{error:?}{plugins:?}").contains("SECRET"));
}

#[tokio::test]
async fn a_program_that_takes_long_is_named_by_who_waits_for_it_and_the_server_is_not_blamed() {
    let life = Life::new();
    let mut settings = limits(100, 200);
    settings.credentials.plugins = Plugins::new(8);
    let transport = Access::from(connection("sleep 600"))
        .connect(&settings, &life)
        .unwrap();
    let client = transport.client();
    for _ in 0..6 {
        let request = Request::get("/api").body(Body::empty()).unwrap();
        let error = timeout(SOON, client.send(request)).await.unwrap().unwrap_err();
        let ours = ConnectError::within(&error).unwrap();
        assert!(ours.is_about_credentials(), "{ours}");
        assert!(ours.to_string().contains("/bin/sh: is still running"), "{ours}");
    }
    assert!(transport.breaker().circuit().is_closed());
    let probed = probe(&client, Duration::from_millis(200)).await.unwrap_err();
    assert!(probed.is_about_credentials(), "{probed}");
    timeout(SOON, life.end()).await.unwrap();
}

#[test]
fn outside_a_runtime_it_is_an_error_not_a_panic() {
    let life = Life::new();
    let made = Material::new(&connection("true"), &CredentialSettings::default(), &life);
    assert!(made.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_description_that_comes_back_begins_anew() {
    let plugins = Plugins::new(8);
    let first = Script::of([(Duration::ZERO, token("one", None))]);
    let lease = first.lease(&plugins, "p");
    shown(lease.shared()).await.unwrap();
    lease.end().await;
    let second = Script::of([(Duration::ZERO, token("two", None))]);
    let lease = second.lease(&plugins, "p");
    assert_eq!(shown(lease.shared()).await.unwrap(), "Bearer two");
    lease.end().await;
}
