//! Controllers over workspaces of kcp: shared watches, writes that go to one workspace, moves between shards.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{ByteString, api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use mcrt::{
    Action, Controller, Manager, Watch,
    connect::{Access, Connection, Policy},
    providers,
    testing::{Running, Servers},
};
use mcrt_sim::{Authority, Export, Kcp, Listen, Server, User, Verb, Verdict, Workspace};
use mcrt_tests::simulated::{Call, Recorder, config, with_data};
use parking_lot::Mutex;
use serde_json::json;

const NAME: &str = "children";

/// An export that workspaces on two shards bind.
#[derive(Clone)]
struct Rig {
    kcp: Kcp,
    export: Export,
    workspaces: Vec<Workspace>,
    /// Those that have been left behind by moves.
    left: Arc<Mutex<Vec<Server>>>,
}

impl Rig {
    fn of(count: usize) -> Self {
        let kcp = Kcp::new();
        let export = kcp.export(&kcp.workspace("root:platform"), "fleet");
        kcp.shard_url("b");
        let workspaces = (0..count).map(|number| {
            let shard = if number % 3 == 2 { "b" } else { "a" };
            let workspace = kcp.workspace_on(&format!("root:team-{number}"), shard);
            export.bind(&workspace);
            workspace
        });
        Self {
            workspaces: workspaces.collect(),
            kcp,
            export,
            left: Arc::default(),
        }
    }

    async fn run(&self, controller: Controller, test: impl AsyncFnOnce(&Running)) {
        let front = Access::service("kcp", self.kcp.service());
        let home = front.at("https://kcp.sim/clusters/root:platform", &Policy::strict());
        self.run_on(home.unwrap(), controller, test).await;
    }

    async fn run_on(&self, home: Access, controller: Controller, test: impl AsyncFnOnce(&Running)) {
        let manager = Manager::builder()
            .provider(providers::Kcp::slice("fleet"))
            .host(home)
            .controller(controller)
            .build()
            .unwrap();
        Running::start(manager, self.clone()).during(test).await;
    }

    /// Lets a workspace appear on a shard, and remembers what it leaves behind.
    fn appear(&self, workspace: &Workspace, shard: &str) {
        self.left.lock().push(workspace.server());
        workspace.appear_on(shard);
    }
}

impl Servers for Rig {
    fn members(&self) -> Vec<Server> {
        Vec::new()
    }

    fn all(&self) -> Vec<Server> {
        let mut all: Vec<_> = self.workspaces.iter().map(Workspace::server).collect();
        all.extend(["root", "a", "b"].map(|shard| self.export.wildcard(shard)));
        all.push(self.export.home().server());
        all.extend(self.left.lock().iter().cloned());
        all
    }
}

/// Applies a Secret for every `ConfigMap`, with what is in it.
fn children() -> Recorder {
    Recorder::default().doing(|call: Call| async move {
        let child = Secret {
            metadata: ObjectMeta {
                name: Some(format!("of-{}", call.name())),
                owner_references: Some(vec![call.cx.owner_reference()]),
                ..ObjectMeta::default()
            },
            string_data: call.object.data.clone(),
            ..Secret::default()
        };
        call.cx.apply(&child).await?;
        Ok(Action::await_change())
    })
}

fn controller(seen: &Recorder) -> Controller {
    let mut wiring = seen.wiring(NAME);
    wiring.owns::<Secret>(Watch::new());
    seen.build(wiring)
}

fn put(workspace: &Workspace, name: &str, value: &str) {
    let map = with_data(config(name), "key", value);
    let server = workspace.server();
    if server.replace(map.clone()).is_err() {
        server.create(map).unwrap();
    }
}

/// Whether the Secret of a `ConfigMap` has what is in it.
fn has_child(workspace: &Workspace, name: &str) -> Result<(), String> {
    let server = workspace.server();
    let map = server.get("v1", "ConfigMap", Some("default"), name).unwrap();
    let child = server.get("v1", "Secret", Some("default"), &format!("of-{name}"));
    let child = child.map_err(|status| format!("{workspace:?}: {status}"))?;
    let wanted = ByteString(map["data"]["key"].as_str().unwrap().into());
    if child["data"]["key"] == serde_json::to_value(wanted).unwrap() {
        Ok(())
    } else {
        Err(format!("{workspace:?}: the Secret of {name} is of before"))
    }
}

async fn until_all_have_children(running: &Running, rig: &Rig, names: &[String]) {
    running
        .until("every Secret is there and new", async || {
            for workspace in &rig.workspaces {
                for name in names {
                    has_child(workspace, name)?;
                }
            }
            Ok::<_, String>(())
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn workspaces_share_a_watch_for_each_kind_and_shard_and_are_written_to_one_by_one() {
    let rig = Rig::of(9);
    let names = ["same".to_owned()];
    let written = Arc::new(Mutex::new(Vec::new()));
    for workspace in &rig.workspaces {
        put(workspace, "same", "1");
        let (written, name) = (written.clone(), workspace.name().to_owned());
        workspace.server().hook(move |request| {
            if matches!(request.verb(), Verb::Patch | Verb::Create | Verb::Update) {
                written
                    .lock()
                    .push((name.clone(), request.base_path().to_owned()));
            }
            Verdict::Pass
        });
    }
    let seen = children();
    rig.run(controller(&seen), async |running| {
        until_all_have_children(running, &rig, &names).await;
        for (shard, count) in [("a", 1), ("b", 1), ("root", 0)] {
            let counters = rig.export.wildcard(shard).counters();
            for kind in ["configmaps", "secrets", "apibindings"] {
                assert_eq!(counters.kind(kind).open_watches, count, "{shard}: {kind}");
            }
            assert_eq!(counters.writes, 0, "nothing is written to all");
        }
        for workspace in &rig.workspaces {
            let counters = workspace.server().counters();
            assert_eq!((counters.lists, counters.watches), (0, 0), "{workspace:?}");
            assert!(counters.writes > 0);
        }
        for (name, base) in written.lock().iter() {
            let home = rig.export.home();
            assert_eq!(
                *base,
                format!("/services/apiexport/{}/fleet/clusters/{name}", home.name())
            );
        }
        seen.forget();
        put(&rig.workspaces[4], "same", "2");
        until_all_have_children(running, &rig, &names).await;
        running
            .until("nothing is left to do", async || running.is_idle())
            .await;
        let runs = seen.runs();
        let only = rig.workspaces[4].name();
        assert!(
            runs.iter().all(|run| run.cluster == only),
            "the others bear the same name: {seen:?}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_moves_with_overlap_has_every_object_reconciled_on_its_new_shard() {
    let rig = Rig::of(3);
    let names: Vec<_> = (0..20).map(|number| format!("m-{number}")).collect();
    for workspace in &rig.workspaces {
        for name in &names {
            put(workspace, name, "1");
        }
    }
    let seen = children();
    rig.run(controller(&seen), async |running| {
        until_all_have_children(running, &rig, &names).await;
        let moving = &rig.workspaces[0];
        let other = running.engaged(rig.workspaces[1].name()).epoch();
        for (from, to) in [("a", "b"), ("b", "a")] {
            let before = running.engaged(moving.name()).epoch();
            rig.appear(moving, to);
            // Written where it is at home by now, while the fleet still looks at where it was.
            for name in &names {
                put(moving, name, to);
            }
            tokio::time::sleep(Duration::from_secs(10)).await;
            moving.vanish_from(from);
            until_all_have_children(running, &rig, &names).await;
            running
                .until("every object was seen in the new life", async || {
                    let now = running.engaged(moving.name()).epoch();
                    let runs = seen.runs();
                    let seen = |name: &String| runs.iter().any(|run| run.epoch == now && run.name == *name);
                    if now != before && names.iter().all(seen) {
                        Ok(())
                    } else {
                        Err("not yet")
                    }
                })
                .await;
        }
        assert_eq!(
            running.engaged(rig.workspaces[1].name()).epoch(),
            other,
            "the others stay"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_moves_with_a_gap_loses_nothing_that_happened_meanwhile() {
    let rig = Rig::of(3);
    let names: Vec<_> = (0..20).map(|number| format!("m-{number}")).collect();
    for workspace in &rig.workspaces {
        for name in &names {
            put(workspace, name, "1");
        }
    }
    let seen = children();
    rig.run(controller(&seen), async |running| {
        until_all_have_children(running, &rig, &names).await;
        let moving = &rig.workspaces[0];
        rig.left.lock().push(moving.server());
        moving.vanish_from("a");
        running
            .until("it has left", async || {
                let fleet = running.manager().fleet();
                let name = mcrt::ClusterName::new(moving.name()).unwrap();
                fleet.get(&name).map_or(Ok(()), |_| Err("it is still there"))
            })
            .await;
        for name in &names {
            put(moving, name, "2");
        }
        tokio::time::sleep(Duration::from_mins(5)).await;
        moving.appear_on("b");
        until_all_have_children(running, &rig, &names).await;
        assert_eq!(
            rig.export
                .wildcard("b")
                .counters()
                .kind("configmaps")
                .open_watches,
            1
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_shard_that_is_away_holds_up_its_own_workspaces_alone() {
    let rig = Rig::of(6);
    let names = ["same".to_owned()];
    let seen = children();
    rig.run(controller(&seen), async |running| {
        for workspace in &rig.workspaces {
            put(workspace, "same", "1");
        }
        until_all_have_children(running, &rig, &names).await;
        let away: Vec<_> = rig
            .workspaces
            .iter()
            .filter(|one| one.shards() == ["b"])
            .collect();
        let servers = || {
            away.iter()
                .map(|one| one.server())
                .chain([rig.export.wildcard("b")])
        };
        servers().for_each(|server| server.partition());
        tokio::time::sleep(Duration::from_mins(2)).await;
        rig.workspaces
            .iter()
            .for_each(|workspace| put(workspace, "same", "2"));
        running
            .until("the others go on", async || {
                let mut here = rig.workspaces.iter().filter(|one| one.shards() == ["a"]);
                here.try_for_each(|workspace| has_child(workspace, "same"))
            })
            .await;
        for workspace in &away {
            assert!(has_child(workspace, "same").is_err());
            running.engaged(workspace.name());
        }
        servers().for_each(|server| server.heal());
        until_all_have_children(running, &rig, &names).await;
    })
    .await;
}

/// A kubeconfig of a workspace, as somebody of this token.
fn kubeconfig(server: &str, authority: &Authority, token: &str) -> String {
    let ca = ByteString(authority.pem().as_bytes().to_vec());
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": ca}}],
        "users": [{"name": "c", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    })
    .to_string()
}

#[tokio::test]
async fn over_sockets_each_shard_has_the_hosts_credentials_and_a_handful_of_connections() {
    let rig = Rig::of(12);
    let authority = Authority::new("kcp").unwrap();
    let listen = || Listen::new().tls(&authority);
    let mut listeners = Vec::new();
    for shard in ["root", "a", "b"] {
        listeners.push(rig.kcp.listen_with(shard, listen()).await.unwrap());
    }
    rig.kcp.add_token("s3cret", User::admin("controller"));
    let names = ["same".to_owned()];
    for workspace in &rig.workspaces {
        put(workspace, "same", "1");
    }
    let home = format!("{}/clusters/root:platform", rig.kcp.shard_url("root"));
    let policy = Policy::strict().allow_local_servers();
    let home = Connection::from_bytes(kubeconfig(&home, &authority, "s3cret"), None, &policy).unwrap();
    let seen = children();
    rig.run_on(home.into(), controller(&seen), async |running| {
        until_all_have_children(running, &rig, &names).await;
        for shard in ["a", "b"] {
            let counters = rig.kcp.sockets(shard).counters();
            // Watches and requests of the clusters, and what tells which clusters there are.
            assert!(
                (2..=4).contains(&counters.open_connections),
                "{shard}: {counters:?}"
            );
            let wildcard = rig.export.wildcard(shard).counters();
            assert_eq!(wildcard.kind("configmaps").open_watches, 1);
            assert_eq!(wildcard.unauthorized, 0);
        }
        let moving = &rig.workspaces[0];
        rig.appear(moving, "b");
        moving.vanish_from("a");
        put(moving, "same", "2");
        until_all_have_children(running, &rig, &names).await;
        for listener in &listeners[1..] {
            listener.reset_connections();
        }
        put(&rig.workspaces[2], "same", "3");
        until_all_have_children(running, &rig, &names).await;
    })
    .await;
    for listener in listeners {
        listener.shutdown().await;
    }
}
