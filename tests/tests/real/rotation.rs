//! Tokens that change on a real control plane: the kubeconfig's file is rewritten, and the same life goes on.

use std::{
    collections::BTreeMap,
    error::Error,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use k8s_openapi::api::{
    authentication::v1::{BoundObjectReference, SelfSubjectReview, TokenRequest, TokenRequestSpec},
    core::v1::{ConfigMap, Secret, ServiceAccount},
    rbac::v1::{ClusterRoleBinding, RoleRef, Subject},
};
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use mcrt::{
    Action, Cluster, ClusterName, Context, ControllerBuilder, HandWired, Manager, Reconciler, Watch,
    providers::File,
};
use mcrt_tests::{
    Running,
    control_plane::{ControlPlane, assets},
    eventually,
};
use tokio::time::sleep;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const LIMIT: Duration = Duration::from_mins(2);
const LABEL: &str = "mcrt.dev/rotation";
const ACCOUNT: &str = "controller";
const OBJECTS: usize = 500;
const ROTATIONS: usize = 20;

/// Counts reconciles.
#[derive(Clone, Default)]
struct Count(Arc<AtomicUsize>);
impl HandWired for Count {}
impl Reconciler for Count {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, _: Context<Self>) -> mcrt::Result<Action> {
        self.0.fetch_add(1, SeqCst);
        Ok(Action::await_change())
    }
}

impl Count {
    fn start(&self, kubeconfig: PathBuf) -> Running {
        let mut wiring = ControllerBuilder::new("count");
        wiring.for_kind(Watch::new().labels(LABEL));
        let controller = wiring.build(self.clone()).expect("the wiring is right");
        let manager = Manager::builder()
            .provider(File::new([kubeconfig]))
            .controller(controller);
        Running::start(manager.build().expect("there is nothing to get wrong"))
    }

    async fn reaches(&self, wanted: usize) {
        eventually(LIMIT, &format!("{wanted} reconciles"), async || {
            match self.0.load(SeqCst) {
                now if now >= wanted => Ok(()),
                now => Err(format!("{now}")),
            }
        })
        .await;
    }
}

/// As tools do: readers see the old file or the new one.
fn write(path: &Path, text: &str) -> Outcome {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)?;
    Ok(())
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            labels: Some(BTreeMap::from([(LABEL.to_owned(), String::new())])),
            ..named(name)
        },
        ..ConfigMap::default()
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

async fn touch(plane: &ControlPlane, name: &str) -> kube::Result<ConfigMap> {
    let api = Api::default_namespaced(plane.client());
    let change = serde_json::json!({"data": {"touched": "yes"}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(change))
        .await
}

/// A service account that may do everything.
async fn create_account(plane: &ControlPlane) -> Outcome {
    let account = ServiceAccount {
        metadata: named(ACCOUNT),
        ..ServiceAccount::default()
    };
    Api::default_namespaced(plane.client())
        .create(&PostParams::default(), &account)
        .await?;
    let binding = ClusterRoleBinding {
        metadata: named(ACCOUNT),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "ClusterRole".to_owned(),
            name: "cluster-admin".to_owned(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: ACCOUNT.to_owned(),
            namespace: Some("default".to_owned()),
            ..Subject::default()
        }]),
    };
    Api::all(plane.client())
        .create(&PostParams::default(), &binding)
        .await?;
    Ok(())
}

/// A token of the account that is good for as long as a secret of this name is there.
async fn create_token(plane: &ControlPlane, name: &str) -> Outcome<String> {
    let secrets = Api::<Secret>::default_namespaced(plane.client());
    let secret = Secret {
        metadata: named(name),
        ..Secret::default()
    };
    let secret = secrets.create(&PostParams::default(), &secret).await?;
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(600),
            bound_object_ref: Some(BoundObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("Secret".to_owned()),
                name: Some(name.to_owned()),
                uid: secret.metadata.uid,
            }),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let accounts = Api::<ServiceAccount>::default_namespaced(plane.client());
    let answer = accounts
        .create_token_request(ACCOUNT, &PostParams::default(), &request)
        .await?;
    answer
        .status
        .and_then(|status| status.token)
        .ok_or_else(|| "no token".into())
}

/// What tells the token that requests of a cluster show from others.
async fn credential(cluster: &Cluster) -> Result<String, String> {
    let reviews = Api::<SelfSubjectReview>::all(cluster.client());
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await;
    let user = review
        .map_err(|error| error.to_string())?
        .status
        .and_then(|status| status.user_info);
    let extra = user.and_then(|user| user.extra).unwrap_or_default();
    let id = extra
        .get("authentication.kubernetes.io/credential-id")
        .and_then(|ids| ids.first());
    id.cloned()
        .ok_or_else(|| "the token has no identifier".to_owned())
}

/// How many requests for all `ConfigMap`s the API server has answered: lists, and watches that have ended.
async fn answered(plane: &ControlPlane) -> Outcome<(f64, f64)> {
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let metrics = plane.client().request_text(request).await?;
    let count = |verb: &str| -> f64 {
        let fits = |line: &&str| {
            line.starts_with("apiserver_request_total{")
                && line.contains("resource=\"configmaps\"")
                && line.contains("scope=\"cluster\"")
                && line.contains(&format!("verb=\"{verb}\""))
        };
        let counts = metrics
            .lines()
            .filter(fits)
            .filter_map(|line| line.rsplit(' ').next());
        counts.filter_map(|count| count.parse::<f64>().ok()).sum()
    };
    Ok((count("LIST"), count("WATCH")))
}

async fn engaged(running: &Running, name: &ClusterName) -> Cluster {
    eventually(LIMIT, "the cluster", async || {
        running
            .handle()
            .fleet()
            .get(name)
            .ok_or_else(|| "not engaged".to_owned())
    })
    .await
}

#[tokio::test]
async fn twenty_rotations_list_nothing_again_and_cause_no_reconcile() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    create_account(&plane).await?;
    let config_maps = Api::default_namespaced(plane.client());
    for number in 0..OBJECTS {
        let object = config_map(&format!("object-{number}"));
        config_maps.create(&PostParams::default(), &object).await?;
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("kubeconfig");
    let kubeconfig = |token: &str| plane.kubeconfig("one").replace(&plane.admin_token(), token);
    write(&path, &kubeconfig(&create_token(&plane, "token-0").await?))?;
    let count = Count::default();
    let running = count.start(path.clone());
    count.reaches(OBJECTS).await;
    let cluster = engaged(&running, &"one".try_into()?).await;
    let before = answered(&plane).await?;
    let mut shown = credential(&cluster).await?;
    for rotation in 1..=ROTATIONS {
        write(
            &path,
            &kubeconfig(&create_token(&plane, &format!("token-{rotation}")).await?),
        )?;
        shown = eventually(
            LIMIT,
            "requests that show the new token",
            async || match credential(&cluster).await? {
                now if now == shown => Err("they show the old one".to_owned()),
                now => Ok(now),
            },
        )
        .await;
        let secrets = Api::<Secret>::default_namespaced(plane.client());
        secrets
            .delete(&format!("token-{}", rotation - 1), &DeleteParams::default())
            .await?;
        touch(&plane, &format!("object-{rotation}")).await?;
        count.reaches(OBJECTS + rotation).await;
    }
    // Reconciles that nobody waits for would come now.
    sleep(Duration::from_secs(2)).await;
    assert_eq!(count.0.load(SeqCst), OBJECTS + ROTATIONS);
    let after = answered(&plane).await?;
    assert!(
        (after.0 - before.0).abs() < 0.5,
        "lists: {before:?}, then {after:?}"
    );
    assert!(
        after.1 - before.1 <= 20.0,
        "watch restarts: {before:?}, then {after:?}"
    );
    assert_eq!(engaged(&running, cluster.name()).await.epoch(), cluster.epoch());
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn work_goes_on_in_the_same_life_after_a_token_was_refused_and_replaced() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let plane = ControlPlane::start(&assets).await?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("kubeconfig");
    write(&path, &plane.kubeconfig("one"))?;
    let config_maps = Api::default_namespaced(plane.client());
    config_maps
        .create(&PostParams::default(), &config_map("before"))
        .await?;
    let count = Count::default();
    let running = count.start(path.clone());
    count.reaches(1).await;
    let cluster = engaged(&running, &"one".try_into()?).await;

    plane.replace_admin_token().await?;
    let config_maps = Api::default_namespaced(plane.client());
    config_maps
        .create(&PostParams::default(), &config_map("meanwhile"))
        .await?;
    eventually(LIMIT, "the old token to be refused", async || {
        match cluster.client().apiserver_version().await {
            Err(kube::Error::Api(status)) if status.code == 401 => Ok(()),
            other => match credential(&cluster).await {
                Err(error) if error.contains("Unauthorized") => Ok(()),
                _ => Err(format!("{other:?}")),
            },
        }
    })
    .await;
    write(&path, &plane.kubeconfig("one"))?;
    count.reaches(2).await;
    config_maps
        .create(&PostParams::default(), &config_map("after"))
        .await?;
    count.reaches(3).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        count.0.load(SeqCst),
        3,
        "an unchanged object was reconciled again"
    );
    assert_eq!(engaged(&running, cluster.name()).await.epoch(), cluster.epoch());
    running.stop().await;
    Ok(())
}
