//! What only a real API server shows: restarts and expired versions, replaced tokens, field ownership.
use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::Duration,
};

use futures::TryStreamExt as _;
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    core::PartialObjectMeta,
};
use mcrt::{
    Action, Context, ControllerBuilder, HandWired, Manager, Reconciler, Watch, multicluster_controller,
    providers::{Clusters, File},
    reconciler,
};
use mcrt_tests::{
    Running,
    control_plane::{ControlPlane, User, assets},
    eventually,
    proxy::Proxy,
    running::{cluster, declared},
};
use parking_lot::Mutex;

type Outcome = Result<(), Box<dyn Error>>;

const LIMIT: Duration = Duration::from_mins(2);
/// On every object of these tests.
const LABEL: &str = "mcrt.dev/proof";

/// Counts the reconciles of every request, and remembers what is gone.
#[derive(Clone, Default)]
struct Seen {
    reconciled: Arc<Mutex<BTreeMap<String, usize>>>,
    gone: Arc<Mutex<BTreeSet<String>>>,
}
impl HandWired for Seen {}
impl Reconciler for Seen {
    type Object = ConfigMap;
    const GONE: bool = true;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        *self
            .reconciled
            .lock()
            .entry(cx.request().to_string())
            .or_default() += 1;
        Ok(Action::await_change())
    }
    async fn gone(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<()> {
        self.gone.lock().insert(cx.request().to_string());
        Ok(())
    }
}

impl Seen {
    fn start(&self, provider: impl mcrt::Provider) -> Running {
        let mut wiring = ControllerBuilder::new("seen");
        wiring.for_kind(Watch::new().labels(LABEL));
        let manager = Manager::builder()
            .provider(provider)
            .controller(wiring.build(self.clone()).unwrap());
        Running::start(manager.build().unwrap())
    }

    fn times(&self, cluster: &str, name: &str) -> usize {
        self.reconciled
            .lock()
            .get(&request(cluster, name))
            .copied()
            .unwrap_or_default()
    }

    async fn wait_for(&self, cluster: &str, name: &str) {
        self.wait_for_times(cluster, name, 1).await;
    }

    async fn wait_for_times(&self, cluster: &str, name: &str, wanted: usize) {
        let what = format!("reconcile {wanted} of {name} in {cluster}");
        eventually(LIMIT, &what, async || match self.times(cluster, name) {
            times if times >= wanted => Ok(()),
            times => Err(format!("{times} reconciles")),
        })
        .await;
    }
}

fn request(cluster: &str, name: &str) -> String {
    format!("cluster://{cluster}/default/{name}")
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([(LABEL.to_owned(), String::new())])),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

async fn create(plane: &ControlPlane, name: &str) -> kube::Result<ConfigMap> {
    let api = Api::default_namespaced(plane.client());
    api.create(&PostParams::default(), &config_map(name)).await
}

async fn touch(plane: &ControlPlane, name: &str) -> kube::Result<ConfigMap> {
    let api = Api::default_namespaced(plane.client());
    let change = serde_json::json!({"data": {"touched": "yes"}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(change))
        .await
}

fn address(plane: &ControlPlane) -> Result<SocketAddr, Box<dyn Error>> {
    let address = plane.server_url().strip_prefix("https://").ok_or("not https")?;
    Ok(address.trim_end_matches('/').parse()?)
}

/// Whether the server refuses to watch from that version on, with 410.
async fn has_expired(plane: &ControlPlane, version: &str) -> Result<bool, Box<dyn Error>> {
    let api = Api::<ConfigMap>::default_namespaced(plane.client());
    match api
        .watch(&WatchParams::default().labels(LABEL).timeout(2), version)
        .await
    {
        Err(kube::Error::Api(status)) if status.code == 410 => Ok(true),
        Err(error) => Err(error.into()),
        Ok(events) => {
            let first = Box::pin(events).try_next().await?;
            Ok(matches!(first, Some(WatchEvent::Error(status)) if status.code == 410))
        }
    }
}

#[tokio::test]
async fn what_was_deleted_while_the_watch_was_down_and_its_version_expired_is_gone() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let proxy = Proxy::to(address(&plane)?).await?;
    let kubeconfig = plane
        .kubeconfig("one")
        .replace(plane.server_url(), &format!("https://{}", proxy.address()));
    let clusters = Clusters::from_iter([cluster("one", &kubeconfig)]);
    for name in ["kept", "changed", "deleted"] {
        create(&plane, name).await?;
    }
    let seen = Seen::default();
    let running = seen.start(clusters);
    for name in ["kept", "changed", "deleted"] {
        seen.wait_for("one", name).await;
    }
    let api = Api::<ConfigMap>::default_namespaced(plane.client());
    let version = api.get("deleted").await?.resource_version().unwrap_or_default();

    proxy.cut();
    api.delete("deleted", &DeleteParams::default()).await?;
    touch(&plane, "changed").await?;
    create(&plane, "created").await?;
    // Started anew, the server remembers nothing older than its start once etcd has forgotten it too.
    plane.compact().await?;
    plane.start_api_server().await?;
    assert!(
        has_expired(&plane, &version).await?,
        "the old version is still served"
    );
    proxy.mend(address(&plane)?);

    eventually(LIMIT, "the deletion", async || {
        if seen.gone.lock().contains(&request("one", "deleted")) {
            Ok(())
        } else {
            Err(format!("{:?}", seen.reconciled.lock()))
        }
    })
    .await;
    seen.wait_for("one", "created").await;
    seen.wait_for_times("one", "changed", 2).await;
    assert_eq!(
        seen.times("one", "kept"),
        1,
        "an unchanged object was reconciled again"
    );
    assert_eq!(seen.gone.lock().len(), 1, "{:?}", seen.gone.lock());
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_restarted_api_server_is_followed_as_before() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    create(&plane, "before").await?;
    let seen = Seen::default();
    let running = seen.start(Clusters::from_iter([cluster("one", &plane.kubeconfig("one"))]));
    seen.wait_for("one", "before").await;
    let epoch = |running: &Running| running.handle().fleet().clusters()[0].epoch();
    let first = epoch(&running);
    for name in ["after-one", "after-two"] {
        plane.kill_api_server();
        plane.start_api_server().await?;
        create(&plane, name).await?;
        seen.wait_for("one", name).await;
    }
    assert_eq!(
        seen.times("one", "before"),
        1,
        "an unchanged object was reconciled again"
    );
    assert_eq!(epoch(&running), first, "a restart ended the cluster's life");
    running.stop().await;
    Ok(())
}

fn write(path: &Path, text: &str) -> Outcome {
    // As tools do: readers see the old file or the new one.
    let beside = path.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)?;
    Ok(())
}

#[tokio::test]
async fn every_context_of_a_kubeconfig_file_is_a_cluster() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("kubeconfig");
    let contexts = ["one", "two", "three"].map(str::to_owned);
    write(&path, &plane.kubeconfig_of(User::Admin, &contexts))?;
    create(&plane, "a").await?;
    let seen = Seen::default();
    let running = seen.start(File::new([path.clone()]));
    for context in &contexts {
        seen.wait_for(context, "a").await;
    }
    create(&plane, "b").await?;
    for context in &contexts {
        seen.wait_for(context, "b").await;
    }
    write(&path, &plane.kubeconfig_of(User::Admin, &contexts[..2]))?;
    eventually(LIMIT, "two clusters", async || {
        let names: Vec<_> = running
            .handle()
            .fleet()
            .clusters()
            .iter()
            .map(ToString::to_string)
            .collect();
        if names == ["one", "two"] {
            Ok(())
        } else {
            Err(format!("{names:?}"))
        }
    })
    .await;
    running.stop().await;
    Ok(())
}

/// Owns a Secret for every ConfigMap, and remembers what its store keeps of them.
#[multicluster_controller(for(ConfigMap, labels = "mcrt.dev/proof"), owns = Secret)]
struct Owner {
    kept: Arc<Mutex<Vec<Arc<PartialObjectMeta<Secret>>>>>,
}

#[reconciler]
impl Owner {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let secret = Secret {
            metadata: ObjectMeta {
                name: config.metadata.name.clone(),
                owner_references: Some(vec![cx.owner_reference()]),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([("ours".to_owned(), ByteString(b"a".to_vec()))])),
            ..Secret::default()
        };
        cx.apply(&secret).await?;
        *self.kept.lock() = cx.store::<Secret>().list();
        Ok(Action::await_change())
    }
}

async fn patch_as(api: &Api<Secret>, manager: &str, change: serde_json::Value) -> kube::Result<Secret> {
    let params = PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    };
    api.patch("a", &params, &Patch::Merge(change)).await
}

/// The managers of `data.<key>`, with how they got there.
fn managers(secret: &Secret, key: &str) -> Vec<(String, String)> {
    let entries = secret.metadata.managed_fields.iter().flatten();
    let of_key = entries.filter(|entry| {
        let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
        fields.is_some_and(|fields| !fields["f:data"][format!("f:{key}")].is_null())
    });
    of_key
        .map(|entry| {
            let (manager, operation) = (entry.manager.clone(), entry.operation.clone());
            (manager.unwrap_or_default(), operation.unwrap_or_default())
        })
        .collect()
}

#[tokio::test]
async fn applied_fields_are_taken_back_and_those_of_others_are_left_alone() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    create(&plane, "a").await?;
    let kept = Arc::new(Mutex::new(Vec::new()));
    let manager = Manager::builder()
        .provider(Clusters::from_iter([cluster("one", &plane.kubeconfig("one"))]))
        .controller(declared(Owner { kept: kept.clone() }));
    let running = Running::start(manager.build()?);
    let api = Api::<Secret>::default_namespaced(plane.client());
    let first = eventually(LIMIT, "the Secret", async || api.get("a").await).await;
    let ours = |secret: &Secret| secret.data.as_ref().and_then(|data| data.get("ours")).cloned();
    let by = managers(&first, "ours");
    assert_eq!(by.len(), 1, "{by:?}");
    assert_eq!(by[0].1, "Apply");
    assert_eq!(first.labels().get("app.kubernetes.io/managed-by"), Some(&by[0].0));

    patch_as(&api, "somebody", serde_json::json!({"data": {"theirs": "Yg=="}})).await?;
    patch_as(&api, "somebody", serde_json::json!({"data": {"ours": "Yg=="}})).await?;
    let restored = eventually(LIMIT, "our field", async || match api.get("a").await {
        Ok(secret) if ours(&secret) == ours(&first) => Ok(secret),
        Ok(secret) => Err(format!("{:?}", managers(&secret, "ours"))),
        Err(error) => Err(error.to_string()),
    })
    .await;
    assert_eq!(managers(&restored, "ours"), by);
    assert_eq!(
        managers(&restored, "theirs"),
        [("somebody".to_owned(), "Update".to_owned())]
    );

    // Of an owned kind the store keeps metadata, of which managed fields are no part.
    eventually(
        LIMIT,
        "the Secret in the store",
        async || match &kept.lock()[..] {
            [secret] if secret.metadata.managed_fields.is_none() => Ok(()),
            other => Err(format!("{} kept", other.len())),
        },
    )
    .await;
    let watches = running.handle().fleet().clusters()[0].watches();
    let forms: Vec<_> = watches
        .iter()
        .map(|(scope, _)| (scope.resource.kind.as_str(), scope.metadata_only))
        .collect();
    assert!(
        forms.contains(&("Secret", true)) && !forms.contains(&("Secret", false)),
        "{forms:?}"
    );
    running.stop().await;
    Ok(())
}
