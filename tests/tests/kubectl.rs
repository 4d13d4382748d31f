//! `kubectl` works on a simulated server as it does on a real one.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the way tests do"
)]

use std::{fmt::Write as _, fs, process::Stdio, time::Duration};

use mcrt_sim::{Listener, Server};
use mcrt_tests::clients::{Clients, clients};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
    time::timeout,
};

/// For one command: generous, because the machines that run this are often busy with other things.
const LIMIT: Duration = Duration::from_mins(2);

/// A simulated server, and `kubectl` set up for it.
struct Site {
    clients: Clients,
    folder: TempDir,
    server: Server,
    _listener: Listener,
}

impl Site {
    /// Nothing where there is no `kubectl`; the line that says so has been written.
    async fn new() -> Option<Self> {
        let clients = clients().unwrap_or_else(|error| panic!("{error}"))?;
        let server = Server::new("kubectl");
        let listener = server.listen().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "sim",
            "clusters": [{"name": "sim", "cluster": {"server": format!("http://{}", listener.addr())}}],
            "contexts": [{"name": "sim", "context": {"cluster": "sim", "user": "sim"}}],
            "users": [{"name": "sim", "user": {}}],
        });
        fs::write(folder.path().join("kubeconfig"), kubeconfig.to_string()).unwrap();
        Some(Self {
            clients,
            folder,
            server,
            _listener: listener,
        })
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.clients.kubectl);
        command
            .args(arguments.split_whitespace())
            .env_clear()
            // Where it keeps what it discovered.
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// What it prints, and whether it succeeded.
    async fn try_run(&self, arguments: &str, input: &str) -> (bool, String) {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).await.unwrap();
        drop(stdin);
        let ended = timeout(LIMIT, child.wait_with_output()).await;
        let output = ended
            .unwrap_or_else(|_| panic!("kubectl {arguments}: did not end"))
            .unwrap();
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let _ = write!(printed, "{}", String::from_utf8_lossy(&output.stderr));
        (output.status.success(), printed)
    }

    /// What it prints when it succeeds.
    async fn run(&self, arguments: &str) -> String {
        self.feed(arguments, &json!({})).await
    }

    /// What it prints when it succeeds with this on its standard input.
    async fn feed(&self, arguments: &str, input: &Value) -> String {
        let (succeeded, printed) = self.try_run(arguments, &input.to_string()).await;
        assert!(succeeded, "kubectl {arguments} failed: {printed}");
        printed
    }

    /// What it prints when it fails.
    async fn fail(&self, arguments: &str, input: &Value) -> String {
        let (succeeded, printed) = self.try_run(arguments, &input.to_string()).await;
        assert!(!succeeded, "kubectl {arguments} succeeded: {printed}");
        printed
    }

    fn read(&self, name: &str) -> Value {
        self.server.get("v1", "ConfigMap", Some("default"), name).unwrap()
    }
}

fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}})
}

#[track_caller]
fn assert_line(printed: &str, words: &[&str]) {
    let fits = |line: &str| line.split_whitespace().collect::<Vec<_>>().starts_with(words);
    assert!(printed.lines().any(fits), "no line {words:?} in:\n{printed}");
}

#[tokio::test]
async fn objects_are_listed_as_tables() {
    let Some(site) = Site::new().await else { return };
    site.server.create(config_map("settings", "one")).unwrap();
    let printed = site.run("get configmaps").await;
    assert_line(&printed, &["NAME", "DATA", "AGE"]);
    assert_line(&printed, &["settings", "1"]);
    assert_line(&site.run("get ns").await, &["default", "Active"]);
    assert_line(
        &site.run("get cm --all-namespaces -o wide").await,
        &["default", "settings", "1"],
    );
    assert_line(&site.run("get cm -o name").await, &["configmap/settings"]);
    let read = site.run("get cm settings -o jsonpath={.data.key}").await;
    assert_eq!(read, "one");
    let missing = site.fail("get cm nothing", &json!({})).await;
    assert!(missing.contains("configmaps \"nothing\" not found"), "{missing}");
    let page = site.run("get cm --all-namespaces --chunk-size=1 -o name").await;
    assert!(page.lines().count() > 1, "{page}");
    site.run("describe cm settings").await;
}

#[tokio::test]
async fn an_apply_on_the_side_of_the_client_creates_changes_and_removes() {
    let Some(site) = Site::new().await else { return };
    let both = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": "1", "other": "2"},
    });
    assert_line(&site.feed("apply -f -", &both).await, &["configmap/a", "created"]);
    assert_line(
        &site.feed("apply -f -", &both).await,
        &["configmap/a", "unchanged"],
    );
    let one = config_map("a", "3");
    assert_line(
        &site.feed("apply -f -", &one).await,
        &["configmap/a", "configured"],
    );
    assert_eq!(site.read("a")["data"], json!({"key": "3"}));
    let dry = site
        .feed("apply --dry-run=server -f -", &config_map("a", "4"))
        .await;
    assert_line(&dry, &["configmap/a", "configured", "(server", "dry", "run)"]);
    assert_eq!(site.read("a")["data"], json!({"key": "3"}));
}

#[tokio::test]
async fn an_apply_of_a_workload_merges_its_lists_by_their_keys() {
    let Some(site) = Site::new().await else { return };
    let web = |containers: Value| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {
                "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}},
            },
        })
    };
    let one = json!({"name": "one", "image": "example.com/one:1"});
    let two = json!({"name": "two", "image": "example.com/two:1"});
    site.feed("apply -f -", &web(json!([one, two]))).await;
    let changed = json!({"name": "two", "image": "example.com/two:2"});
    site.feed("apply -f -", &web(json!([changed]))).await;
    let deployment = site
        .server
        .get("apps/v1", "Deployment", Some("default"), "web")
        .unwrap();
    let containers = deployment["spec"]["template"]["spec"]["containers"]
        .as_array()
        .unwrap();
    assert_eq!(containers.len(), 1, "{deployment}");
    assert_eq!(containers[0]["image"], "example.com/two:2");
    assert_line(&site.run("get deploy").await, &["web", "0/1"]);
    site.run("set image deployment/web two=example.com/two:3").await;
    site.run("scale deployment web --replicas=3").await;
    assert_line(&site.run("get deploy -o wide").await, &["web", "0/3", "0", "0"]);
}

#[tokio::test]
async fn an_apply_on_the_side_of_the_server_tells_of_conflicts() {
    let Some(site) = Site::new().await else { return };
    let apply = "apply --server-side -f - --field-manager";
    let applied = site.feed(&format!("{apply} one"), &config_map("a", "1")).await;
    assert_line(&applied, &["configmap/a", "serverside-applied"]);
    let conflict = site.fail(&format!("{apply} two"), &config_map("a", "2")).await;
    assert!(conflict.contains("conflict with \"one\""), "{conflict}");
    site.feed(&format!("{apply} two --force-conflicts"), &config_map("a", "2"))
        .await;
    assert_eq!(site.read("a")["data"]["key"], "2");
}

#[tokio::test]
async fn objects_are_patched_labelled_and_deleted() {
    let Some(site) = Site::new().await else { return };
    site.feed("create -f -", &config_map("a", "1")).await;
    assert_line(
        &site.run("patch cm a -p {\"data\":{\"key\":\"2\"}}").await,
        &["configmap/a", "patched"],
    );
    site.run("patch cm a --type=merge -p {\"data\":{\"more\":\"3\"}}")
        .await;
    let patch = "patch cm a --type=json -p [{\"op\":\"remove\",\"path\":\"/data/more\"}]";
    site.run(patch).await;
    assert_eq!(site.read("a")["data"], json!({"key": "2"}));
    assert_line(
        &site.run("label cm a tier=front").await,
        &["configmap/a", "labeled"],
    );
    site.run("annotate cm a note=x").await;
    assert_line(&site.run("get cm -l tier=front -o name").await, &["configmap/a"]);
    assert_eq!(site.run("get cm -l tier!=front,tier -o name").await, "");
    site.feed("replace -f -", &config_map("a", "5")).await;
    assert_eq!(site.read("a")["data"], json!({"key": "5"}));
    assert!(site.run("delete cm a").await.contains("\"a\" deleted"));
    assert!(site.server.get("v1", "ConfigMap", Some("default"), "a").is_err());
}

#[tokio::test]
async fn waiting_ends_when_the_condition_holds() {
    let Some(site) = Site::new().await else { return };
    site.server.create(config_map("a", "1")).unwrap();
    let change = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        site.server.merge(config_map("a", "2")).unwrap();
    };
    let (printed, ()) = tokio::join!(
        site.run("wait cm/a --for=jsonpath={.data.key}=2 --timeout=60s"),
        change
    );
    assert!(printed.contains("condition met"), "{printed}");
    let delete = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        site.server
            .delete("v1", "ConfigMap", Some("default"), "a")
            .unwrap();
    };
    let (printed, ()) = tokio::join!(site.run("wait cm/a --for=delete --timeout=60s"), delete);
    assert!(
        printed.contains("condition met") || printed.is_empty(),
        "{printed}"
    );
}

#[tokio::test]
async fn a_watch_prints_what_happens() {
    let Some(site) = Site::new().await else { return };
    site.server.create(config_map("a", "1")).unwrap();
    let mut child = site
        .command("get cm --watch --output-watch-events")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut expect = async |words: &[&str]| loop {
        let line = timeout(LIMIT, lines.next_line())
            .await
            .unwrap_or_else(|_| panic!("no line {words:?}"));
        let line = line
            .unwrap()
            .unwrap_or_else(|| panic!("ended without a line {words:?}"));
        if line.split_whitespace().collect::<Vec<_>>().starts_with(words) {
            break;
        }
    };
    expect(&["EVENT", "NAME", "DATA", "AGE"]).await;
    expect(&["ADDED", "a", "1"]).await;
    site.server.create(config_map("b", "1")).unwrap();
    expect(&["ADDED", "b", "1"]).await;
    site.server
        .merge(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"more": "2"},
        }))
        .unwrap();
    expect(&["MODIFIED", "b", "2"]).await;
    site.server
        .delete("v1", "ConfigMap", Some("default"), "b")
        .unwrap();
    expect(&["DELETED", "b", "2"]).await;
    child.kill().await.unwrap();
}

#[tokio::test]
async fn what_is_served_is_told() {
    let Some(site) = Site::new().await else { return };
    let printed = site.run("api-resources").await;
    assert_line(&printed, &["configmaps", "cm", "v1", "true", "ConfigMap"]);
    assert_line(
        &printed,
        &["deployments", "deploy", "apps/v1", "true", "Deployment"],
    );
    assert_line(&site.run("api-versions").await, &["apps/v1"]);
    assert!(site.run("version").await.contains("Server Version: v1."));
    site.run("cluster-info").await;
    site.run("get --raw /readyz?verbose").await;
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "shortNames": ["wd"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"size": {"type": "integer", "description": "How large it is"}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}},
            }],
        },
    })
}

#[tokio::test]
async fn a_kind_is_defined_and_its_objects_live() {
    let Some(site) = Site::new().await else { return };
    site.feed("apply -f -", &definition()).await;
    let waited = site
        .run("wait crd/widgets.example.com --for=condition=Established --timeout=60s")
        .await;
    assert!(waited.contains("condition met"), "{waited}");
    let widget = |size: Value| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"size": size}});
    assert_line(
        &site.feed("apply -f -", &widget(3.into())).await,
        &["widget.example.com/one", "created"],
    );
    assert_line(
        &site.feed("apply -f -", &widget(4.into())).await,
        &["widget.example.com/one", "configured"],
    );
    let printed = site.run("get wd").await;
    assert_line(&printed, &["NAME", "SIZE"]);
    assert_line(&printed, &["one", "4"]);
    assert_line(
        &site.run("api-resources --api-group=example.com").await,
        &["widgets", "wd", "example.com/v1"],
    );
    assert!(
        site.run("explain widget.spec.size")
            .await
            .contains("How large it is")
    );
    site.run("patch widget one --subresource=status --type=merge -p {\"status\":{\"ok\":true}}")
        .await;
    assert_eq!(site.run("get widget one -o jsonpath={.status.ok}").await, "true");
    site.run("delete crd widgets.example.com --timeout=60s").await;
    site.fail("get widgets", &json!({})).await;
}

#[tokio::test]
async fn a_deleted_namespace_is_waited_for() {
    let Some(site) = Site::new().await else { return };
    let team = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    site.feed("apply -f -", &team).await;
    site.feed("-n team apply -f -", &config_map("a", "1")).await;
    site.run("delete namespace team --timeout=60s").await;
    site.fail("get namespace team", &json!({})).await;
}

#[tokio::test]
async fn what_comes_in_another_encoding_than_json_is_refused_by_name() {
    let Some(site) = Site::new().await else { return };
    // Commands that make an object of a compiled type send it as protobuf.
    let refused = site.fail("create namespace team", &json!({})).await;
    assert!(refused.contains("UnsupportedMediaType"), "{refused}");
    let made = site.run("create namespace team --dry-run=client -o json").await;
    let made: Value = serde_json::from_str(&made).unwrap();
    site.feed("create -f -", &made).await;
    site.run("get namespace team").await;
}
