//! A replica for tests of sharing: works on `ConfigMap`s of namespaces as clusters, and writes down in the API server itself
//! what could only come of two who work on one object at once.
use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, PostParams, Preconditions},
};
use mcrt::{
    Action, Context, ControllerBuilder, Error, HandWired, Launch, Reconciler, Watch, providers::Namespaces,
};
use tokio::time::sleep;

/// Every step is written by name.
struct Worker {
    me: String,
}

impl HandWired for Worker {}

impl Worker {
    fn note(&self, name: String, generate: bool, from: &str) -> ConfigMap {
        let (name, generate_name) = if generate {
            (None, Some(name))
        } else {
            (Some(name), None)
        };
        let said = [("by", self.me.as_str()), ("from", from)];
        ConfigMap {
            metadata: ObjectMeta {
                name,
                generate_name,
                ..ObjectMeta::default()
            },
            data: Some(said.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
            ..ConfigMap::default()
        }
    }

    /// Takes what whoever works on the object holds; what is left of one that was killed is noted and removed.
    async fn lock(&self, maps: &Api<ConfigMap>) -> mcrt::Result<ConfigMap> {
        let params = PostParams::default();
        let lock = self.note("lock".to_owned(), false, "");
        match maps.create(&params, &lock).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            created => return Ok(created?),
        }
        if let Some(found) = maps.get_opt("lock").await? {
            let by = found.data.as_ref().and_then(|data| data.get("by"));
            let takeover = self.note("takeover-".to_owned(), true, by.map_or("", String::as_str));
            maps.create(&params, &takeover).await?;
            unlock(maps, &found).await?;
        }
        Ok(maps.create(&params, &lock).await?)
    }
}

async fn unlock(maps: &Api<ConfigMap>, lock: &ConfigMap) -> kube::Result<()> {
    let preconditions = Preconditions {
        uid: lock.metadata.uid.clone(),
        resource_version: None,
    };
    let params = DeleteParams {
        preconditions: Some(preconditions),
        ..DeleteParams::default()
    };
    maps.delete("lock", &params).await.map(drop)
}

impl Reconciler for Worker {
    type Object = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let maps = cx.api::<ConfigMap>();
        let lock = self.lock(&maps).await?;
        sleep(Duration::from_millis(300)).await;
        match unlock(&maps, &lock).await {
            // Somebody took it away while this one was at work, and the server still carries out what this one asks.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => {
                let violation = self.note("violation-".to_owned(), true, "");
                maps.create(&PostParams::default(), &violation).await?;
                return Err(Error::msg("worked on by two"));
            }
            unlocked => unlocked?,
        }
        let mut done = self.note(format!("done-{}", self.me), false, "");
        // Written each time, so that each time is seen.
        let at = UNIX_EPOCH.elapsed().map(|since| since.as_millis().to_string())?;
        done.data.get_or_insert_default().insert("at".to_owned(), at);
        cx.apply(&done).await?;
        Ok(Action::requeue(Duration::from_millis(800)))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> mcrt::Result<()> {
    let me = std::env::var("REPLICA").map_err(|_| Error::msg("REPLICA says what this replica is called"))?;
    let mut wiring = ControllerBuilder::<Worker>::new("worker");
    wiring.for_kind(Watch::new().labels("mcrt.dev/work"));
    let worker = wiring.build(Worker { me }).map_err(Error::from)?;
    let namespaces = Namespaces::new().labels("mcrt.dev/shared");
    Launch::parse()
        .provider(namespaces)
        .built_controller(worker)
        .run()
        .await
}
