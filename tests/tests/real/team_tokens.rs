//! The `team-tokens` example on three real clusters and a real host.
use std::{collections::BTreeMap, error::Error, sync::OnceLock, time::Duration};

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Namespace, Secret},
};
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use mcrt::{ClusterName, Manager, providers::Clusters};
use mcrt_tests::{
    Running,
    control_plane::{Assets, ControlPlane, Options, assets, start_many},
    eventually,
    running::{cluster, connection, declared},
};
use team_tokens::{KEY, TEAM, TOKEN, TeamTokens};
use tokio::sync::{Mutex, MutexGuard};

type Outcome = Result<(), Box<dyn Error>>;

const LIMIT: Duration = Duration::from_mins(2);

/// Three clusters with a garbage collector each, and a host: started once, used by one test at a time.
struct Site {
    clusters: Vec<ControlPlane>,
    host: ControlPlane,
}

impl Site {
    async fn start(assets: &Assets) -> Result<Self, Box<dyn Error>> {
        let with_controllers = Options::default().with_controllers();
        Ok(Self {
            clusters: start_many(3, assets, &with_controllers).await?,
            host: ControlPlane::start(assets).await?,
        })
    }
}

/// One test's use of the site: a namespace and a team of its own in every cluster.
struct Stage {
    site: &'static Site,
    _turn: MutexGuard<'static, ()>,
    team: &'static str,
    clusters: Clusters,
}

impl Stage {
    async fn enter(assets: &Assets, team: &'static str) -> Result<Self, Box<dyn Error>> {
        static TURN: Mutex<()> = Mutex::const_new(());
        static SITE: OnceLock<Site> = OnceLock::new();
        let turn = TURN.lock().await;
        let site = if let Some(site) = SITE.get() {
            site
        } else {
            let site = Site::start(assets).await?;
            SITE.get_or_init(|| site)
        };
        let stage = Self {
            site,
            _turn: turn,
            team,
            clusters: Clusters::new(),
        };
        for (at, plane) in site.clusters.iter().enumerate() {
            let metadata = ObjectMeta {
                name: Some(team.to_owned()),
                ..ObjectMeta::default()
            };
            let namespace = Namespace {
                metadata,
                ..Namespace::default()
            };
            let namespaces = Api::all(plane.client());
            namespaces.create(&PostParams::default(), &namespace).await?;
            stage.join(at);
        }
        Ok(stage)
    }

    fn name(at: usize) -> ClusterName {
        format!("cluster-{at}").try_into().unwrap()
    }

    fn join(&self, at: usize) {
        let name = format!("cluster-{at}");
        let spec = cluster(&name, &self.site.clusters[at].kubeconfig(&name));
        self.clusters.add(spec).unwrap();
    }

    fn start(&self) -> Running {
        let host = connection(&self.site.host.kubeconfig("host"), "host");
        let controller = TeamTokens {
            issuer: "tests".into(),
        };
        let manager = Manager::builder()
            .provider(self.clusters.clone())
            .host(host.into())
            .controller(declared(controller));
        Running::start(manager.build().unwrap())
    }

    fn configs(&self, at: usize) -> Api<ConfigMap> {
        Api::namespaced(self.site.clusters[at].client(), self.team)
    }

    fn secrets(&self, at: usize) -> Api<Secret> {
        Api::namespaced(self.site.clusters[at].client(), self.team)
    }

    async fn create_config(&self, at: usize, name: &str) -> Outcome {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([(TEAM.to_owned(), self.team.to_owned())])),
            ..ObjectMeta::default()
        };
        let config = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        self.configs(at).create(&PostParams::default(), &config).await?;
        Ok(())
    }

    /// Gives the team a key on the host, or another one.
    async fn set_key(&self, key: &str) -> Outcome {
        let metadata = ObjectMeta {
            name: Some(self.team.to_owned()),
            labels: Some(BTreeMap::from([(
                "mcrt.dev/signing-key".to_owned(),
                String::new(),
            )])),
            ..ObjectMeta::default()
        };
        let secret = Secret {
            metadata,
            data: Some(BTreeMap::from([(
                KEY.to_owned(),
                ByteString(key.as_bytes().to_vec()),
            )])),
            ..Secret::default()
        };
        let keys = Api::<Secret>::default_namespaced(self.site.host.client());
        let params = PatchParams::apply("tests").force();
        keys.patch(self.team, &params, &Patch::Apply(&secret)).await?;
        Ok(())
    }

    /// The token of a ConfigMap, if it has one.
    async fn token(&self, at: usize, name: &str) -> Result<String, String> {
        let secret = self
            .secrets(at)
            .get(name)
            .await
            .map_err(|error| error.to_string())?;
        let data = secret.data.unwrap_or_default();
        let token = data.get(TOKEN).ok_or("a Secret without a token")?;
        String::from_utf8(token.0.clone()).map_err(|error| error.to_string())
    }

    async fn wait_for_token(&self, at: usize, name: &str) -> String {
        let what = format!("the token of {name} in cluster {at}");
        eventually(LIMIT, &what, async || self.token(at, name).await).await
    }

    async fn wait_for_another_token(&self, at: usize, name: &str, old: &str) -> String {
        let what = format!("another token of {name} in cluster {at}");
        eventually(LIMIT, &what, async || match self.token(at, name).await {
            Ok(token) if token == old => Err("still the old one".to_owned()),
            other => other,
        })
        .await
    }

    async fn wait_until_gone(&self, at: usize, name: &str) {
        let what = format!("the Secret of {name} in cluster {at} to go");
        eventually(LIMIT, &what, async || {
            match self.secrets(at).get_opt(name).await {
                Ok(None) => Ok(()),
                Ok(Some(_)) => Err("still there".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_key_that_changes_on_the_host_changes_the_secrets_of_every_cluster() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let stage = Stage::enter(&assets, "rotation").await?;
    for at in 0..3 {
        stage.create_config(at, "settings").await?;
    }
    let running = stage.start();
    // The ConfigMaps are there before the key.
    stage.set_key("first").await?;
    let mut first = Vec::new();
    for at in 0..3 {
        first.push(stage.wait_for_token(at, "settings").await);
    }
    stage.set_key("second").await?;
    let mut second = Vec::new();
    for (at, old) in first.iter().enumerate() {
        second.push(stage.wait_for_another_token(at, "settings", old).await);
    }
    // Bound to its cluster: a token of one is not good in another.
    second.sort();
    second.dedup();
    assert_eq!(second.len(), 3, "{second:?}");
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn an_owned_secret_that_is_deleted_or_edited_by_hand_comes_back() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let stage = Stage::enter(&assets, "by-hand").await?;
    stage.set_key("key").await?;
    stage.create_config(0, "settings").await?;
    let running = stage.start();
    let token = stage.wait_for_token(0, "settings").await;

    let secrets = stage.secrets(0);
    let before = secrets.get("settings").await?.metadata.uid;
    secrets.delete("settings", &DeleteParams::default()).await?;
    eventually(LIMIT, "another Secret", async || {
        match secrets.get_opt("settings").await {
            Ok(Some(secret)) if secret.metadata.uid != before => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    assert_eq!(stage.token(0, "settings").await?, token);

    let edited = serde_json::json!({"data": {TOKEN: "Zm9yZ2Vk"}});
    let params = PatchParams::default();
    secrets.patch("settings", &params, &Patch::Merge(edited)).await?;
    let restored = stage.wait_for_another_token(0, "settings", "forged").await;
    assert_eq!(restored, token);
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn clusters_join_and_leave_while_it_runs() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let stage = Stage::enter(&assets, "coming-and-going").await?;
    stage.set_key("key").await?;
    stage.clusters.remove(&Stage::name(2));
    for at in 0..3 {
        stage.create_config(at, "early").await?;
    }
    let running = stage.start();
    for at in 0..2 {
        stage.wait_for_token(at, "early").await;
    }
    assert!(
        stage.token(2, "early").await.is_err(),
        "a cluster that nobody added was touched"
    );

    stage.join(2);
    let joined = stage.wait_for_token(2, "early").await;

    let leaving = running
        .handle()
        .fleet()
        .get(&Stage::name(1))
        .ok_or("not engaged")?;
    stage.clusters.remove(&Stage::name(1));
    eventually(
        LIMIT,
        "the cluster's connections to end",
        async || match leaving.connection_tasks() {
            0 => Ok(()),
            tasks => Err(format!("{tasks} tasks")),
        },
    )
    .await;
    stage.create_config(1, "late").await?;
    let left = stage.token(1, "early").await?;
    stage.set_key("another").await?;
    stage.wait_for_another_token(2, "early", &joined).await;
    stage.create_config(0, "late").await?;
    stage.wait_for_token(0, "late").await;
    assert_eq!(
        stage.token(1, "early").await?,
        left,
        "a cluster that left was written to"
    );
    assert!(
        stage.token(1, "late").await.is_err(),
        "a cluster that left was written to"
    );
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn the_secret_of_a_deleted_config_map_is_collected() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let stage = Stage::enter(&assets, "deletion").await?;
    stage.set_key("key").await?;
    for at in 0..3 {
        stage.create_config(at, "kept").await?;
        stage.create_config(at, "deleted").await?;
    }
    let running = stage.start();
    for at in 0..3 {
        stage.wait_for_token(at, "kept").await;
        stage.wait_for_token(at, "deleted").await;
        stage
            .configs(at)
            .delete("deleted", &DeleteParams::default())
            .await?;
    }
    for at in 0..3 {
        stage.wait_until_gone(at, "deleted").await;
        stage.token(at, "kept").await?;
    }
    running.stop().await;
    Ok(())
}

#[tokio::test]
async fn what_changed_while_the_controller_was_down_is_caught_up_with() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let stage = Stage::enter(&assets, "restart").await?;
    stage.set_key("first").await?;
    for at in 0..3 {
        stage.create_config(at, "old").await?;
    }
    let running = stage.start();
    let mut before = Vec::new();
    for at in 0..3 {
        before.push(stage.wait_for_token(at, "old").await);
    }
    running.stop().await;

    stage.set_key("second").await?;
    stage.create_config(0, "new").await?;
    stage.secrets(1).delete("old", &DeleteParams::default()).await?;
    stage.configs(2).delete("old", &DeleteParams::default()).await?;
    let running = stage.start();
    stage.wait_for_token(0, "new").await;
    for (at, token) in before.iter().enumerate().take(2) {
        stage.wait_for_another_token(at, "old", token).await;
    }
    stage.wait_until_gone(2, "old").await;
    running.stop().await;
    Ok(())
}
