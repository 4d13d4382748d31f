//! Replicas that are processes, on a real kube-apiserver: ended in order, killed, and stopped for longer than their lease.
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    fs::File,
    process::{Child, Command, Stdio},
    time::Duration,
};

use k8s_openapi::{
    api::{
        core::v1::{ConfigMap, Namespace},
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    serde::de::DeserializeOwned,
};
use kube::{
    Api, ResourceExt as _,
    api::{ListParams, PostParams},
};
use mcrt_tests::{
    control_plane::{Assets, ControlPlane, User, assets},
    eventually,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const LIMIT: Duration = Duration::from_mins(2);
const LEASE: &str = "12";
/// The namespace of the Leases.
const OPS: &str = "ops";
/// So many that by chance none of two replicas is left without.
const CLUSTERS: usize = 14;

struct Site {
    plane: ControlPlane,
    folder: TempDir,
}

/// One process; killed when it is dropped.
struct Replica {
    name: &'static str,
    child: Child,
}

impl Site {
    async fn start(assets: &Assets) -> Outcome<Self> {
        let site = Self {
            plane: ControlPlane::start(assets).await?,
            folder: tempfile::tempdir()?,
        };
        site.create::<Namespace>(None, json!({"metadata": {"name": OPS}}))
            .await?;
        site.allow().await?;
        for number in 0..CLUSTERS {
            let name = cluster(number);
            let labels = json!({"mcrt.dev/shared": "yes"});
            site.create::<Namespace>(None, json!({"metadata": {"name": name, "labels": labels}}))
                .await?;
            let labels = json!({"mcrt.dev/work": "yes"});
            site.create::<ConfigMap>(
                Some(&name),
                json!({"metadata": {"name": "work", "labels": labels}}),
            )
            .await?;
        }
        let kubeconfig = site.plane.kubeconfig_of(User::Limited, &["host".to_owned()]);
        std::fs::write(site.folder.path().join("kubeconfig"), kubeconfig)?;
        Ok(site)
    }

    /// What the documents say that replicas, the provider and this controller need, and nothing else.
    async fn allow(&self) -> Outcome {
        let user = json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "limited"}]);
        let replica: Value = first_of(include_str!("../../../mcrt/src/coordinator/rbac.yaml"))?;
        let namespaces: Value = first_of(include_str!("../../../mcrt/src/provider/namespace/rbac.yaml"))?;
        let maps = json!({
            "metadata": {"name": "maps"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
        });
        self.create::<Role>(Some(OPS), replica.clone()).await?;
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": replica["metadata"]["name"]});
        let binding = json!({"metadata": {"name": "replica"}, "roleRef": role, "subjects": user});
        self.create::<RoleBinding>(Some(OPS), binding).await?;
        for role in [namespaces, maps] {
            let name = role["metadata"]["name"].clone();
            self.create::<ClusterRole>(None, role).await?;
            let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name});
            let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": user});
            self.create::<ClusterRoleBinding>(None, binding).await?;
        }
        Ok(())
    }

    async fn create<K>(&self, namespace: Option<&str>, object: Value) -> Outcome
    where
        K: kube::Resource<DynamicType = ()> + Clone + serde::Serialize + DeserializeOwned + std::fmt::Debug,
    {
        let kind = kube::core::ApiResource::erase::<K>(&());
        let client = self.plane.client();
        let api: Api<kube::core::DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &kind),
            None => Api::all_with(client, &kind),
        };
        let mut object = object;
        object["apiVersion"] = K::api_version(&()).into();
        object["kind"] = K::kind(&()).into();
        api.create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        Ok(())
    }

    fn replica(&self, name: &'static str) -> Outcome<Replica> {
        let log = File::create(self.folder.path().join(format!("{name}.log")))?;
        let child = Command::new(env!("CARGO_BIN_EXE_replica"))
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .env("REPLICA", name)
            .args([
                "--host",
                "context:host",
                "--shard-group",
                "work",
                "--shard-namespace",
                OPS,
                "--shard-lease",
                LEASE,
            ])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(Replica { name, child })
    }

    fn maps(&self, number: usize) -> Api<ConfigMap> {
        Api::namespaced(self.plane.client(), &cluster(number))
    }

    /// Waits until every cluster is worked on again, by these replicas, and by each of them.
    async fn worked_on_by(&self, replicas: &[&Replica]) {
        let before = self.progress().await;
        let names: BTreeSet<_> = replicas.iter().map(|replica| replica.name).collect();
        let what = format!("every cluster is worked on, by {names:?}");
        let look = async || {
            let now = self.progress().await;
            let mut by = BTreeSet::new();
            for number in 0..CLUSTERS {
                let of = now.iter().filter(|((cluster, _), _)| *cluster == number);
                let moved = of.filter(|(key, version)| before.get(*key) != Some(version));
                let moved: Vec<_> = moved.map(|((_, name), _)| name.clone()).collect();
                if !moved.iter().any(|name| names.contains(name.as_str())) {
                    return Err(format!(
                        "{} is not, moved by {moved:?}{}",
                        cluster(number),
                        self.logs(replicas)
                    ));
                }
                by.extend(moved);
            }
            names
                .iter()
                .all(|name| by.contains(*name))
                .then_some(())
                .ok_or_else(|| format!("by {by:?} alone{}", self.logs(replicas)))
        };
        eventually(LIMIT, &what, look).await;
    }

    /// The version of each replica's last word in each cluster.
    async fn progress(&self) -> BTreeMap<(usize, String), String> {
        let mut progress = BTreeMap::new();
        for number in 0..CLUSTERS {
            let maps = self.maps(number).list(&ListParams::default()).await;
            for map in maps.map(|maps| maps.items).unwrap_or_default() {
                if let Some(name) = map.name_any().strip_prefix("done-") {
                    progress.insert(
                        (number, name.to_owned()),
                        map.resource_version().unwrap_or_default(),
                    );
                }
            }
        }
        progress
    }

    /// Nobody worked on what another did; what was left behind was left by these.
    async fn is_clean(&self, dead: &[&str]) -> Outcome {
        for number in 0..CLUSTERS {
            for map in self.maps(number).list(&ListParams::default()).await?.items {
                let name = map.name_any();
                assert!(
                    !name.starts_with("violation-"),
                    "{}: {:?}",
                    cluster(number),
                    map.data
                );
                if name.starts_with("takeover-") {
                    let data = map.data.unwrap_or_default();
                    assert!(
                        dead.contains(&data["from"].as_str()),
                        "{}: {data:?}",
                        cluster(number)
                    );
                }
            }
        }
        Ok(())
    }

    fn logs(&self, replicas: &[&Replica]) -> String {
        let logs = replicas.iter().map(|replica| {
            let log = std::fs::read_to_string(self.folder.path().join(format!("{}.log", replica.name)));
            let log = log.unwrap_or_default();
            let last: Vec<_> = log.lines().rev().take(12).collect();
            format!(
                "\n--- {}\n{}",
                replica.name,
                last.into_iter().rev().collect::<Vec<_>>().join("\n")
            )
        });
        logs.collect()
    }
}

impl Replica {
    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Ends in order.
    async fn leave(mut self) {
        self.signal(Signal::TERM);
        let what = format!("{} ends", self.name);
        let status = eventually(LIMIT, &what, async || match self.child.try_wait() {
            Ok(Some(status)) => Ok(status),
            other => Err(format!("{other:?}")),
        })
        .await;
        assert!(status.success(), "{status}");
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cluster(number: usize) -> String {
    format!("cluster-{number}")
}

/// The first document of a file of YAML.
fn first_of(text: &str) -> Outcome<Value> {
    let first = text.split("\n---\n").next().unwrap_or_default();
    Ok(serde_saphyr::from_str(first)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_leave_are_killed_or_stand_still_are_followed_and_nothing_is_done_by_two() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let site = Site::start(&assets).await?;
    let (one, two) = (site.replica("one")?, site.replica("two")?);
    site.worked_on_by(&[&one, &two]).await;
    site.is_clean(&[]).await?;

    one.leave().await;
    site.worked_on_by(&[&two]).await;
    site.is_clean(&[]).await?;

    let three = site.replica("three")?;
    site.worked_on_by(&[&two, &three]).await;
    two.signal(Signal::KILL);
    site.worked_on_by(&[&three]).await;
    site.is_clean(&["two"]).await?;

    let four = site.replica("four")?;
    site.worked_on_by(&[&three, &four]).await;
    three.signal(Signal::STOP);
    site.worked_on_by(&[&four]).await;
    three.signal(Signal::CONT);
    // As another session: what it had begun comes to nothing.
    site.worked_on_by(&[&three, &four]).await;
    site.is_clean(&["two", "three"]).await?;
    three.leave().await;
    four.leave().await;
    site.is_clean(&["two", "three"]).await?;
    drop(two);
    site.plane.stop().await;
    Ok(())
}
