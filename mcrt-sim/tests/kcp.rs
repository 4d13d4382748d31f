//! Workspaces and their virtual workspaces, as clients see them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use std::time::Duration;

use bytes::Bytes;
use common::{DEADLINE, config_map_json, eventually};
use http::{Method, Request};
use http_body_util::{BodyExt, Empty, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use mcrt_sim::{Body, Export, Kcp, Server, User, Workspace};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tower::Service as _;

/// A client of one address.
struct Client {
    kcp: Kcp,
    url: String,
    token: Option<&'static str>,
}

impl Client {
    fn of(kcp: &Kcp, url: impl Into<String>) -> Self {
        Self {
            kcp: kcp.clone(),
            url: url.into(),
            token: None,
        }
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Body) {
        let mut service = self.kcp.service();
        if let Some(token) = self.token {
            service = service.with_token(token);
        }
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = Request::builder()
            .method(method.clone())
            .uri(format!("{}{path}", self.url))
            .header(
                "content-type",
                if method == Method::PATCH {
                    "application/merge-patch+json"
                } else {
                    "application/json"
                },
            )
            .body(Full::from(body))
            .unwrap();
        let answer = service.call(request).await.unwrap();
        (answer.status().as_u16(), answer.into_body())
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let (code, body) = self.send(method, path, body).await;
        let bytes = body.collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn get(&self, path: &str) -> Value {
        let (code, value) = self.ask(Method::GET, path, Value::Null).await;
        assert_eq!(code, 200, "{path}: {value}");
        value
    }

    async fn code(&self, method: Method, path: &str) -> u16 {
        self.ask(method, path, json!({})).await.0
    }

    async fn watch(&self, path: &str) -> Watch {
        let (code, body) = self.send(Method::GET, path, Value::Null).await;
        assert_eq!(code, 200);
        Watch {
            body,
            lines: Vec::new(),
        }
    }
}

struct Watch {
    body: Body,
    lines: Vec<Value>,
}

impl Watch {
    async fn next(&mut self) -> Value {
        while self.lines.is_empty() {
            let frame = tokio::time::timeout(DEADLINE, self.body.frame());
            let frame = frame.await.expect("an event in time").expect("the watch goes on");
            let bytes = frame.unwrap().into_data().unwrap();
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            self.lines
                .extend(lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()));
        }
        self.lines.remove(0)
    }

    /// `TYPE cluster/name` of the next event.
    async fn said(&mut self) -> String {
        let event = self.next().await;
        format!("{} {}", event["type"].as_str().unwrap(), place(&event["object"]))
    }
}

fn place(object: &Value) -> String {
    let cluster = object["metadata"]["annotations"]["kcp.io/cluster"].as_str();
    format!(
        "{}/{}",
        cluster.unwrap_or("?"),
        object["metadata"]["name"].as_str().unwrap_or("?")
    )
}

fn places(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(place).collect()
}

const MAPS: &str = "/clusters/*/api/v1/configmaps";
const OWN: &str = "labelSelector=own";

struct Rig {
    kcp: Kcp,
    export: Export,
    one: Workspace,
    two: Workspace,
}

/// Two workspaces on shard `a` that bind an export, each with a map of the same name.
fn rig() -> Rig {
    let kcp = Kcp::new();
    let export = kcp.export(&kcp.workspace("root:provider"), "fleet");
    let [one, two] = ["root:one", "root:two"].map(|path| kcp.workspace_on(path, "a"));
    for workspace in [&one, &two] {
        export.bind(workspace);
        put(workspace, "same");
    }
    Rig {
        kcp,
        export,
        one,
        two,
    }
}

fn put(workspace: &Workspace, name: &str) {
    workspace
        .server()
        .create(config_map_json(name, &json!({"own": "yes"})))
        .unwrap();
}

fn delete(workspace: &Workspace, name: &str) {
    workspace
        .server()
        .delete("v1", "ConfigMap", Some("default"), name)
        .unwrap();
}

fn sorted<const N: usize>(mut all: [String; N]) -> [String; N] {
    all.sort();
    all
}

#[tokio::test(start_paused = true)]
async fn a_workspace_is_reached_by_its_name_and_by_its_path() {
    let Rig { kcp, one, .. } = rig();
    let front = Client::of(&kcp, "https://kcp.sim");
    for workspace in [one.name(), "root:one", "root%3Aone"] {
        let path = format!("/clusters/{workspace}/api/v1/namespaces/default/configmaps/same");
        assert_eq!(place(&front.get(&path).await), format!("{}/same", one.name()));
    }
    assert_ne!(one.name(), "root:one");
    assert_eq!(
        front.code(Method::GET, "/clusters/other/api/v1/configmaps").await,
        404
    );
    assert_eq!(front.code(Method::GET, "/readyz").await, 200);
    assert_eq!(
        front
            .code(Method::GET, &format!("/clusters/{}/version", one.name()))
            .await,
        200
    );
    let cluster = front
        .get("/clusters/root:one/apis/core.kcp.io/v1alpha1/logicalclusters/cluster")
        .await;
    assert_eq!(cluster["status"]["phase"], "Ready");
    assert_eq!(cluster["metadata"]["annotations"]["kcp.io/path"], "root:one");
}

#[tokio::test(start_paused = true)]
async fn a_wildcard_shows_equal_names_of_several_workspaces_in_one_sequence() {
    let Rig {
        kcp,
        export,
        one,
        two,
    } = rig();
    let shard = Client::of(&kcp, export.url("a"));
    let list = shard.get(&format!("{MAPS}?{OWN}")).await;
    let both = [&one, &two].map(|workspace| format!("{}/same", workspace.name()));
    assert_eq!(places(&list), sorted(both.clone()));
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = shard
        .watch(&format!("{MAPS}?watch=1&resourceVersion={version}"))
        .await;
    put(&two, "new");
    delete(&one, "same");
    assert_eq!(watch.said().await, format!("ADDED {}/new", two.name()));
    assert_eq!(watch.said().await, format!("DELETED {}/same", one.name()));
    let all = export
        .wildcard("a")
        .list("v1", "ConfigMap", Some("default"))
        .unwrap();
    let mut versions: Vec<_> = all
        .iter()
        .map(|map| map["metadata"]["resourceVersion"].clone())
        .collect();
    versions.sort_by_key(ToString::to_string);
    versions.dedup();
    assert_eq!(versions.len(), all.len(), "no two have one version");
    let within = shard
        .get(&format!("/clusters/*/api/v1/namespaces/default/configmaps?{OWN}"))
        .await;
    assert_eq!(places(&within).len(), 2);
    let none = shard.get("/clusters/*/api/v1/namespaces/none/configmaps").await;
    assert_eq!(places(&none).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_wildcard_show_every_object_once() {
    let Rig {
        kcp,
        export,
        one,
        two,
    } = rig();
    for index in 0..7 {
        put(&one, &format!("m-{index}"));
        put(&two, &format!("m-{index}"));
    }
    let shard = Client::of(&kcp, export.url("a"));
    for maps in [MAPS, "/clusters/*/api/v1/namespaces/default/configmaps"] {
        let whole = places(&shard.get(&format!("{maps}?{OWN}")).await);
        assert_eq!(whole.len(), 16);
        let (mut pages, mut token) = (Vec::new(), String::new());
        loop {
            let page = shard.get(&format!("{maps}?{OWN}&limit=3&continue={token}")).await;
            pages.extend(places(&page));
            delete_if_there(&one, "m-6");
            match page["metadata"]["continue"].as_str() {
                Some(next) => next.clone_into(&mut token),
                None => break,
            }
        }
        assert_eq!(pages, whole, "as it was when the list began");
        put(&one, "m-6");
    }
}

fn delete_if_there(workspace: &Workspace, name: &str) {
    let _ = workspace
        .server()
        .delete("v1", "ConfigMap", Some("default"), name);
}

#[tokio::test(start_paused = true)]
async fn watches_of_a_wildcard_get_bookmarks_and_both_forms_of_410() {
    let Rig { kcp, export, one, .. } = rig();
    let shard = Client::of(&kcp, export.url("a"));
    let wildcard = export.wildcard("a");
    let start = wildcard.resource_version();
    let mut watch = shard
        .watch(&format!(
            "{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={start}"
        ))
        .await;
    put(&one, "new");
    assert_eq!(watch.said().await, format!("ADDED {}/new", one.name()));
    tokio::time::sleep(Duration::from_secs(61)).await;
    let bookmark = tokio::time::timeout(Duration::from_secs(90), watch.next())
        .await
        .unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    let marked = bookmark["object"]["metadata"]["resourceVersion"]
        .as_str()
        .unwrap();
    assert_eq!(marked, wildcard.resource_version().to_string());
    wildcard.expire_watches();
    assert_eq!(watch.next().await["object"]["code"], 410);
    put(&one, "newer");
    wildcard.compact();
    let mut old = shard
        .watch(&format!("{MAPS}?watch=1&resourceVersion={start}"))
        .await;
    assert_eq!(old.next().await["object"]["code"], 410);
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_of_a_wildcard_ends_with_its_mark() {
    let Rig { kcp, export, .. } = rig();
    let shard = Client::of(&kcp, export.url("a"));
    let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut watch = shard.watch(&format!("{MAPS}?{query}&{OWN}")).await;
    for _ in 0..2 {
        assert!(watch.said().await.starts_with("ADDED"));
    }
    let mark = watch.next().await;
    assert_eq!(
        mark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
}

#[tokio::test(start_paused = true)]
async fn writes_go_to_one_workspace_and_none_through_the_wildcard() {
    let Rig {
        kcp,
        export,
        one,
        two,
    } = rig();
    let shard = Client::of(&kcp, export.url("a"));
    let in_default = "api/v1/namespaces/default/configmaps";
    for (method, path) in [
        (Method::POST, format!("/clusters/*/{in_default}")),
        (Method::PATCH, format!("/clusters/*/{in_default}/same")),
        (Method::PUT, format!("/clusters/*/{in_default}/same")),
        (Method::DELETE, format!("/clusters/*/{in_default}/same")),
        (Method::DELETE, format!("/clusters/*/{in_default}")),
        (Method::GET, format!("/clusters/*/{in_default}/same")),
    ] {
        assert_eq!(shard.code(method, &path).await, 405, "{path}");
    }
    let mut watch = shard
        .watch(&format!(
            "{MAPS}?watch=1&resourceVersion={}",
            export.wildcard("a").resource_version()
        ))
        .await;
    let path = format!("/clusters/{}/{in_default}/same", one.name());
    let (code, patched) = shard.ask(Method::PATCH, &path, json!({"data": {"k": "v"}})).await;
    assert_eq!((code, place(&patched)), (200, format!("{}/same", one.name())));
    assert_eq!(watch.next().await["object"]["data"]["k"], "v");
    assert_eq!(one.server().counters().writes, 1);
    assert_eq!(two.server().counters().writes, 0);
    // The version read through the wildcard is the one that a write has to name.
    let mut read = patched.clone();
    let listed = shard.get(&format!("{MAPS}?{OWN}")).await;
    let listed = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|map| place(map) == place(&patched));
    read["metadata"]["resourceVersion"] = listed.unwrap()["metadata"]["resourceVersion"].clone();
    read["data"] = json!({"k": "w"});
    assert_eq!(shard.ask(Method::PUT, &path, read.clone()).await.0, 200);
    assert_eq!(shard.ask(Method::PUT, &path, read).await.0, 409);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_the_annotation_that_names_the_cluster_does_not_remove_it() {
    let Rig { one, .. } = rig();
    let server = one.server();
    let before = server.get("v1", "ConfigMap", Some("default"), "same").unwrap();
    let written = server
        .replace(config_map_json("same", &json!({"own": "yes"})))
        .unwrap();
    assert_eq!(place(&written), format!("{}/same", one.name()));
    assert_eq!(
        written["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_bound_is_seen_and_what_is_not_bound_is_not() {
    let Rig {
        kcp,
        export,
        one,
        two,
    } = rig();
    let shard = Client::of(&kcp, export.url("a"));
    let other = kcp.workspace_on("root:other", "a");
    put(&other, "mine");
    let mine = format!(
        "/clusters/{}/api/v1/namespaces/default/configmaps/mine",
        other.name()
    );
    assert_eq!(shard.code(Method::GET, &mine).await, 403);
    let start = export.wildcard("a").resource_version();
    let mut watch = shard
        .watch(&format!("{MAPS}?watch=1&{OWN}&resourceVersion={start}"))
        .await;
    let bindings = "/clusters/*/apis/apis.kcp.io/v1alpha2/apibindings";
    let mut binds = shard
        .watch(&format!("{bindings}?watch=1&resourceVersion={start}"))
        .await;
    export.bind(&other);
    assert_eq!(watch.said().await, format!("ADDED {}/mine", other.name()));
    assert_eq!(binds.said().await, format!("ADDED {}/fleet", other.name()));
    let bound = binds.next().await;
    assert_eq!(bound["object"]["status"]["phase"], "Bound");
    assert_eq!(shard.code(Method::GET, &mine).await, 200);
    export.unbind(&one);
    assert_eq!(binds.said().await, format!("DELETED {}/fleet", one.name()));
    assert_eq!(watch.said().await, format!("DELETED {}/same", one.name()));
    // What is deleted by whoever holds the workspace counts as well.
    let path = format!(
        "/clusters/{}/apis/apis.kcp.io/v1alpha2/apibindings/fleet",
        two.name()
    );
    assert_eq!(
        Client::of(&kcp, "https://kcp.sim")
            .code(Method::DELETE, &path)
            .await,
        200
    );
    assert_eq!(watch.said().await, format!("DELETED {}/same", two.name()));
    export.unbind(&other);
    assert!(export.urls().is_empty(), "no shard has a binding any more");
    assert_eq!(places(&shard.get(MAPS).await).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_export_shows_its_own_bindings_and_the_kinds_it_is_limited_to() {
    let Rig { kcp, export, one, .. } = rig();
    let second = kcp.export(&export.home(), "second");
    second.bind(&one);
    export.limit_to(["configmaps"]);
    let shard = Client::of(&kcp, export.url("a"));
    let bindings = shard
        .get("/clusters/*/apis/apis.kcp.io/v1alpha1/apibindings")
        .await;
    assert_eq!(places(&bindings).len(), 2);
    assert!(places(&bindings).iter().all(|place| place.ends_with("/fleet")));
    assert_eq!(shard.code(Method::GET, "/clusters/*/api/v1/secrets").await, 404);
    let secrets = format!("/clusters/{}/api/v1/secrets", one.name());
    assert_eq!(shard.code(Method::GET, &secrets).await, 404);
    let maps = format!("/clusters/{}/api/v1/configmaps", one.name());
    assert_eq!(shard.code(Method::GET, &maps).await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_workspace_moves_with_overlap_and_loses_nothing() {
    let Rig { kcp, export, one, .. } = rig();
    assert_eq!(export.urls(), [export.url("a")]);
    let [a, b] = ["a", "b"].map(|shard| {
        kcp.shard_url(shard);
        Client::of(&kcp, export.url(shard))
    });
    let mut at_a = a
        .watch(&format!(
            "{MAPS}?watch=1&{OWN}&resourceVersion={}",
            export.wildcard("a").resource_version()
        ))
        .await;
    let before = one
        .server()
        .get("v1", "ConfigMap", Some("default"), "same")
        .unwrap();
    one.appear_on("b");
    assert_eq!(export.urls(), [export.url("a"), export.url("b")]);
    let there = b.get(&format!("{MAPS}?{OWN}")).await;
    assert_eq!(places(&there), [format!("{}/same", one.name())]);
    assert_eq!(there["items"][0]["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(
        places(&a.get(&format!("{MAPS}?{OWN}")).await).len(),
        2,
        "still there"
    );
    let path = format!(
        "/clusters/{}/api/v1/namespaces/default/configmaps/same",
        one.name()
    );
    assert_eq!(a.code(Method::PATCH, &path).await, 503);
    assert_eq!(a.code(Method::GET, &path).await, 200);
    assert_eq!(b.code(Method::PATCH, &path).await, 200);
    one.vanish_from("a");
    assert_eq!(at_a.said().await, format!("DELETED {}/same", one.name()));
    assert_eq!(a.code(Method::GET, &path).await, 403);
    assert_eq!(one.shards(), ["b"]);
    put(&one, "later");
    assert_eq!(places(&b.get(&format!("{MAPS}?{OWN}")).await).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_workspace_moves_with_a_gap_in_which_it_is_nowhere() {
    let Rig {
        kcp,
        export,
        one,
        two,
    } = rig();
    export.unbind(&two);
    one.vanish_from("a");
    assert!(export.urls().is_empty());
    let front = Client::of(&kcp, "https://kcp.sim");
    assert_eq!(
        front
            .code(Method::GET, "/clusters/root:one/api/v1/configmaps")
            .await,
        404
    );
    one.appear_on("b");
    assert_eq!(export.urls(), [export.url("b")]);
    let there = Client::of(&kcp, export.url("b"))
        .get(&format!("{MAPS}?{OWN}"))
        .await;
    assert_eq!(places(&there), [format!("{}/same", one.name())]);
    export.hide_url("b");
    assert!(export.urls().is_empty());
    export.show_url("b");
    assert_eq!(export.urls(), [export.url("b")]);
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_is_initialized_leaves_the_view_of_its_initializer() {
    let kcp = Kcp::new();
    let initializer = kcp.initializer("root:team");
    let new = kcp.workspace_to_initialize("root:new", "a", &["root:team", "root:quota"]);
    kcp.workspace_on("root:done", "a");
    let shard = Client::of(&kcp, initializer.url("a"));
    let clusters = "/clusters/*/apis/core.kcp.io/v1alpha1/logicalclusters";
    let list = shard.get(clusters).await;
    assert_eq!(places(&list), [format!("{}/cluster", new.name())]);
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = shard
        .watch(&format!("{clusters}?watch=1&resourceVersion={version}"))
        .await;
    let own = format!("/clusters/{}", new.name());
    let maps = format!("{own}/api/v1/namespaces/default/configmaps");
    assert_eq!(
        shard
            .ask(Method::POST, &maps, config_map_json("first", &json!({})))
            .await
            .0,
        201
    );
    assert_eq!(
        shard.code(Method::GET, "/clusters/*/api/v1/configmaps").await,
        404
    );
    let status = format!("{own}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster/status");
    let done = json!({"status": {"initializers": ["root:quota"]}});
    assert_eq!(shard.ask(Method::PATCH, &status, done).await.0, 200);
    let mut said = String::new();
    while !said.starts_with("DELETED") {
        said = watch.said().await;
    }
    assert_eq!(shard.code(Method::GET, &maps).await, 403);
    let front = Client::of(
        &kcp,
        format!("https://kcp.sim{own}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster"),
    );
    assert_eq!(front.get("").await["status"]["phase"], "Initializing");
    let done = json!({"status": {"initializers": []}});
    assert_eq!(front.ask(Method::PATCH, "/status", done).await.0, 200);
    assert_eq!(front.get("").await["status"]["phase"], "Ready");
}

#[tokio::test(start_paused = true)]
async fn who_may_not_use_an_exports_content_sees_nothing_through_it() {
    let Rig { kcp, export, one, .. } = rig();
    kcp.add_token(
        "slices",
        User::new("slices").may(["get", "list", "watch"], ["apiexportendpointslices.apis.kcp.io"]),
    );
    kcp.add_token(
        "content",
        User::new("content").may(["*"], ["apiexports.apis.kcp.io/content"]),
    );
    let mut shard = Client::of(&kcp, export.url("a"));
    let own = format!(
        "/clusters/{}/api/v1/namespaces/default/configmaps/same",
        one.name()
    );
    for path in [MAPS, own.as_str()] {
        shard.token = Some("slices");
        assert_eq!(shard.code(Method::GET, path).await, 403);
        shard.token = Some("content");
        assert_eq!(shard.code(Method::GET, path).await, 200);
        shard.token = Some("nobody");
        assert_eq!(shard.code(Method::GET, path).await, 401);
    }
    let mut home = Client::of(&kcp, "https://kcp.sim/clusters/root:provider");
    home.token = Some("slices");
    let slices = "/apis/apis.kcp.io/v1alpha1/apiexportendpointslices";
    assert_eq!(home.code(Method::GET, slices).await, 200);
    home.token = Some("content");
    assert_eq!(home.code(Method::GET, slices).await, 403);
}

#[tokio::test]
async fn shards_listen_on_ports_that_the_slice_names() {
    let Rig { kcp, export, one, .. } = rig();
    let listener = kcp.listen("a").await.unwrap();
    let url = &export.urls()[0];
    assert!(url.starts_with(listener.url()), "{url}");
    let stream = TcpStream::connect(listener.addr()).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let task = tokio::spawn(connection);
    let path = format!(
        "/clusters/{}/api/v1/namespaces/default/configmaps/same",
        one.name()
    );
    for path in [MAPS, path.as_str()] {
        let request = Request::get(format!("{url}{path}"))
            .header("host", "localhost")
            .body(Empty::<Bytes>::new())
            .unwrap();
        assert_eq!(
            sender.send_request(request).await.unwrap().status(),
            200,
            "{path}"
        );
    }
    let sockets: Server = kcp.sockets("a");
    assert!(sockets.counters().open_connections > 0);
    task.abort();
    listener.shutdown().await;
    eventually(|| sockets.counters().open_connections, |open| *open == 0).await;
}
