//! What becomes of workspaces that bind, move, vanish and fail, on simulated shards.
#[cfg(feature = "sim")]
mod conformance;

use super::Kcp;
use crate::{
    cache::CacheSettings,
    connect::{Access, Policy, TransportSettings},
    provider::{ProviderContext, tests::Reader},
};
use mcrt_sim::{Export, Fault, Faults, Requests, User, Workspace};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const QUIET: Duration = Duration::from_secs(40);
const APIS: &str = "apis.kcp.io/v1alpha2";

struct Rig {
    kcp: mcrt_sim::Kcp,
    export: Export,
    one: Workspace,
    two: Workspace,
}

/// Two workspaces that bind an export, on shard `a`; shard `b` has none.
fn rig() -> Rig {
    let kcp = mcrt_sim::Kcp::new();
    let export = kcp.export(&kcp.workspace("root:provider"), "fleet");
    let [one, two] = ["root:one", "root:two"].map(|path| kcp.workspace_on(path, "a"));
    export.bind(&one);
    export.bind(&two);
    kcp.shard_url("b");
    Rig {
        kcp,
        export,
        one,
        two,
    }
}

fn cx(kcp: &mcrt_sim::Kcp, token: Option<&str>) -> ProviderContext {
    let service = match token {
        Some(token) => kcp.service().with_token(token),
        None => kcp.service(),
    };
    let front = Access::service("kcp", service);
    let host = front
        .at("https://kcp.sim/clusters/root:provider", &Policy::strict())
        .unwrap();
    ProviderContext::new(Some(host), TransportSettings::default(), CacheSettings::default())
}

fn read(kcp: &mcrt_sim::Kcp, provider: Kcp) -> Reader {
    Reader::with(&Arc::new(provider), cx(kcp, None))
}

/// A reader that has read all that there is.
async fn synced(rig: &Rig) -> Reader {
    let mut reader = read(&rig.kcp, Kcp::slice("fleet"));
    reader.until("synced").await;
    reader
}

fn come(workspace: &Workspace) -> String {
    format!("+{}", workspace.name())
}

fn gone(workspace: &Workspace) -> String {
    format!("-{}", workspace.name())
}

fn is_on(reader: &Reader, workspace: &Workspace, shard: &str) -> bool {
    let server = &reader.clusters[workspace.name()];
    server.starts_with(&format!("https://{shard}.kcp.sim/services/apiexport/"))
        && server.ends_with(workspace.name())
}

/// Changes the binding of a workspace.
fn change(workspace: &Workspace, change: impl FnOnce(&mut Value)) {
    let server = workspace.server();
    let mut binding = server.get(APIS, "APIBinding", None, "fleet").unwrap();
    change(&mut binding);
    server.replace(binding).unwrap();
}

#[tokio::test(start_paused = true)]
async fn workspaces_that_bind_are_clusters_called_like_their_logical_cluster() {
    let rig = rig();
    let mut reader = read(&rig.kcp, Kcp::slice("fleet"));
    let mut all = reader.until("synced").await;
    all.sort();
    let mut wanted = [come(&rig.one), come(&rig.two), "synced".to_owned()];
    wanted.sort();
    assert_eq!(all, wanted);
    assert!(is_on(&reader, &rig.one, "a"), "{:?}", reader.clusters);
    let new = rig.kcp.workspace_on("root:new", "b");
    assert!(reader.is_quiet(QUIET).await, "it binds nothing");
    rig.export.bind(&new);
    assert_eq!(reader.next().await, come(&new));
    assert!(is_on(&reader, &new, "b"));
    rig.export.unbind(&rig.one);
    assert_eq!(reader.next().await, gone(&rig.one));
    rig.export.bind(&rig.one);
    assert_eq!(reader.next().await, come(&rig.one));
    assert!(reader.is_quiet(QUIET).await);
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_is_not_ready_is_no_cluster() {
    let rig = rig();
    rig.export.bind_as(&rig.one, false);
    let mut reader = read(&rig.kcp, Kcp::slice("fleet"));
    assert_eq!(
        reader.until("synced").await,
        [come(&rig.two), "synced".to_owned()]
    );
    rig.export.bind_as(&rig.one, true);
    assert_eq!(reader.next().await, come(&rig.one));
    rig.export.bind_as(&rig.one, false);
    assert_eq!(reader.next().await, gone(&rig.one));
    let bound = Kcp::slice("fleet").ready(|binding| binding.metadata.labels.is_some());
    let mut reader = read(&rig.kcp, bound);
    assert_eq!(reader.until("synced").await, ["synced"]);
    change(&rig.one, |binding| {
        binding["metadata"]["labels"] = json!({"stage": "test"});
    });
    assert_eq!(reader.next().await, come(&rig.one));
    change(&rig.one, |binding| binding["metadata"]["labels"] = json!(null));
    assert_eq!(reader.next().await, gone(&rig.one));
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_moves_with_overlap_goes_over_and_never_leaves() {
    let rig = rig();
    let mut reader = synced(&rig).await;
    rig.one.appear_on("b");
    assert!(
        reader.is_quiet(QUIET).await,
        "it stays where it is while it is there"
    );
    assert!(is_on(&reader, &rig.one, "a"));
    rig.one.vanish_from("a");
    assert_eq!(reader.next().await, come(&rig.one));
    assert!(is_on(&reader, &rig.one, "b"));
    assert!(reader.is_quiet(QUIET).await);
}

#[tokio::test(start_paused = true)]
async fn a_move_that_takes_no_time_is_one_with_overlap() {
    let rig = rig();
    let mut reader = synced(&rig).await;
    for (from, to) in [("a", "b"), ("b", "a"), ("a", "b")] {
        rig.one.appear_on(to);
        rig.one.vanish_from(from);
        assert_eq!(reader.next().await, come(&rig.one));
        assert!(is_on(&reader, &rig.one, to));
    }
    assert!(reader.is_quiet(QUIET).await);
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_moves_with_a_gap_leaves_and_comes_back() {
    let rig = rig();
    let mut reader = synced(&rig).await;
    rig.one.vanish_from("a");
    assert_eq!(reader.next().await, gone(&rig.one));
    assert!(reader.is_quiet(QUIET).await);
    rig.one.appear_on("b");
    assert_eq!(reader.next().await, come(&rig.one));
    assert!(is_on(&reader, &rig.one, "b"));
}

#[tokio::test(start_paused = true)]
async fn clusters_leave_with_their_address_and_come_back_with_it() {
    let rig = rig();
    let other = rig.kcp.workspace_on("root:other", "b");
    rig.export.bind(&other);
    let mut reader = synced(&rig).await;
    rig.export.hide_url("a");
    let mut left = reader.take(2).await;
    left.sort();
    let mut both = [gone(&rig.one), gone(&rig.two)];
    both.sort();
    assert_eq!(left, both);
    rig.export.show_url("a");
    assert_eq!(reader.take(2).await.len(), 2);
    assert_eq!(reader.clusters.len(), 3);
    assert!(reader.is_quiet(QUIET).await);
}

#[tokio::test(start_paused = true)]
async fn a_shard_that_gets_another_address_takes_its_clusters_along() {
    let rig = rig();
    let mut reader = synced(&rig).await;
    rig.kcp.set_shard_url("a", "https://c.kcp.sim/");
    let all = reader.take(2).await;
    assert!(all.iter().all(|change| change.starts_with('+')), "{all:?}");
    assert!(is_on(&reader, &rig.one, "c") && is_on(&reader, &rig.two, "c"));
    assert!(reader.is_quiet(QUIET).await);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_leaves_though_another_address_does_not_answer_for_long() {
    let rig = rig();
    let other = rig.kcp.workspace_on("root:other", "b");
    rig.export
        .wildcard("b")
        .faults(Faults::none().on(Requests::any(), Fault::status(503)));
    let mut reader = synced(&rig).await;
    rig.export.bind(&other);
    assert!(reader.next().await.starts_with("!https://b.kcp.sim"));
    let before = tokio::time::Instant::now();
    rig.export.unbind(&rig.one);
    loop {
        let change = reader.next().await;
        if change == gone(&rig.one) {
            break;
        }
        assert!(change.starts_with('!'), "{change}");
    }
    let after = before.elapsed().as_secs();
    assert!((29..=31).contains(&after), "it may have moved there: {after}");
}

#[tokio::test(start_paused = true)]
async fn an_address_that_fails_keeps_its_clusters_and_does_not_touch_the_others() {
    let rig = rig();
    let other = rig.kcp.workspace_on("root:other", "b");
    rig.export.bind(&other);
    let broken = rig.export.wildcard("a");
    broken.faults(Faults::none().on(Requests::any(), Fault::status(503)));
    let mut reader = read(&rig.kcp, Kcp::slice("fleet"));
    let first = [reader.next().await, reader.next().await];
    assert!(first.contains(&come(&other)), "{first:?}");
    assert!(
        first
            .iter()
            .any(|change| change.starts_with("!https://a.kcp.sim")),
        "{first:?}"
    );
    assert!(
        reader.is_quiet(QUIET).await,
        "it is said once, and not synced is not said"
    );
    broken.clear_faults();
    let rest = reader.until("synced").await;
    assert_eq!(rest.len(), 3, "{rest:?}");
    broken.faults(Faults::none().on(Requests::any(), Fault::refuse()));
    broken.disconnect_watches();
    assert!(reader.next().await.contains("what was seen there before stays"));
    rig.export.unbind(&other);
    assert_eq!(reader.next().await, gone(&other));
    assert!(reader.is_quiet(QUIET).await);
    rig.export.unbind(&rig.one);
    broken.clear_faults();
    assert_eq!(reader.next().await, gone(&rig.one));
}

#[tokio::test(start_paused = true)]
async fn a_workspace_on_an_address_that_fails_goes_over_to_one_that_has_it_too() {
    let rig = rig();
    let mut reader = synced(&rig).await;
    rig.one.appear_on("b");
    assert!(reader.is_quiet(QUIET).await);
    let broken = rig.export.wildcard("a");
    broken.faults(Faults::none().on(Requests::any(), Fault::status(503)));
    broken.disconnect_watches();
    let mut all = reader.take(2).await;
    all.retain(|change| !change.starts_with('!'));
    assert_eq!(all, [come(&rig.one)]);
    assert!(is_on(&reader, &rig.one, "b"));
    rig.one.vanish_from("a");
    broken.clear_faults();
    assert!(
        reader.is_quiet(QUIET).await,
        "it is there no more, and was not there"
    );
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_was_never_there_says_nothing_and_one_that_is_deleted_says_all() {
    let kcp = mcrt_sim::Kcp::new();
    let home = kcp.workspace("root:provider");
    let mut reader = read(&kcp, Kcp::slice("fleet"));
    let said = reader.next().await;
    assert!(
        said.starts_with("!APIExportEndpointSlice `fleet`: there is none"),
        "{said}"
    );
    assert!(reader.is_quiet(QUIET).await, "not synced");
    let export = kcp.export(&home, "fleet");
    assert_eq!(reader.next().await, "synced");
    let one = kcp.workspace_on("root:one", "a");
    export.bind(&one);
    assert_eq!(reader.next().await, come(&one));
    let slice = "APIExportEndpointSlice";
    home.server()
        .delete("apis.kcp.io/v1alpha1", slice, None, "fleet")
        .unwrap();
    let said = reader.next().await;
    assert!(said.contains("it is gone"), "{said}");
    assert_eq!(reader.next().await, gone(&one));
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_cannot_be_read_takes_nothing_away() {
    let rig = rig();
    let mut reader = synced(&rig).await;
    let home = rig.export.home().server();
    home.faults(Faults::none().on(Requests::any(), Fault::status(403)));
    home.disconnect_watches();
    let said = reader.next().await;
    assert!(said.contains("apiexportendpointslices"), "{said}");
    assert!(reader.is_quiet(QUIET).await);
    let new = rig.kcp.workspace_on("root:new", "a");
    rig.export.bind(&new);
    assert_eq!(
        reader.next().await,
        come(&new),
        "what is behind a known address goes on"
    );
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_none_is_told_and_the_others_go_on() {
    let rig = rig();
    let home = rig.export.home().server();
    let slice = || {
        home.get("apis.kcp.io/v1alpha1", "APIExportEndpointSlice", None, "fleet")
            .unwrap()
    };
    let mut bad = slice();
    bad["status"]["endpoints"]
        .as_array_mut()
        .unwrap()
        .push(json!({"url": "not an address"}));
    bad["status"]["conditions"] = json!([{"type": "PartitionValid", "status": "False"}]);
    home.replace_status(bad).unwrap();
    let mut reader = read(&rig.kcp, Kcp::slice("fleet"));
    let all = reader.take(4).await;
    assert!(
        all.iter().any(|said| said.contains("PartitionValid is False")),
        "{all:?}"
    );
    assert!(
        all.iter()
            .any(|said| said.starts_with("!not an address: an address of APIExport")),
        "{all:?}"
    );
    assert_eq!(reader.clusters.len(), 2);
    assert!(reader.is_quiet(QUIET).await);
    let mut good = slice();
    good["status"]["endpoints"].as_array_mut().unwrap().pop();
    home.replace_status(good).unwrap();
    assert_eq!(reader.next().await, "synced");
}

#[tokio::test(start_paused = true)]
async fn clusters_can_be_called_by_the_path_of_their_workspace() {
    let rig = rig();
    let path = |path: &str| {
        let path = path.to_owned();
        move |binding: &mut Value| binding["metadata"]["annotations"]["kcp.io/path"] = path.into()
    };
    change(&rig.one, path("root:one"));
    let mut reader = read(&rig.kcp, Kcp::slice("fleet").named_by_path());
    let all = reader.until("synced").await;
    assert!(
        all.contains(&"+root:one".to_owned()) && all.contains(&come(&rig.two)),
        "{all:?}"
    );
    change(&rig.two, path("root:one"));
    let said = reader.next().await;
    assert!(said.contains("which has the name"), "{said}");
    change(&rig.two, path("root:two"));
    assert_eq!(reader.take(2).await, [gone(&rig.two), "+root:two".to_owned()]);
    assert!(reader.clusters["root:one"].ends_with(rig.one.name()));
}

#[tokio::test(start_paused = true)]
async fn kcp_that_serves_only_the_older_bindings_is_read_too() {
    let rig = rig();
    let view = rig.export.wildcard("a");
    let kinds = view.kinds().into_iter();
    let older = kinds.filter(|kind| kind.plural == "apibindings" && kind.version == "v1alpha1");
    let older: Vec<_> = older.collect();
    view.unserve("apis.kcp.io", "apibindings");
    let mut reader = read(&rig.kcp, Kcp::slice("fleet"));
    let said = reader.next().await;
    assert!(said.contains("not served"), "{said}");
    for kind in older {
        view.serve(kind);
    }
    assert_eq!(reader.until("synced").await.len(), 3);
    rig.export.unbind(&rig.one);
    assert_eq!(reader.next().await, gone(&rig.one));
}

#[tokio::test(start_paused = true)]
async fn who_may_read_the_slice_but_not_the_content_is_told_which_right_is_missing() {
    let rig = rig();
    let slices = ["apiexportendpointslices.apis.kcp.io"];
    let reads = ["get", "list", "watch"];
    rig.kcp
        .add_token("slices", User::new("slices").may(reads, slices));
    let both = User::new("both")
        .may(reads, slices)
        .may(["list", "watch"], ["apiexports.apis.kcp.io/content"]);
    rig.kcp.add_token("both", both);
    let provider = Arc::new(Kcp::slice("fleet"));
    let mut reader = Reader::with(&provider, cx(&rig.kcp, Some("slices")));
    let said = reader.next().await;
    assert!(said.contains("apiexports/content"), "{said}");
    let mut reader = Reader::with(&provider, cx(&rig.kcp, Some("nobody")));
    assert!(reader.next().await.contains("401"));
    let mut reader = Reader::with(&provider, cx(&rig.kcp, Some("both")));
    assert_eq!(reader.until("synced").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_rights_of_the_yaml_are_enough() {
    let rig = rig();
    rig.kcp.add_token("controller", User::new("controller"));
    let yaml = include_str!("../rbac.yaml").split("\n---\n");
    for object in yaml {
        let object: Value = serde_saphyr::from_str(object).unwrap();
        rig.export.home().server().create(object).unwrap();
    }
    let mut reader = Reader::with(&Arc::new(Kcp::slice("fleet")), cx(&rig.kcp, Some("controller")));
    assert_eq!(reader.until("synced").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_slice_may_be_in_another_workspace_than_the_host_leads_to() {
    let rig = rig();
    let host = Access::service("kcp", rig.kcp.service());
    let plain = ProviderContext::new(Some(host), TransportSettings::default(), CacheSettings::default());
    for cx in [plain, cx(&rig.kcp, None)] {
        let provider = Kcp::slice("fleet").in_workspace("root:provider");
        let mut reader = Reader::with(&Arc::new(provider), cx);
        assert_eq!(reader.until("synced").await.len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn workspaces_that_wait_for_the_initializer_are_clusters_until_it_is_taken_off() {
    let kcp = mcrt_sim::Kcp::new();
    kcp.workspace("root:provider");
    kcp.initializer("root:provider:team");
    let mine = "root:provider:team";
    let new = kcp.workspace_to_initialize("root:new", "a", &[mine, "root:quota"]);
    kcp.workspace_to_initialize("root:other", "a", &["root:quota"]);
    for name in [mine, "team"] {
        let mut reader = read(&kcp, Kcp::initializing(name));
        assert_eq!(reader.until("synced").await, [come(&new), "synced".to_owned()]);
    }
    let mut reader = read(&kcp, Kcp::initializing(mine));
    reader.until("synced").await;
    let late = kcp.workspace_to_initialize("root:late", "b", &[mine]);
    loop {
        if reader.next().await == come(&late) {
            break;
        }
    }
    let server = new.server();
    let mut cluster = server
        .get("core.kcp.io/v1alpha1", "LogicalCluster", None, "cluster")
        .unwrap();
    cluster["status"]["initializers"] = json!(["root:quota"]);
    server.replace_status(cluster).unwrap();
    assert_eq!(reader.next().await, gone(&new));
}
