//! What the engines and versions of kind print, and how they want to be asked.
use super::machine::{Machine, up};
use crate::provider::{Change, tests::Reader};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::sync::Arc;

const FUNCTION: &str = ".Label ";
const MAP: &str = "index .Labels";

#[tokio::test]
async fn each_engine_is_found_and_asked_in_its_manner() {
    for (engine, version, refused, asks) in [
        ("docker", "Docker version 20.10.24+dfsg1, build 297e128", MAP, 1),
        ("podman", "podman version 5.4.0", MAP, 1),
        ("podman", "podman version 4.9.3", FUNCTION, 2),
        ("nerdctl", "nerdctl version 2.1.2", FUNCTION, 1),
        ("nerdctl", "nerdctl version 9.9.9", MAP, 2),
        ("finch", "finch version v1.9.0", FUNCTION, 1),
    ] {
        let machine = Machine::without_engine();
        machine.engine(engine, version, refused);
        machine.runs(&[("a", "1")]);
        let mut reader = machine.follow();
        assert_eq!(reader.until("synced").await, ["+a", "synced"], "{version}");
        let asked = machine.asked();
        let first = asked.split("\nkind ").next().unwrap_or_default();
        let first = first.lines().filter(|line| line.contains(" ps ")).count();
        assert_eq!(first, asks, "{version}: {asked}");
        assert!(asked.contains(&format!("by {engine}")), "kind is told: {asked}");
        machine.runs(&[("a", "1"), ("b", "2")]);
        assert_eq!(reader.next().await, "+b", "{version}");
    }
}

#[tokio::test]
async fn a_docker_that_is_podman_is_asked_as_podman() {
    let machine = Machine::without_engine();
    for name in ["docker", "podman"] {
        machine.engine(name, "podman version 4.3.1", FUNCTION);
    }
    machine.runs(&[("a", "1")]);
    assert_eq!(machine.follow().until("synced").await, ["+a", "synced"]);
    assert!(machine.asked().contains("by podman"), "{}", machine.asked());
}

#[tokio::test]
async fn the_engine_that_was_named_is_asked_and_no_other() {
    let machine = Machine::new();
    machine.engine("podman", "podman version 5.4.0", MAP);
    machine.runs(&[("a", "1")]);
    let podman = machine.path("bin/podman");
    let kind = Arc::new(machine.kind().engine(podman));
    assert_eq!(Reader::of(&kind).until("synced").await, ["+a", "synced"]);
    let asked = machine.asked();
    assert!(
        !asked.contains("docker") && asked.contains("by podman"),
        "{asked}"
    );
}

#[tokio::test]
async fn noise_is_no_news() {
    let machine = Machine::new();
    machine.write(
        "noise",
        "enabling experimental podman provider\nWARNING: Error loading config file: /home/dev/.docker/config.json: \
         permission denied\ntime=\"2026-08-01T10:00:00Z\" level=warning msg=\"cgroup v1 is deprecated\"\n",
    );
    machine.runs(&[("a", "1")]);
    assert_eq!(machine.follow().until("synced").await, ["+a", "synced"]);
}

#[tokio::test]
async fn more_noise_than_a_pipe_holds_does_not_hang() {
    let machine = Machine::new();
    machine.write("noise", &"WARNING: noise\n".repeat(20_000));
    machine.runs(&[("a", "1")]);
    assert_eq!(machine.follow().until("synced").await, ["+a", "synced"]);
}

#[tokio::test]
async fn clusters_of_several_nodes_are_one_each_with_the_balancer_in_front() {
    let machine = Machine::new();
    machine.gives("ha", 40000);
    let node = |id: &str, name: &str, status: &str, role: &str| format!("{id}|ha-{name}|{status}||{role}|ha");
    let nodes = |balancer: &str| {
        [
            node("5", "worker", "Up 2 hours", "worker"),
            node("4", "external-load-balancer", balancer, "external-load-balancer"),
            node("3", "control-plane3", "Up 2 hours", "control-plane"),
            node("1", "control-plane", "Up 2 hours", "control-plane"),
            node("2", "control-plane2", "Exited (1) 2 hours ago", "control-plane"),
        ]
    };
    let lists = |balancer| machine.lists(&nodes(balancer).each_ref().map(String::as_str));
    lists("Up 2 hours");
    let mut reader = machine.follow();
    let Change::Upsert(spec) = reader.change().await else {
        panic!("it comes first");
    };
    assert_eq!((spec.name.as_str(), spec.uid.as_str()), ("ha", "1"));
    assert_eq!(reader.next().await, "synced");
    lists("Exited (0) 1 second ago");
    assert_eq!(
        reader.next().await,
        "?ha: its load balancer is stopped: start that container"
    );
}

#[tokio::test]
async fn the_whole_kubeconfig_of_kind_is_understood() {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["kubernetes-admin".into()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let data = |pem: String| STANDARD.encode(pem);
    let text = format!(
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: {ca}\n    server: \
         https://127.0.0.1:35689\n  name: kind-kind\ncontexts:\n- context:\n    cluster: kind-kind\n    user: \
         kind-kind\n  name: kind-kind\ncurrent-context: kind-kind\nkind: Config\npreferences: {{}}\nusers:\n- name: \
         kind-kind\n  user:\n    client-certificate-data: {ca}\n    client-key-data: {key}\n",
        ca = data(certificate.pem()),
        key = data(key.serialize_pem()),
    );
    let machine = Machine::new();
    machine.write("kubeconfigs/kind", &text);
    machine.lists(&[&up("kind", "1")]);
    let mut reader = machine.follow();
    assert_eq!(reader.until("synced").await, ["+kind", "synced"]);
    assert_eq!(reader.clusters["kind"], "https://127.0.0.1:35689/");
}
